// Tells the observers of a thread what operators do one by one: calls in PyNative mode, and the tape's backward pass.
#pragma once
#include <tenon/call/call.hpp>
#include <tenon/call/frame.hpp>
#include <tenon/core/math/min_max.hpp>
#include <tenon/run/graph_observer.hpp>
#if TENON_DEFINES && defined(TENON_OBSERVE)

#include <tenon/graph/observe/word_map.hpp>
#endif

namespace tenon::inline TENON_ABI::detail {

/// What an observed call runs after all: run_call or one of the others (call/call.hpp).
using EagerRunner = void(const EagerInfo&, const EagerOperand*, std::uint64_t immediate, Storage& result,
                         TapeVariable&);

/// Runs a call between before() and after() of the observers. `at` is the place of the call, which may be in a cell of
/// Tenon.
void run_observed(Observation& innermost, EagerRunner* run, const EagerInfo& call, const Location& at,
                  const EagerOperand* operand, std::uint64_t immediate, Storage& result, TapeVariable& variable);

#if TENON_DEFINES && defined(TENON_OBSERVE)
/// The elements of a tensor, or of what has no storage of its own, as rows on the host.
TENON_INLINE AnyTensor eager_rows(const TensorType& type, long n, const Storage* storage, const void* data,
                                  Storage& copy) {
  n = type.batched() ? n : 1;
  if (storage && storage->in_nchw16n() && is_image(type))
    copy = copy_as_rows(reinterpret_cast<const float*>(storage->data()), n, type.count(1));
  else if (storage && storage->made_in_nchw16n()) copy = storage->rows();
  return AnyTensor(type, n, copy ? copy.data() : const_cast<void*>(home(data)));
}
/// How often the operator was called in this cell before, since the network was entered; outside of one always 0.
TENON_INLINE int calls_before(const eager::Frame& frame, int scope, const OperatorInfo& op) {
  if (!frame.root) return 0;
  struct CallsOfRoot {
    unsigned long root = 0;
    WordMap of;  // network, cell, in its loss, operator
  };
  static thread_local CallsOfRoot counts;
  if (counts.root != frame.roots) counts.of.clear(), counts.root = frame.roots;
  return int(counts.of[{{address_word(frame.entries), std::uint64_t(scope), frame.in_loss, std::uint64_t(op.id)}}]++);
}
[[gnu::noinline]] TENON_INLINE void run_observed(Observation& innermost, EagerRunner* run, const EagerInfo& call,
                                                 const Location& at, const EagerOperand* operand,
                                                 std::uint64_t immediate, Storage& result, TapeVariable& variable) {
  // a view that nobody is told of has its place all the same: gradients are added up under its name
  const bool told = call.kernel || innermost.every_view;
  eager::Frame& frame = eager::Frame::of_thread();
  const Entry* const entries = frame.root ? frame.entries : nullptr;
  const int scope = entries ? math::max(frame.entry(), 0) : 0;
  const Origin origin{frame.in_loss, false, calls_before(frame, scope, *call.seen.op), false, nullptr};
  Operation operation;
  operation.name = operation_name(entries, scope, origin, call.name);
  operation.type = call.name;
  operation.location = frame.place(at);
  operation.operands = *call.types;
  operation.result = call.effect ? call.types->type[0] : call.result;
  operation.op = call.seen.op;
  operation.attributes = *call.seen.attributes;
  for (int k = 0; k < call.operands; ++k)
    if (operand[k].n >= 0) operation.n = operand[k].n;
  if (told) wait_there(), tell_before(innermost, operation);
  const eager::RecordedAt at_call{entries, scope, origin, operation.location};
  {
    const eager::RecordingAt recording(at_call);
    run(call, operand, immediate, result, variable);
  }
  if (!told) return;
  wait_there();
  if (!innermost.takes_values) return tell_after(innermost, operation);
  Storage copy[max_operands + max_results];
  AnyTensor taken[max_operands], made[max_results];
  for (int k = 0; k < call.operands; ++k)
    taken[k] = eager_rows(call.types->type[k], operation.n, operand[k].storage, operand[k].data, copy[k]);
  const int results = call.several ? math::min(call.several->returns, call.several->types.count) : 1;
  for (int k = 0; k < results; ++k)
    made[k] = call.effect ? taken[0]
                          : eager_rows(call.several ? call.several->types[k] : call.result, operation.n, &result + k,
                                       (&result)[k].address(), copy[max_operands + k]);
  tell_after(innermost, operation, {taken, std::size_t(call.operands)}, {made, std::size_t(results)});
}
#endif

}  // namespace tenon::detail

#if TENON_DEFINES && defined(TENON_OBSERVE)
namespace tenon::inline TENON_ABI::eager {
/// Which number a node of a rule has in the name of its operation.
TENON_INLINE Origin origin_of(const TapeMemory::Record& r, const Rule& rule, int id, int sum) {
  if (sum >= 0) return tenon::detail::origin_of_sum(r.at.origin, rule.op, rule.operands, sum);
  int end = rule.count;  // of the derivative: after it stand what adds gradients up
  for (int k = 0; k < rule.operands; ++k)
    if (rule.accumulate[k] >= 0) end = math::min(end, rule.accumulate[k]);
  return tenon::detail::origin_in_rule(r.at.origin, rule.op,
                                       tenon::detail::place_in_rule(rule.node, rule.computed(), end, id));
}
[[gnu::noinline]] TENON_INLINE void Tape::compute_observed(tenon::detail::Observation& innermost, const Record& r,
                                                           const Rule& rule, int id, int sum,
                                                           const Value* const* operand, std::uint64_t immediate,
                                                           Value& value) {
  const Node& node = rule.node[id];
  if (node.op->view && !innermost.every_view) return compute(rule, id, operand, r.n, immediate, value);
  Operation operation;
  operation.name = tenon::detail::operation_name(r.at.entries, r.at.scope, origin_of(r, rule, id, sum), node.op->name);
  operation.type = node.op->name;
  operation.part = StepPart::gradient;
  operation.location = r.at.location;
  operation.operands.count = node.operands;
  for (int k = 0; k < node.operands; ++k) operation.operands.type[k] = rule.node[node.operand[k]].type;
  operation.result = node.type;
  operation.n = r.n;
  operation.op = node.op;
  operation.attributes = node.attributes;
  tenon::detail::wait_there();
  tell_before(innermost, operation);
  compute(rule, id, operand, r.n, immediate, value);
  tenon::detail::wait_there();
  if (!innermost.takes_values) return tell_after(innermost, operation);
  Storage copy[max_operands + 1];
  AnyTensor seen[max_operands + 1];
  const auto rows = [&](int k, const TensorType& type, const Value& v) {
    seen[k] = tenon::detail::eager_rows(type, r.n, v.storage ? &v.storage : nullptr, v.data, copy[k]);
  };
  rows(0, node.type, value);
  for (int k = 0; k < node.operands; ++k) rows(k + 1, operation.operands[k], *operand[k]);
  tell_after(innermost, operation, {seen + 1, std::size_t(node.operands)}, {seen, 1});
}
TENON_INLINE Tape::Value Tape::added_observed(const Record& r, const Rule& rule, int k, const Value& sum,
                                              const Value& term) {
  const Value* const operand[]{&sum, &term};
  Value value;
  compute_observed(*tenon::detail::observation(), r, rule, rule.accumulate[k], k, operand, 0, value);
  return value;
}
}  // namespace tenon::eager
#endif
