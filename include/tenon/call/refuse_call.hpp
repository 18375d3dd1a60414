// What the error says if there is no memory for a call in PyNative mode, or for its gradient.
#pragma once
#include <tenon/call/call.hpp>
#include <tenon/call/frame.hpp>
#include <tenon/core/math/min_max.hpp>

namespace tenon::inline TENON_ABI::detail {

/// Throws OutOfMemory again, with the operator of the call, its cell and line, and the largest owners: parameters of
/// the network, and what the tape keeps.
[[noreturn, gnu::cold]] void refuse_call(const OutOfMemory& error, const EagerInfo& call, const Location& at);

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE void refuse_call(const OutOfMemory& error, const EagerInfo& call, const Location& at) {
  const eager::Frame& frame = eager::Frame::of_thread();
  MemoryOwners owners;
  if (const eager::Tape* const tape = eager::Tape::active()) tape->add_owners(owners);
  std::string where;
  if (frame.root) {
    owners.add_parameters(frame.entries, frame.entry_count);
    where = text(" in ", cell_path(frame.entries, math::max(frame.entry(), 0)));
  }
  refuse_memory(error,
                text(" The operator is ", call.name, where, place_text(frame.place(at)), ".", owners.sentence()));
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
