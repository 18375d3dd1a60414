// What the error says if there is no memory for a call in PyNative mode, or for its gradient.
#pragma once
#include <tenon/eager/call.hpp>
#include <tenon/eager/frame.hpp>

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
    where = " in " + cell_path(frame.entries, std::max(frame.entry(), 0));
  }
  refuse_memory(error,
                text(" The operator is ", call.name, where, place_text(frame.place(at)), ".", owners.sentence()));
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
#if TENON_DEFINES
namespace tenon::inline TENON_ABI::eager {
[[gnu::noinline]] TENON_INLINE void Tape::add_owners(tenon::detail::MemoryOwners& owners) const {
  for (const Record& r : memory_->records)
    for (int k = 0; k <= r.rule->operands; ++k) {
      const Value& value = values_of(r)[k];
      const double bytes = double(r.rule->node[k].type.bytes(1)) * double(r.rule->node[k].type.batched() ? r.n : 1);
      if (!value.storage || !owners.wants(bytes, value.data)) continue;
      const int maker = value.variable < 0 ? -1 : memory_->variables[std::size_t(value.variable)].record;
      owners.add(
          bytes, value.data,
          text("tensor ", tenon::detail::type_text(r.rule->node[k].type), ", ",
               maker < 0 ? std::string("which ")
                         : text("the result of ", memory_->records[std::size_t(maker)].rule->op->name, ", which "),
               "the derivative of ", r.rule->op->name, " reads"));
    }
}
[[gnu::noinline]] TENON_INLINE void Tape::refuse_gradient(const OutOfMemory& error, const Record& r) const {
  tenon::detail::MemoryOwners owners;
  add_owners(owners);
  std::string where;
#if defined(TENON_OBSERVE)
  if (r.at.entries) where = " in " + tenon::detail::cell_path(r.at.entries, r.at.scope);
  where += tenon::detail::place_text(r.at.location);
#endif
  tenon::detail::refuse_memory(
      error, text(" It is a part of the gradient of ", r.rule->op->name, where, ".", owners.sentence()));
}
}  // namespace tenon::eager
#endif  // TENON_DEFINES
