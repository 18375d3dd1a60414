// How a tape runs a derivative rule, backwards from the gradients of a call's results to those of its operands.
#pragma once
#include <tenon/run/tape.hpp>

#if TENON_DEFINES
namespace tenon::inline TENON_ABI::eager {

TENON_INLINE void Tape::replay(const Record& r, unsigned with) {
  const Rule* const fewer = r.rule->by_gradients ? r.rule->by_gradients[with] : nullptr;
  const Rule& rule = fewer ? *fewer : *r.rule;
  if (!rule.op->has_derivative)
    throw_error<RuntimeError>(rule.op->name, " has no derivative, but backward() reached it: detach its operand with "
                                             "stop_gradient, or declare a derivative.");
  const Value* const recorded = values_of(r);
  unsigned wanted = 0;
  for (int k = 0; k < rule.operands; ++k)
    if (recorded[k].variable >= 0) wanted |= 1u << k;
  if (wanted & rule.forgets) [[unlikely]]
    refuse_forgotten(r, wanted & rule.forgets);
  for (int k = 0; k < rule.operands; ++k)
    if (rule.gradient[k] < 0) wanted &= ~(1u << k);
  const int given = rule.operands + rule.results, computed = rule.computed();
  const bool single = rule.results == 1;
  const Value& gradient = gradient_of(recorded[rule.operands]);
  tenon::detail::Growing<Value>& values = memory_->values;
  values.fill(std::size_t(rule.count - computed));
  const auto at = [&](int id) -> const Value& {
    if (id >= computed) return values[std::size_t(id - computed)];
    return id < given ? recorded[id] : single ? gradient : gradient_of(recorded[id - rule.results]);
  };
  for (int id = computed; id < rule.count; ++id)
    if (rule.needed_by[id] & wanted) run_node(rule, id, r, at, values[std::size_t(id - computed)]);
  for (int k = 0; k < rule.operands; ++k) {
    if (!(wanted >> k & 1)) continue;
    wanted &= ~(1u << k);
    Value& sum = memory_->variables[std::size_t(recorded[k].variable)].gradient;
    const int id = rule.gradient[k];
    bool again = false;  // is it the gradient of a later operand as well?
    for (int l = k + 1; l < rule.operands; ++l) again |= rule.gradient[l] == id && wanted >> l & 1;
    if constexpr (observable)
      if (sum.data && tenon::detail::observation()) {
        sum = added_observed(r, rule, k, sum, at(id));
        continue;
      }
    if (sum.data) sum = added(rule, k, sum, at(id), r.n);
    else if (id >= computed && !again) sum = std::move(values[std::size_t(id - computed)]);
    else sum = at(id);
  }
  values.clear();
}
inline bool Tape::launched_there([[maybe_unused]] const Rule& rule, [[maybe_unused]] int id,
                                 [[maybe_unused]] const Value* const* operand,
                                 [[maybe_unused]] const Arguments& named) {
#if defined(TENON_TARGET)
  if (!tenon::detail::computes_there()) return false;
  const Node& node = rule.node[id];
  Arguments a = named;
  Storage rows[max_operands];
  long bytes[max_buffers]{node.type.bytes(a.n)};
  each_part(rule.node, id, [&](int part, int k) { bytes[node.operands + k] = rule.node[part].type.bytes(a.n); });
  for (int k = 0; k < node.operands; ++k) {
    const TensorType& type = rule.node[node.operand[k]].type;
    bytes[Arguments::operand_at(k)] = type.bytes(a.n);
    // recorded on the CPU, which has a layout of its own
    OperandLayout x{operand[k]->data, operand[k]->storage ? &operand[k]->storage : nullptr,
                    is_image(type) ? type.count(1) : 0};
    if (x.storage && !x.features && x.storage->made_in_nchw16n()) {
      rows[k] = further_as_rows(*x.storage, type, a.n);
      x.data = rows[k].data();
    } else bring_to(false, x, a.n, rows[k]);
    a.buffer[Arguments::operand_at(k)] = x.data;
  }
  tenon::detail::launch_there({.target = tenon::detail::TargetScope::current(),
                               .name = node.op->name,
                               .kernel = tenon::detail::kernel_there(node.op->name, rule.entry[rule.kernel[id]]),
                               .effect = node.op->effect,
                               .operands = node.operands},
                              a, bytes);
  return true;
#else
  return false;
#endif
}
TENON_INLINE void Tape::compute(const Rule& rule, int id, const Value* const* operand, long n, std::uint64_t immediate,
                                Value& value) {
  const Node& node = rule.node[id];
  const KernelEntry* const kernel = node.op->view ? nullptr : rule.entry[rule.kernel[id]];
  Arguments a(Arguments::Unset{}, n, immediate);
  if (node.parts) [[unlikely]]
    return compute_several(rule, id, operand, a, value);
  if (rule.images[id] && !tenon::detail::computes_there()) {
    compute_on_images(rule, id, operand, a, value, nullptr);
  } else if (!kernel) {
    value = {operand[0]->data, operand[0]->storage, -1};
  } else {
    value.storage = Storage(static_cast<std::size_t>(node.type.bytes(n)));
    a.buffer[Arguments::result_at] = value.data = value.storage.address();
    for (int k = 0; k < node.operands; ++k) a.buffer[Arguments::operand_at(k)] = operand[k]->data;
    if (!launched_there(rule, id, operand, a)) launch(*kernel, a);
  }
}
[[gnu::noinline]] TENON_INLINE void Tape::compute_on_images(const Rule& rule, int id, const Value* const* operand,
                                                            Arguments& a, Value& value, const FurtherResults* further) {
  const Node& node = rule.node[id];
  const KernelEntry* const kernel = node.op->view ? nullptr : rule.entry[rule.kernel[id]];
  OperandLayout x[max_operands];
  Storage copy[max_operands];
  for (int k = 0; k < node.operands; ++k) {
    const TensorType& type = rule.node[node.operand[k]].type;
    x[k] = {operand[k]->data, operand[k]->storage ? &operand[k]->storage : nullptr, is_image(type) ? type.count(1) : 0};
    x[k].fixed = operand[k]->storage && type.rank == 4 && type.batched() && !x[k].features;
  }
  value.storage = run_on_images(kernel, node.op->kernel.nchw16n, false, node.type, a, x, copy, node.operands, further);
  value.data = kernel ? value.storage.address() : x[0].data;
}
[[gnu::noinline]] TENON_INLINE void Tape::compute_several(const Rule& rule, int id, const Value* const* operand,
                                                          Arguments& a, Value& value) {
  const Node& node = rule.node[id];
  for (void*& at : a.buffer) at = nullptr;  // a result that nothing reads has no memory
  FurtherResults further;
  each_part(rule.node, id, [&](int part, int k) {
    further.type[k] = &rule.node[part].type;
    further.to[k] = &(&value)[part - id].storage;
  });
  if (!tenon::detail::computes_there()) {
    compute_on_images(rule, id, operand, a, value, &further);
  } else {
    value.storage = Storage(static_cast<std::size_t>(node.type.bytes(a.n)));
    a.buffer[Arguments::result_at] = value.data = value.storage.address();
    for (int k = 0; k < node.operands; ++k) a.buffer[Arguments::operand_at(k)] = operand[k]->data;
    make_further(further, a, node.operands, false);
    launched_there(rule, id, operand, a);
  }
  each_part(rule.node, id, [&](int part, int) {
    Value& made = (&value)[part - id];
    made.data = made.storage.address();
  });
}
TENON_INLINE Tape::Value Tape::added(const Rule& rule, int k, const Value& sum, const Value& term, long n) {
  const Value* const operand[]{&sum, &term};
  Value value;
  compute(rule, rule.accumulate[k], operand, n, 0, value);
  return value;
}

}  // namespace tenon::eager
#endif  // TENON_DEFINES
