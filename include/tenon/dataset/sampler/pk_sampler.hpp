// PKSampler<"label">: K rows of each of P classes.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <tenon/dataset/map/call.hpp>
#include <tenon/dataset/sampler/permutation.hpp>
#include <tenon/dataset/sampler/sample.hpp>
#include <tenon/dataset/stage/seed.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// num_val rows of each class, in the order of the labels, or, with shuffle, in random order; classes with fewer rows
/// are left out. The rows of a class differ from epoch to epoch. num_class, if given, limits the number of classes, and
/// num_samples the total number of rows. The label is a column of one number per sample; it is read once, when the data
/// set is constructed. Source: MindSpore's PKSampler, which knows no num_class yet.
template <ColumnKey Label>
struct PKSampler {
  // deduced as a whole: nvcc finds no Label in a PKSampler<Label>
  template <class List>
  static constexpr int place = column_place<List, Label>;
  template <class List>
  using Missing = detail::MissingColumn<List, Label>;

  long num_val;
  long num_class = 0;
  bool shuffle = false;
  long num_samples = 0;
  std::uint64_t seed = default_seed();
};

namespace detail {
struct PKDraw {
  static constexpr bool reorders = true;
  std::shared_ptr<const std::vector<std::vector<long>>> classes;  // the rows of each
  long num_val, chosen, count;
  bool shuffle;
  std::uint64_t seed;

  long size(long) const { return count; }
  void describe(auto& d) const {
    d.add(*classes, num_val, chosen, count, shuffle, seed);
    d.each_epoch_differs();
  }
  Drawn draw(long position, long, std::uint64_t epoch) const {
    const std::uint64_t key = sampler_key(seed, epoch);
    long place = position / num_val;
    if (shuffle) place = Permutation(static_cast<long>(classes->size()), key)(place);
    const std::vector<long>& rows = (*classes)[static_cast<std::size_t>(place)];
    const Permutation order(static_cast<long>(rows.size()), hash_number(static_cast<std::uint64_t>(place) + 1, key));
    return {rows[static_cast<std::size_t>(order(position % num_val))]};
  }
};

/// The rows of each label of column I.
template <int I, class D>
std::map<long, std::vector<long>> rows_by_label(const D& data) {
  std::map<long, std::vector<long>> rows;
  RowBuffer<typename D::columns> buffer(data.max_rows());
  Scratch scratch;
  for (long row = 0; row < data.size(); ++row) {
    buffer.read(data, {0, row}, scratch);
    rows[static_cast<long>(buffer.row().template values<I>()[0])].push_back(row);
  }
  return rows;
}

template <class Settings>
struct PKMaker {
  using makes_stage = void;
  Settings settings;
  template <class D>
  auto applied_to(const D& data) const {
    using List = typename D::columns;
    constexpr int I = Settings::template place<List>;
    constexpr bool usable = D::counted && !D::batched && !in_order<D>() && !dataset::detail::reorders<D>();
    static_assert(usable, "PKSampler must come directly after a source: not after filter, shuffle, batch, or a stream");
    if constexpr (I < 0) {
      using Wrong = Mistake<typename Settings::template Missing<List>>;
      return Wrong::corrected;
    } else if constexpr (usable) {
      constexpr bool one_number = [] {
        using C = ColumnAt<List, I>;
        if constexpr (C::ragged) return false;
        else return C::tensor_type.count(1) == 1;
      }();
      static_assert(one_number, "PKSampler<\"label\">: the column has one number per sample, the class");
      if constexpr (one_number) return Sampled(data, drawing(rows_by_label<I>(data)));
    }
  }

 private:
  PKDraw drawing(std::map<long, std::vector<long>> by_label) const {
    const long num_val = settings.num_val;
    check_at_least("PKSampler.num_val", num_val, 1, "the number of rows of a class");
    check_at_least("PKSampler.num_class", settings.num_class, 0, "the number of classes");
    auto classes = std::make_shared<std::vector<std::vector<long>>>();
    for (auto& [label, rows] : by_label)
      if (static_cast<long>(rows.size()) >= num_val) classes->push_back(std::move(rows));
    const long there = static_cast<long>(classes->size()), chosen = settings.num_class > 0 ? settings.num_class : there;
    if (there == 0 || chosen > there)
      throw_error<ValueError>("PKSampler: ", there, " classes have ", num_val, " rows or more; ",
                              settings.num_class > 0 ? settings.num_class : 1L, " are needed.");
    const long count = samples_among("PKSampler", settings.num_samples, chosen * num_val);
    return {std::move(classes), num_val, chosen, count, settings.shuffle, settings.seed};
  }
};
}  // namespace detail

/// Draws num_val rows of each class: `data | sample(PKSampler<"label">{.num_val = 4})`. Throws ValueError if the data
/// set does not have enough classes with this number of rows.
template <class Settings>
requires requires(const Settings& settings) { settings.num_class; }
auto sample(Settings sampler) {
  return detail::PKMaker<Settings>{std::move(sampler)};
}

}  // namespace tenon::dataset
