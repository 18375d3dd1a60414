// The accumulation order of long sums (pairwise summation): short chains, and the chains' sums as a tree.
#pragma once
#include <tenon/backend/order.hpp>
#include <tenon/core/simd/simd.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// Adds up the sums of chains as a tree: neighbours first, missing ones as +0. Up to Width such sums lie side by side.
///
/// A chain's sum waits in level 0 for that of its neighbour, both wait as one in level 1 for the next two, and so on;
/// the last level takes what comes.
template <class A, int Width>
class SumTree {
 public:
  bool empty() const { return chains_ == 0; }
  /// Takes the sums of a chain: `count` of them, for all chains the same, and a multiple of a vector's lanes if Width
  /// is. With `from`: those of 2^from neighbouring chains, after a multiple of 2^from chains.
  [[gnu::noinline]] void add(const A* chain, long count = Width, int from = 0) { add_here(chain, count, from); }
  /// Adds to the sums of the last chain those of the others.
  [[gnu::noinline]] void finish(A* chain, long count = Width) const { finish_here(chain, count); }
  /// The same, inlined: the compiler then knows that no address of `chain` is kept, and what else does not overlap it.
  [[gnu::always_inline]] void add_here(const A* chain, long count, int from = 0) {
    int k = from;
    for (; k < last && chains_ >> k & 1; ++k) {
      join(level_[k], chain, count, level_[k]);
      chain = level_[k];
    }
    if (k == last && chains_ >> k) join(level_[k], chain, count, level_[k]);
    else copy(chain, count, level_[k]);
    chains_ += 1l << from;
  }
  [[gnu::always_inline]] void finish_here(A* chain, long count) const {
    for (int k = 0; k <= last && chains_ >> k; ++k)
      if (k == last || chains_ >> k & 1) join(level_[k], chain, count, chain);
  }

 private:
  using V = Simd<A>;
  static constexpr int last = 15;
  static constexpr bool in_vectors = Width % V::width == 0;
  [[gnu::always_inline]] static void join(const A* a, const A* b, long count, A* to) {
    if constexpr (in_vectors)
      for (long i = 0; i < count; i += V::width) (V::load(a + i) + V::load(b + i)).store(to + i);
    else
      for (long i = 0; i < count; ++i) to[i] = a[i] + b[i];
  }
  [[gnu::always_inline]] static void copy(const A* from, long count, A* to) {
    if constexpr (in_vectors)
      for (long i = 0; i < count; i += V::width) V::load(from + i).store(to + i);
    else
      for (long i = 0; i < count; ++i) to[i] = from[i];
  }
  long chains_ = 0;
  A level_[last + 1][Width];
};

/// Sums of Width terms at a time, in chains and as a tree.
template <class A, int Width = 1, long chain = sum_chain>
class LongSum {
 public:
  void add(const A (&term)[Width]) {
    for (int i = 0; i < Width; ++i) chain_[i] += term[i];
    if (++terms_ % chain != 0) return;
    tree_.add(chain_);
    for (A& sum : chain_) sum = 0;
  }
  /// The sums, once. None is -0, as underflow may leave it: whether a chain of no terms (+0) came last shows nowhere.
  const A* finish() {
    if (!tree_.empty()) tree_.finish(chain_);
    for (A& sum : chain_) sum += 0;
    return chain_;
  }

 private:
  A chain_[Width]{};
  long terms_ = 0;
  SumTree<A, Width> tree_;
};

}  // namespace tenon::kernel
TENON_EXACT_END
