// The instructions of a program that a target can compute by a kernel per sample (target/per_sample.hpp).
#pragma once
#include <tenon/graph/ir/kernel.hpp>
#include <tenon/graph/plan/plan.hpp>
#include <tenon/graph/plan/sample_memory.hpp>

namespace tenon::inline TENON_ABI {

/// Instructions begin .. end - 1, which a target can compute by a kernel per sample and one for the batch, as one call
/// (target/per_sample.hpp). Its buffers are those of SampleBuffer.
struct SampleGroup {
  int begin = 0, end = 0;
  void (*run)(const Arguments&, long begin, long end) = nullptr;
  long (*workspace)(long n) = nullptr;  // in bytes
  bool (*fits)() = nullptr;             // false: the device of this thread has too little fast memory
};
enum class SampleBuffer : int { scratch, parameters, state, constants, input };
/// Where a value of the program is for that call.
TENON_DEVICE constexpr std::byte* sample_address(const Arguments& a, const BufferPlace& place, long floor) {
  const auto base = [&](SampleBuffer buffer) { return static_cast<std::byte*>(a.buffer[int(buffer)]); };
  switch (place.region) {
    case Region::sample: return base(SampleBuffer::scratch) + floor + place.offset * a.n;
    case Region::fixed: return base(SampleBuffer::scratch) + place.offset + place.lift * a.n;
    case Region::parameters: return base(SampleBuffer::parameters) + place.offset;
    case Region::state: return base(SampleBuffer::state) + place.offset;
    case Region::constant: return base(SampleBuffer::constants) + place.offset;
    case Region::input: return static_cast<std::byte*>(a.buffer[int(SampleBuffer::input) + place.offset]);
    default: return nullptr;
  }
}
namespace detail {
struct NoSampleGroup {};
using SampleGroupOf = std::conditional_t<several_targets, SampleGroup, NoSampleGroup>;
constexpr long workspace_of(const SampleGroup& group, long n) { return group.end > 0 ? group.workspace(n) : 0; }
constexpr long workspace_of(NoSampleGroup, long) { return 0; }
}  // namespace detail

namespace detail {
template <class Target, class Tag, std::size_t... K>
constexpr auto sample_roles_of(std::index_sequence<K...>) {
  constexpr SampleRole role[]{PerSample<Target>::template role<CallOf<KeyAt<Tag, int(K)>>>()..., SampleRole::none};
  SampleRoles<std::remove_cvref_t<decltype(Tag::graph)>::capacity> made;
  for (int id = 0; id < Tag::graph.count; ++id)
    if (Tag::kernels.of[id] >= 0) made.of[id] = role[Tag::kernels.of[id]];
  return made;
}
/// What the target can do with each node of Tag::graph in a kernel per sample.
template <class Target, class Tag>
constexpr auto sample_roles() {
  return sample_roles_of<Target, Tag>(std::make_index_sequence<std::size_t(Tag::kernels.count)>{});
}
}  // namespace detail

}  // namespace tenon
