// Running one operator in PyNative mode: no template, so it exists once, whatever the shapes.
#pragma once
#include <tenon/eager/layout.hpp>
#include <tenon/eager/tape.hpp>
#include <tenon/graph/leaf.hpp>

namespace tenon::inline TENON_ABI {

/// A number written among operands: it takes the dtype that the operator's other operand asks for.
template <Element T>
struct Number : ops::OperandTag {
  using type = T;
  double value;
  constexpr explicit Number(double v) : value(v) {}
};

namespace detail {

/// What the shapes of an eager call decide: constants, one set per combination of operator and shapes.
struct EagerInfo {
  std::string_view name;
  const KernelEntry* kernel;  // null: a view, which shares the elements of operand 0
  const eager::Rule* rule;    // null: no gradient flows through the result
  KernelWork single;          // the kernel's work without a batch, or with one of 1
  TensorType result;
  int operands;
  bool effect;                // the kernel changes operand 0 and has no result
  InBlocks blocks;
  bool images = false;        // there are images among the operands
  long features[max_operands]{};  // elements per sample of the operands that are images, of the others 0
};

/// An operand of an eager call, whatever its type.
struct EagerOperand {
  const void* data = nullptr;
  const Storage* storage = nullptr;            // of a Tensor
  const ParameterHandle* parameter = nullptr;  // of a Parameter
  TapeVariable variable{};
  long n = -1;                                 // batch size, -1: none
  std::uint64_t number = 0;                    // the bytes of a Number

  template <class T, class S> EagerOperand(const Tensor<T, S>& x)
      : data(x.storage().data()), storage(&x.storage()), variable(x.variable), n(Tensor<T, S>::dims.batched() ? x.n() : -1) {}
  template <class T, class S, auto Init, bool Trainable> EagerOperand(const Parameter<T, S, Init, Trainable>& p) : data(p.data), parameter(&p) {}
  template <class P, class S> EagerOperand(const ParameterView<P, S>& view) : EagerOperand(view.parameter) {}
  template <class T> EagerOperand(const Number<T>& x) : number(constant_bytes(dtype_of<T>, x.value)) {}

  bool is_number() const { return !storage && !parameter; }
  const void* address() const { return is_number() ? &number : data; }
  /// As the tape keeps it beyond this call.
  void keep_in(eager::Tape::Value& value) const {
    if (storage) value.storage = *storage;
    if (is_number()) value.storage = Storage(sizeof number), std::memcpy(value.storage.data(), &number, sizeof number);
    value.data = is_number() ? value.storage.data() : const_cast<void*>(data);
  }
};

struct EagerResult {
  Storage storage;
  long n = 1;
  TapeVariable variable{};
};

[[gnu::cold, gnu::noinline]] inline void refuse_operand(const EagerInfo& call, const EagerOperand& operand, int k, long n) {
  if (operand.storage && !*operand.storage) throw_error<ValueError>(call.name, " got a tensor without elements (operand ", k, "): assign to it first.");
  if (operand.parameter) throw_error<RuntimeError>(call.name, " got a parameter that is not bound yet: call its network once, make a Model of it, or call init_parameters() on it.");
  throw_error<ValueError>(call.name, " got operands of batch size ", n, " and ", operand.n, ".");
}

/// Records the call if one of its operands has a variable. `copy`, if given: operands that were brought into the layout of the call,
/// which are kept so.
inline void record_call(eager::Tape& tape, const EagerInfo& call, const EagerOperand* operand, const Storage* copy, const Arguments& a, EagerResult& result) {
  int variable[max_operands];
  bool recorded = false;
  for (int k = 0; k < call.operands; ++k) {
    variable[k] = operand[k].parameter ? tape.variable(*operand[k].parameter) : tape.variable(operand[k].variable);
    recorded |= variable[k] >= 0;
  }
  if (!recorded || !call.rule) return;
  eager::Tape::Value* value = tape.record(*call.rule, a.immediate, a.n, result.variable);
  for (int k = 0; k < call.operands; ++k) {
    value[k].variable = variable[k];
    if (!(call.rule->keeps >> k & 1)) continue;
    if (copy && copy[k]) value[k].data = copy[k].data(), value[k].storage = copy[k];
    else operand[k].keep_in(value[k]);
  }
  if (call.rule->keeps >> call.operands & 1) value[call.operands].data = result.storage.data(), value[call.operands].storage = result.storage;
}

/// The call with images among its operands or as its result: it brings them into one layout first.
[[gnu::noinline]] inline void run_on_images(const EagerInfo& call, const EagerOperand* operand, Arguments& a, EagerResult& result) {
  eager::LaidOut x[max_operands];
  for (int k = 0; k < call.operands; ++k) x[k] = {a.buffer[k + 1], operand[k].storage, call.features[k]};
  const bool blocks = call.kernel && eager::runs_in_blocks(*call.kernel, call.blocks, a.n, x, call.operands);
  Storage copy[max_operands];
  for (int k = 0; k < call.operands; ++k) {
    eager::bring_to(blocks, x[k], a.n, copy[k]);
    a.buffer[k + 1] = x[k].data;
  }
  if (call.effect) a.buffer[0] = a.buffer[1];
  else if (!call.kernel) result.storage = copy[0] ? copy[0] : *operand[0].storage;
  else a.buffer[0] = (result.storage = eager::result_storage(call.result, a.n, blocks)).data();
  if (call.kernel) {
    const FlushDenormals flush;
    eager::launch_in(blocks, *call.kernel, a);
  }
  if (eager::Tape* tape = eager::Tape::active()) record_call(*tape, call, operand, copy, a, result);
}

/// Runs an eager call and records it if a tape wants to know.
inline EagerResult run_eager(const EagerInfo& call, const EagerOperand* operand, std::uint64_t immediate) {
  long n = -1;
  Arguments a;
  a.immediate = immediate;
  for (int k = 0; k < call.operands; ++k) {
    const EagerOperand& x = operand[k];
    if ((x.storage && !*x.storage) || (x.parameter && !x.data) || (n >= 0 && x.n >= 0 && n != x.n)) refuse_operand(call, x, k, n);
    if (x.n >= 0) n = x.n;
    a.buffer[k + 1] = const_cast<void*>(x.address());
  }
  a.n = n < 0 ? 1 : n;
  EagerResult result;
  result.n = call.result.batched() ? a.n : 1;  // a mean over the batch has no batch size
  if (call.images) {
    run_on_images(call, operand, a, result);
    return result;
  }
  if (call.effect) {
    a.buffer[0] = a.buffer[1];
  } else if (!call.kernel) {
    result.storage = *operand[0].storage;
  } else {
    result.storage = Storage(static_cast<std::size_t>(call.result.bytes(a.n)));
    a.buffer[0] = result.storage.data();
  }
  if (call.kernel) {
    const FlushDenormals flush;
    launch(call.kernel->run, a, a.n == 1 ? call.single : call.kernel->work(a.n));
  }
  if (eager::Tape* tape = eager::Tape::active()) record_call(*tape, call, operand, nullptr, a, result);
  return result;
}

}  // namespace detail
}  // namespace tenon
