// vision::MixUpBatch, CutMixBatch: batches whose images and labels are mixed with one another.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <tenon/core/random/philox.hpp>
#include <tenon/dataset/stage/seed.hpp>
#include <tenon/dataset/stage/stage.hpp>
#include <tenon/vision/image_view.hpp>

namespace tenon::inline TENON_ABI::vision {

namespace detail {

TENON_EXACT_BEGIN
/// A number of the gamma distribution of shape alpha. Source: Marsaglia and Tsang 2000.
inline double drawn_gamma(double alpha, Random& random) {
  const auto unit = [&] { return 1 - double(random.uniform()); };  // never 0
  const double boost = alpha < 1 ? std::pow(unit(), 1 / alpha) : 1;
  const double d = (alpha < 1 ? alpha + 1 : alpha) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = std::sqrt(-2 * std::log(unit())) * std::cos(6.283185307179586 * double(random.uniform()));
    const double v = 1 + c * x;
    if (v <= 0) continue;
    const double cube = v * v * v;
    if (std::log(unit()) < 0.5 * x * x + d - d * cube + d * std::log(cube)) return d * cube * boost;
  }
}
inline double drawn_beta(double alpha, Random& random) {
  const double a = drawn_gamma(alpha, random), b = drawn_gamma(alpha, random);
  return a + b > 0 ? a / (a + b) : 0.5;
}
/// Elements of one sample of a batch.
constexpr std::size_t sample_count(const TensorType& batch) {
  std::size_t count = 1;
  for (int axis = 1; axis < batch.rank; ++axis) count *= std::size_t(batch.extent[axis]);
  return count;
}
/// own = share own + (1 - share) other.
inline void mix(float* __restrict own, const float* __restrict other, std::size_t count, float share) {
  for (std::size_t i = 0; i < count; ++i) own[i] = share * own[i] + (1 - share) * other[i];
}
TENON_EXACT_END

/// What both say of columns that they cannot mix.
template <class Images, class Labels>
constexpr Sentence wrong_mix(const char* stage, bool batched) {
  Sentence s;
  constexpr TensorType image = Images::tensor_type, label = Labels::tensor_type;
  if (!batched || image.rank != 4 || image.dtype != Dtype::float32)
    s << "vision::" << stage << " mixes batches of float32 images: it comes after batch";
  else if (label.rank != 2 || label.dtype != Dtype::float32)
    s << "vision::" << stage << " mixes labels that are vectors of float32: vision::OneHot<classes>{} makes them";
  return s;
}
template <class Mixer, auto Image, auto Label, class D>
struct WrongMix {
  static constexpr Sentence sentence = [] {
    using List = typename D::columns;
    constexpr int I = dataset::column_place<List, Image>, L = dataset::column_place<List, Label>;
    if constexpr (I >= 0 && L >= 0) {
      return wrong_mix<dataset::ColumnAt<List, I>, dataset::ColumnAt<List, L>>(Mixer::name, D::batched);
    } else {
      Sentence s;
      s << "vision::" << Mixer::name << ": the data set has no such column of " << (I < 0 ? "images" : "labels");
      return s;
    }
  }();
  static constexpr bool ok = sentence.empty();
};

/// Images and labels of each batch, mixed by Mixer::mix_batch with those of a copy in another order.
template <class D, int I, int L, class Mixer>
struct Mixed : dataset::Behind<Mixed<D, I, L, Mixer>, D> {
  Mixer mixer;
  std::uint64_t seed;

  Mixed(const D& rows, const Mixer& m, std::uint64_t number)
      : dataset::Behind<Mixed, D>(rows), mixer(m), seed(number) {}

  void describe(auto& d) const {
    d.add(I, L, seed);
    d.add_value(mixer);
    d.each_epoch_differs();
  }
  long read(dataset::Place place, void* const* out, dataset::Scratch& scratch) const {
    const long n = this->data.read(place, out, scratch);
    if (n == 0) return 0;
    scratch.operation = Mixer::name;
    TensorType image = D::columns::types[I], label = D::columns::types[L];
    if constexpr (requires { D::columns::types_of; })
      image = D::columns::types_of[scratch.bucket][I], label = D::columns::types_of[scratch.bucket][L];
    const dataset::Scratch::Frame frame(scratch);
    auto* const images = static_cast<float*>(out[I]);
    auto* const labels = static_cast<float*>(out[L]);
    const auto copy = [&](const float* from, const TensorType& type) {
      auto* const to = reinterpret_cast<float*>(scratch.bytes(std::size_t(type.bytes(n))));
      std::memcpy(to, from, std::size_t(type.bytes(n)));
      return to;
    };
    Random random(dataset::detail::random_key(seed, scratch));
    auto* const order = reinterpret_cast<long*>(scratch.bytes(std::size_t(n) * sizeof(long)));
    for (long i = 0; i < n; ++i) order[i] = i;
    for (long i = n; i > 1; --i) std::swap(order[i - 1], order[random.below(std::uint64_t(i))]);
    const std::size_t pixels = sample_count(image), classes = sample_count(label);
    const float* const all_images = copy(images, image);
    const float* const all_labels = copy(labels, label);
    const auto plan = mixer.plan(image, random);
    for (long i = 0; i < n; ++i) {
      const std::size_t own = std::size_t(i), other = std::size_t(order[i]);
      mixer.mix_image(plan, image, images + own * pixels, all_images + other * pixels);
      mix(labels + own * classes, all_labels + other * classes, classes, plan.share);
    }
    return n;
  }
};

template <auto Image, auto Label, class D, class Mixer>
auto mixed(const D& data, const Mixer& mixer) {
  using Refusal = WrongMix<Mixer, Image, Label, D>;
  if constexpr (!Refusal::ok) {
    using Wrong = Mistake<Refusal>;
    return Wrong::corrected;
  } else {
    using List = typename D::columns;
    if (!(mixer.alpha > 0) || !std::isfinite(mixer.alpha))
      throw_error<ValueError>(Mixer::name, ": alpha is ", mixer.alpha, ", it must be above 0, and finite.");
    if constexpr (requires { mixer.prob; })
      if (!(mixer.prob >= 0 && mixer.prob <= 1))
        throw_error<ValueError>(Mixer::name, ": prob is ", mixer.prob, ", it must be in 0 .. 1.");
    return Mixed<D, dataset::column_place<List, Image>, dataset::column_place<List, Label>, Mixer>(
        data, mixer, hash_number(dataset::detail::stages_before<D>(), dataset::default_seed()));
  }
}
}  // namespace detail

