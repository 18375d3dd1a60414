// Occlusion sensitivity: the parts of an input on which a prediction depends.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/nn/metric/count/element.hpp>

namespace tenon::inline TENON_ABI::nn {

/// pad_value  what covers a part of the input
/// margin     a part goes from this many elements before its place to one less after it, along each axis
/// n_batch    the number of covered inputs in one prediction
/// box        [first, last] of each axis except the batch axis, including last: limits the positions; empty: all
///            positions
struct OcclusionSensitivityOptions {
  double pad_value = 0;
  long margin = 2;
  long n_batch = 128;
  std::vector<std::array<long, 2>> box{};
};

/// The decrease of the score of a class when a part of one input is covered, for each position of the part.
///
/// x       [1, ...] of any floating dtype, with a dynamic batch axis: a tensor that the model takes
/// model   anything that can be called with x and gives scores [n, classes]: a network, a lambda around model.predict
/// eval()  a number per place, row-major: of the input's elements, or of the box; of the last update alone
/// throws  ValueError for more than one input, a class that the model has no score for, and options out of range;
///         RuntimeError if there was no update
/// source  Zeiler and Fergus, arXiv 1311.2901; MindSpore nn.OcclusionSensitivity
class OcclusionSensitivity {
 public:
  static constexpr std::string_view name = "occlusion_sensitivity";
  explicit OcclusionSensitivity(OcclusionSensitivityOptions options = {}) : options_(std::move(options)) {
    if (options_.margin < 1 || options_.n_batch < 1)
      throw_error<ValueError>("OcclusionSensitivity: margin and n_batch must be 1 or more, got ", options_.margin,
                              " and ", options_.n_batch, ".");
  }

  void clear() { falls_.clear(); }
  template <class Model, class T, int... Extents>
  void update(const Model& model, const Tensor<T, Shape<dyn, Extents...>>& x, long label) {
    using Input = Tensor<T, Shape<dyn, Extents...>>;
    constexpr std::size_t axes = sizeof...(Extents);
    if (x.n() != 1) throw_error<ValueError>("OcclusionSensitivity takes one input at a time, got ", x.n(), ".");
    const std::array<long, axes> extent{Extents...};
    const std::array<Range, axes> places = places_of(extent);
    long count = 1;
    for (const Range& range : places) count *= range.end - range.begin;
    const double whole = score(model(x), 0, label);
    falls_.clear();
    for (long first = 0; first < count; first += options_.n_batch) {
      const long n = std::min(options_.n_batch, count - first);
      Input covered = Input::empty(n);
      for (long i = 0; i < n; ++i) {
        T* const to = covered.data() + i * x.count();
        std::copy_n(x.data(), x.count(), to);
        cover(to, first + i, places, extent);
      }
      const auto scores = model(covered);
      for (long i = 0; i < n; ++i) falls_.push_back(whole - score(scores, i, label));
    }
  }
  std::vector<double> eval() const {
    detail::share("OcclusionSensitivity", 0, double(falls_.size()));
    return falls_;
  }

 private:
  struct Range {
    long begin, end;
  };
  template <std::size_t axes>
  std::array<Range, axes> places_of(const std::array<long, axes>& extent) const {
    const auto& box = options_.box;
    if (!box.empty() && box.size() != axes)
      throw_error<ValueError>("OcclusionSensitivity: the box has ", box.size(), " axes, an input has ", axes, ".");
    std::array<Range, axes> places{};
    for (std::size_t k = 0; k < axes; ++k) {
      places[k] = box.empty() ? Range{0, extent[k]} : Range{box[k][0], box[k][1] + 1};
      if (places[k].begin < 0 || places[k].begin >= places[k].end || places[k].end > extent[k])
        throw_error<ValueError>("OcclusionSensitivity: the box goes from ", places[k].begin, " to ", places[k].end - 1,
                                " along axis ", k, ", an input has 0 .. ", extent[k] - 1, ".");
    }
    return places;
  }
  // Writes the padding around place number `index`.
  template <class T, std::size_t axes>
  void cover(T* x, long index, const std::array<Range, axes>& places, const std::array<long, axes>& extent) const {
    std::array<Range, axes> part{};
    for (std::size_t k = axes; k-- > 0;) {
      const long size = places[k].end - places[k].begin, at = places[k].begin + index % size;
      index /= size;
      part[k] = {std::max(0L, at - options_.margin), std::min(extent[k], at + options_.margin)};
    }
    long count = 1;
    for (const long e : extent) count *= e;
    for (long i = 0; i < count; ++i) {
      bool inside = true;
      long rest = i;
      for (std::size_t k = axes; k-- > 0; rest /= extent[k]) {
        const long at = rest % extent[k];
        inside = inside && at >= part[k].begin && at < part[k].end;
      }
      if (inside) x[i] = static_cast<T>(options_.pad_value);
    }
  }
  template <class T, class S>
  static double score(const Tensor<T, S>& scores, long row, long label) {
    static_assert(S::rank == 2, "OcclusionSensitivity: the model gives scores [n, classes]");
    const long classes = Tensor<T, S>::dims.extent[1];
    if (label < 0 || label >= classes)
      throw_error<ValueError>("OcclusionSensitivity: the class is ", label, ", the model has scores for 0 .. ",
                              classes - 1, ".");
    return static_cast<double>(scores.data()[row * classes + label]);
  }

  OcclusionSensitivityOptions options_;
  std::vector<double> falls_;
};

}  // namespace tenon::nn
