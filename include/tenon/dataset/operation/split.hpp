// split(data, {0.8, 0.2}): disjoint parts.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <tenon/dataset/sampler/permutation.hpp>
#include <tenon/dataset/stage/seed.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// Some of the rows of D, the same ones in each epoch.
template <class D>
struct SplitPart : Behind<SplitPart<D>, D> {
  static constexpr bool moves_samples = true;
  long first, rows;
  Permutation order;
  bool randomize;

  SplitPart(const D& all, long begin, long count, std::uint64_t seed, bool random)
      : Behind<SplitPart<D>, D>(all),
        first(begin),
        rows(count),
        order(all.size(), hash_number(seed, 0)),
        randomize(random) {}

  long size() const { return rows; }
  void describe(auto& d) const { d.add(first, rows, randomize, order.key()); }
  long read(Place place, void* const* out, Scratch& scratch) const {
    const long position = first + place.position;
    return this->data.read({place.epoch, randomize ? order(position) : position}, out, scratch);
  }
};

struct SplitConfig {
  /// Distributes rows at random; otherwise the first part has the first rows.
  bool randomize = true;
  std::uint64_t seed = default_seed();
};

namespace detail {
/// The sizes of the parts: fractions are rounded, the first part gets what is missing, and the first that is large
/// enough gives what is too much; it is an error if none is.
template <std::size_t N, class T>
std::array<long, N> split_sizes(const T (&parts)[N], long rows) {
  std::array<long, N> sizes{};
  double fractions = 0;
  long sum = 0;
  for (std::size_t i = 0; i < N; ++i) {
    fractions += double(parts[i]);
    if (!(parts[i] > 0)) throw_error<ValueError>("split: part ", i, " is ", parts[i], "; parts are greater than 0.");
    sizes[i] = std::is_floating_point_v<T> ? std::lrint(double(parts[i]) * double(rows)) : long(parts[i]);
    sum += sizes[i];
    if (sizes[i] == 0)
      throw_error<ValueError>("split: part ", i, ", ", parts[i], " of ", rows, " rows, would be empty.");
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (std::abs(fractions - 1) > 1e-6)
      throw_error<ValueError>("split: the fractions add up to ", fractions, "; they must add up to 1.");
    if (sum < rows) sizes[0] += rows - sum;
    if (const long excess = sum - rows; excess > 0) {
      const auto large = std::find_if(sizes.begin(), sizes.end(), [&](long size) { return size > excess; });
      if (large == sizes.end())
        throw_error<ValueError>("split: there are ", rows, " rows, and the rounded fractions make ", sum,
                                ". No part is large enough to give the others up: state the sizes in rows.");
      *large -= excess;
    }
  } else if (sum != rows) {
    throw_error<ValueError>("split: the sizes add up to ", sum, ", but there are ", rows,
                            " rows; they must be equal. Use fractions, or take(...) before.");
  }
  return sizes;
}
}  // namespace detail

/// Splits a data set into disjoint parts that together hold all rows; each part has the same rows in each epoch:
/// `auto [train, valid] = split(data, {0.8, 0.2});` or numbers of rows, `{800, 200}`. Shuffle and repeat after it.
/// Throws ValueError if a part would be empty, or if the parts do not add up to all rows. Source: MindSpore's split,
/// with its rounding.
template <Indexed D, class T, std::size_t N>
auto split(const D& data, const T (&parts)[N], SplitConfig config = {}) {
  constexpr bool is_counted = D::counted, same_rows = !detail::reorders<D>();
  detail::check_any_order<D>();
  static_assert(is_counted, "split needs the number of rows, which filter and flat_map do not know: write it before");
  static_assert(same_rows,
                "split must come before shuffle and random samplers: after them, a row is in another part in each "
                "epoch, and what is trained with would be tested with");
  if constexpr (is_counted && same_rows) {
    const auto sizes = detail::split_sizes(parts, data.size());
    long begin = 0;
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      std::array<long, N> begins{};
      for (std::size_t i = 0; i < N; ++i) {
        begins[i] = begin;
        begin += sizes[i];
      }
      return std::array<SplitPart<D>, N>{SplitPart<D>(data, begins[I], sizes[I], config.seed, config.randomize)...};
    }(std::make_index_sequence<N>{});
  }
}

}  // namespace tenon::dataset
