// SumThere: the partial sums of a ShardSum in the memory of GPUs.
#pragma once
#include <cstddef>
#include <span>

#include <tenon/core/math/min_max.hpp>
#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/core/memory/growing.hpp>
#include <tenon/dist/device_ranks.hpp>
#include <tenon/dist/sum_bytes.hpp>

namespace tenon::inline TENON_ABI::dist::detail {

/// What ShardSum does with numbers on the host, done where `ranks` have them: copies, sums, room for those of others.
/// Not defined in a program that has the CPU alone.
struct SumThere {
  DeviceRanks* ranks = nullptr;  // null: the sums are on the host
  tenon::detail::Growing<TargetBytes> kept{};
  TargetBytes received{};

  /// A copy that stays until the next one with this number.
  const std::byte* keep(std::size_t place, const std::byte* from, long bytes, long room);
  /// Room for `bytes` of other ranks.
  std::byte* room(long bytes);
  /// A part of a sum, of nodes whose data begin there, to `to`.
  void sum(const SumBytes& bytes, ShardRange part, int leaves, std::span<const TreeNode> nodes, std::byte* to) const;
  /// to += from.
  void add(std::byte* to, const std::byte* from, const SumBytes& bytes) const;
};

#if TENON_DEFINES && defined(TENON_TARGET)
[[gnu::noinline]] TENON_INLINE const std::byte* SumThere::keep(std::size_t place, const std::byte* from, long bytes,
                                                               long room) {
  kept.fill(place + 1);
  if (kept[place].bytes() < std::size_t(room))
    kept[place] = TargetBytes(std::size_t(room), "partial sums of gradients");
  ranks->copy(kept[place].address(), from, std::size_t(bytes));
  return kept[place].address();
}
[[gnu::noinline]] TENON_INLINE std::byte* SumThere::room(long bytes) {
  if (received.bytes() < std::size_t(bytes)) received = TargetBytes(std::size_t(bytes), "the gradients of other ranks");
  return received.address();
}
[[gnu::noinline]] TENON_INLINE void SumThere::sum(const SumBytes& bytes, ShardRange part, int leaves,
                                                  std::span<const TreeNode> nodes, std::byte* to) const {
  tenon::detail::Growing<TreeNode> of;
  const auto add_up = [&](bool doubles, ShardRange range) {
    if (range.size() <= 0) return;
    of.clear();
    for (const TreeNode& node : nodes) of.push_back({node.first, node.leaves, node.data + (range.begin - part.begin)});
    ranks->sum(doubles, leaves, {of.begin(), of.size()}, to + (range.begin - part.begin),
               range.size() / long(doubles ? sizeof(double) : sizeof(float)));
  };
  add_up(false, {part.begin, math::min(part.end, bytes.floats)});
  add_up(true, {math::max(part.begin, bytes.floats), part.end});
}
[[gnu::noinline]] TENON_INLINE void SumThere::add(std::byte* to, const std::byte* from, const SumBytes& bytes) const {
  const TreeNode nodes[]{{0, 1, to}, {1, 1, from}};
  sum(bytes, {0, bytes.all}, 2, nodes, to);
}
#endif

}  // namespace tenon::dist::detail