/// Mixes each image and its label with another image and label of the batch: `data | batch(64) |
/// vision::MixUpBatch<"image", "label">{.alpha = 0.2f}`. The share of the image itself is one number from Beta(alpha,
/// alpha) per batch.
///
/// columns     float32 images [n, ., ., .], float32 labels [n, classes]
/// throws      ValueError unless alpha is above 0, and finite
/// source      MindSpore's MixUpBatch; Zhang and others, arXiv 1710.09412
template <dataset::ColumnKey Image = 0, dataset::ColumnKey Label = 1>
struct MixUpBatch {
  float alpha = 1;

  using makes_stage = void;
  static constexpr const char* name = "MixUpBatch";
  template <class D>
  using Checked = detail::WrongMix<MixUpBatch, Image, Label, D>;
  template <class D>
  auto applied_to(const D& data) const {
    return detail::mixed<Image, Label>(data, *this);
  }
  struct Plan {
    float share;
  };
  Plan plan(const TensorType&, Random& random) const { return {float(detail::drawn_beta(double(alpha), random))}; }
  void mix_image(const Plan& plan, const TensorType& type, float* own, const float* other) const {
    detail::mix(own, other, detail::sample_count(type), plan.share);
  }
};

/// Replaces a box of each image by the same box of another image of the batch, with probability `prob` for a batch;
/// labels are mixed by area. The box takes 1 - Beta(alpha, alpha) of the image, less where it reaches beyond it.
///
/// columns     float32 images [n, channels, height, width], or [n, height, width, channels] if the last extent is 1 to
///             4; float32 labels [n, classes]
/// throws      ValueError unless alpha is above 0, and finite, and prob in 0 .. 1
/// source      MindSpore's CutMixBatch; Yun and others, arXiv 1905.04899
template <dataset::ColumnKey Image = 0, dataset::ColumnKey Label = 1>
struct CutMixBatch {
  float alpha = 1;
  float prob = 1;

  using makes_stage = void;
  static constexpr const char* name = "CutMixBatch";
  template <class D>
  using Checked = detail::WrongMix<CutMixBatch, Image, Label, D>;
  template <class D>
  auto applied_to(const D& data) const {
    return detail::mixed<Image, Label>(data, *this);
  }
  struct Plan {
    float share;
    Rect box;
  };
  Plan plan(const TensorType& type, Random& random) const {
    if (!(random.uniform() < prob)) return {1, {}};
    const int height = int(type.extent[rows_of(type)]), width = int(type.extent[rows_of(type) + 1]);
    const double side = std::sqrt(1 - detail::drawn_beta(double(alpha), random));
    const int h = int(height * side), w = int(width * side);
    const int y = int(random.below(std::uint64_t(height))) - h / 2, x = int(random.below(std::uint64_t(width))) - w / 2;
    const int top = std::max(y, 0), left = std::max(x, 0);
    const Rect box{top, left, std::min(y + h, height) - top, std::min(x + w, width) - left};
    return {1 - float(box.height) * float(box.width) / (float(height) * float(width)), box};
  }
  void mix_image(const Plan& plan, const TensorType& type, float* own, const float* other) const {
    const int first = rows_of(type);
    const std::size_t inner = first == 1 ? std::size_t(type.extent[3]) : 1, width = std::size_t(type.extent[first + 1]),
                      plane = std::size_t(type.extent[first]) * width * inner,
                      planes = first == 1 ? 1 : std::size_t(type.extent[1]);
    for (std::size_t p = 0; p < planes; ++p)
      for (int y = plan.box.top; y < plan.box.top + plan.box.height; ++y) {
        const std::size_t at = p * plane + (std::size_t(y) * width + std::size_t(plan.box.left)) * inner;
        std::copy_n(other + at, std::size_t(plan.box.width) * inner, own + at);
      }
  }

 private:
  /// Which axis the rows are.
  static constexpr int rows_of(const TensorType& type) { return type.extent[3] <= 4 ? 1 : 2; }
};

}  // namespace tenon::vision
