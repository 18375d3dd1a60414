// sum_tree: the sum of several arrays along one fixed binary tree, which does not depend on where they are stored or
// added. The same for products, maxima, and minima.
#pragma once
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include <tenon/core/dtype.hpp>
#include <tenon/core/float/denormals.hpp>
#include <tenon/core/math/min_max.hpp>

namespace tenon::inline TENON_ABI::dist {

/// The numbers begin to end - 1.
struct ShardRange {
  long begin = 0, end = 0;
  constexpr long size() const { return end - begin; }
};
/// Part `index` of `all` things that are dealt into `parts` runs, the first of which are one longer if they must.
constexpr ShardRange part_of(long all, long parts, long index) {
  const long each = all / parts, longer = all % parts, begin = index * each + (index < longer ? index : longer);
  return {begin, begin + each + (index < longer)};
}

/// Where the tree over `leaves` (2 or more) parts: at the largest power of two below them. The leaves 0 to 5 add up as
/// ((0 + 1) + (2 + 3)) + (4 + 5).
constexpr int tree_split(int leaves) {
  int left = 1;
  while (2 * left < leaves) left *= 2;
  return left;
}

/// Calls visit(first, leaves) for the largest nodes of the tree over `all` leaves that lie in [begin, end), from left
/// to right: the partial sums that a rank which has these leaves can add up alone. They are at most 2 log2(all).
template <class Visit>
[[gnu::cold, gnu::noinline]] constexpr void each_node_within(int begin, int end, int all, Visit visit, int first = 0) {
  if (all < 1 || end <= first || first + all <= begin) return;
  if (begin <= first && first + all <= end) {
    visit(first, all);
    return;
  }
  const int left = tree_split(all);
  each_node_within(begin, end, left, visit, first);
  each_node_within(begin, end, all - left, visit, first + left);
}

namespace detail {
inline constexpr std::size_t sum_block = 512;
/// The type in which T adds up. Integers wrap in the type without sign.
template <class T>
struct SumType {
  using type = Compute<T>;
};
template <std::integral T>
struct SumType<T> {
  using type = std::make_unsigned_t<T>;
};

TENON_EXACT_BEGIN
struct Add {
  template <class S>
  TENON_DEVICE static constexpr S of(S a, S b) {
    return static_cast<S>(a + b);
  }
};
struct Multiply {
  template <class S>
  TENON_DEVICE static constexpr S of(S a, S b) {
    if constexpr (sizeof(S) < sizeof(int)) return static_cast<S>(unsigned{a} * unsigned{b});  // an int would overflow
    else return static_cast<S>(a * b);
  }
};
/// NaN if one is.
struct Larger {
  template <class S>
  TENON_DEVICE static constexpr S of(S a, S b) {
    return a > b || a != a ? a : b;
  }
};
struct Smaller {
  template <class S>
  TENON_DEVICE static constexpr S of(S a, S b) {
    return a < b || a != a ? a : b;
  }
};
/// The type in which Op computes with T.
template <class Op, class T>
using FoldType = std::conditional_t<std::is_same_v<Op, Larger> || std::is_same_v<Op, Smaller>,
                                    std::type_identity<Compute<T>>, SumType<T>>::type;

/// sum[0 .. count) of a node; read(first, leaves, sum) does that alone where it can, and says so.
template <class Op, class S, class Read>
void fold_node(const Read& read, int first, int leaves, std::size_t count, S* sum) {
  if (read(first, leaves, sum)) return;
  const int left = tree_split(leaves);
  S right[sum_block];
  fold_node<Op, S>(read, first, left, count, sum);
  fold_node<Op, S>(read, first + left, leaves - left, count, right);
  for (std::size_t i = 0; i < count; ++i) sum[i] = Op::of(sum[i], right[i]);
}
TENON_EXACT_END
}  // namespace detail

/// sum[i] = the sum over the tree's leaves, or what Op makes of two instead, of which `node(first, leaves)` gives what
/// is there: a pointer to the sum.size() sums of that node, or null. It gives one at the latest for each single leaf.
/// 16-bit floats are added in float32 and rounded once, integers wrap. `sum` may be one of the nodes.
template <class Op, Element T, class Node>
void fold_nodes(int leaves, Node node, std::span<T> sum) {
  static_assert(!std::is_same_v<T, bool>, "bools have no sum");
  using S = detail::FoldType<Op, T>;
  const FlushDenormals flush;
  for (std::size_t done = 0; done < sum.size(); done += detail::sum_block) {
    const std::size_t count = math::min(detail::sum_block, sum.size() - done);
    S block[detail::sum_block];
    const auto read = [&](int first, int of, S* to) {
      const T* const from = node(first, of);
      if (!from) return false;
      for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<S>(from[done + i]);
      return true;
    };
    detail::fold_node<Op, S>(read, 0, leaves, count, block);
    for (std::size_t i = 0; i < count; ++i) sum[done + i] = static_cast<T>(block[i]);
  }
}
template <Element T, class Node>
void sum_nodes(int leaves, Node node, std::span<T> sum) {
  fold_nodes<detail::Add, T>(leaves, node, sum);
}
/// The same for leaves alone: `part(leaf)` gives a pointer to its elements.
template <Element T, class Part>
void sum_tree(int leaves, Part part, std::span<T> sum) {
  sum_nodes<T>(leaves, [&](int first, int of) -> const T* { return of == 1 ? part(first) : nullptr; }, sum);
}

}  // namespace tenon::dist
