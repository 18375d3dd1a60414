// Running one operator in PyNative mode: no template, so it exists once, whatever the shapes.
#pragma once
#include <utility>

#include <tenon/graph/ir/index/indices.hpp>
#include <tenon/graph/ir/leaf.hpp>
#include <tenon/run/layout.hpp>
#include <tenon/run/tape.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

/// A number written among operands: it takes the dtype that the operator's other operand asks for.
template <Element T>
struct Number : ops::OperandTag {
  using type = T;
  std::uint64_t bytes;  // as a kernel reads them; of a whole number that T does not have, those of 64 bits
  bool negative = false, fits = true;

  template <Scalar N>
  constexpr explicit Number(N value) : bytes(number_bytes<T>(value)) {
    if constexpr (std::is_integral_v<T> && std::is_integral_v<N> && !std::is_same_v<T, bool>) {
      if constexpr (std::is_signed_v<N>) negative = value < 0;
      fits = std::in_range<T>(0 + value);  // a sum: in_range takes neither bool nor char
    }
  }
};

namespace detail {

/// Why a whole number cannot stand beside a tensor of integers. `bytes` are its 64 bits.
[[gnu::cold]] constexpr Sentence scalar_refusal(Dtype dtype, std::uint64_t bytes, bool negative) {
  const std::uint64_t all = size_of(dtype) == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * size_of(dtype)) - 1;
  const bool is_signed = dtype >= Dtype::int8 && dtype <= Dtype::int64;
  Sentence s;
  s << "the number " << (negative ? "-" : "") << (unsigned long long)(negative ? 0 - bytes : bytes) << " does not fit "
    << name(dtype) << ", which has ";
  if (is_signed) s << "-" << (unsigned long long)(all / 2 + 1) << " to " << (unsigned long long)(all / 2);
  else s << "0 to " << (unsigned long long)(all);
  return s << ": cast the tensor to a dtype that has it";
}
[[noreturn, gnu::cold]] void refuse_scalar(Dtype dtype, std::uint64_t bytes, bool negative);

/// What an observer is told of the operator of a call.
struct SeenOperator {
  const OperatorInfo* op = nullptr;
  const Attributes* attributes = nullptr;
};

/// Of a call of an operator with several results: which there are, and which the caller gets.
struct SeveralResults {
  ResultTypes types;
  int returns = 1;
  unsigned differentiable = 1;  // bits
  // the kernel that also writes those that the derivative reads although no caller gets them; null: there are none
  const KernelEntry* keeping = nullptr;
  unsigned kept = 0;  // these, as bits
};

/// What the shapes of an eager call decide: constants, one set per combination of operator and shapes.
struct EagerInfo {
  std::string_view name;
  const KernelEntry* kernel;  // null: a view, which shares the elements of operand 0
  const eager::Rule* rule;    // null: no gradient flows through the result
  KernelWork single;          // the kernel's work without a batch, or with one of 1
  TensorType result;
  Storage::SizeClass size;  // of a result without a batch
  int operands;
  bool effect;       // the kernel changes operand 0 and has no result
  bool host_effect;  // it changes nothing
  Nchw16n nchw16n;
  const SeveralResults* several = nullptr;  // null: it has one
  long features[max_operands]{};            // elements per sample of the operands that are images, of the others 0
  [[no_unique_address]] std::conditional_t<several_targets || observable, const OperandTypes*, NoConfig> types{};
  [[no_unique_address]] std::conditional_t<observable, SeenOperator, NoConfig> seen{};
};

/// An operand of an eager call, whatever its type.
struct EagerOperand {
  const void* data = nullptr;
  const Storage* storage = nullptr;            // of a Tensor
  const ParameterHandle* parameter = nullptr;  // of a Parameter
  TapeVariable variable{};
  long n = -1;               // batch size, -1: none
  std::uint64_t number = 0;  // the bytes of a Number, which `data` points to

  EagerOperand(const EagerOperand&) = delete;
  template <class T, class S>
  EagerOperand(const Tensor<T, S>& x)
      : data(address_of(x)),
        storage(&x.storage()),
        variable(x.variable),
        n(Tensor<T, S>::dims.batched() ? x.n() : -1) {}
  template <class T, class S, auto Init, bool Trainable>
  EagerOperand(const Parameter<T, S, Init, Trainable>& p) : data(p.data), parameter(&p) {}
  template <class P, class S>
  EagerOperand(const ParameterView<P, S>& view) : EagerOperand(view.parameter) {}
  template <class T>
  EagerOperand(const Number<T>& x) : data(&number), number(x.bytes) {
    if (!x.fits) refuse_scalar(dtype_of<T>, x.bytes, x.negative);
  }

  // On the second target always as rows: the other layout is the CPU's.
  template <class T, class S>
  static const void* address_of(const Tensor<T, S>& x) {
    if constexpr (several_targets)
      if (computes_there() && x.storage().made_in_nchw16n()) return x.data();
    return x.storage().address();
  }
  /// As the tape keeps it beyond this call.
  void keep_in(eager::Tape::Value& value) const {
    value.data = const_cast<void*>(data);
    if (storage) value.storage = *storage;
    else if (data == &number)
      value.storage = Storage(sizeof number), value.data = std::memcpy(value.storage.data(), &number, sizeof number);
  }
};

[[gnu::cold]] void refuse_operand(const EagerInfo& call, const EagerOperand& operand, int k, long n);

/// Records the call if one of its operands has a variable. `copy`, if given: operands that were brought into the layout
/// of the call, which are kept so. Returns where the result is kept, null if the call is not recorded.
eager::Tape::Value* record_call(eager::Tape& tape, const EagerInfo& call, const EagerOperand* operand,
                                const Storage* copy, const Arguments& a, const Storage& result,
                                TapeVariable& result_variable);

/// Throws ValueError for an element that is to be an index and is out of range. Operands without elements are refused
/// later.
void look_at_indices(const EagerInfo& call, const OperandTypes& types, const EagerOperand* operand);

/// Throws ValueError for a batch that is smaller than what the operator needs.
void refuse_small_batch(const LeastBatch& least, const EagerOperand* operand, int operands);

/// Runs the kernel of a call on the second target, if this thread computes there. Throws RuntimeError if it has none.
bool launched_there(const EagerInfo& call, const Arguments& a);

// Finds the operands and the batch size. Throws if there are none, or several.
Arguments eager_arguments(const EagerInfo& call, const EagerOperand* operand, std::uint64_t immediate);

/// Runs an eager call with images among its operands, and records it if a tape wants to know. Like the three below, it
/// gives the result its elements and its variable.
void run_image_call(const EagerInfo& call, const EagerOperand* operand, std::uint64_t immediate, Storage& result,
                    TapeVariable& variable);
/// The same without images.
void run_call(const EagerInfo& call, const EagerOperand* operand, std::uint64_t immediate, Storage& result,
              TapeVariable& variable);
/// The same without a batch, for a kernel that is not worth a second thread.
void run_small_call(const EagerInfo& call, const EagerOperand* operand, std::uint64_t immediate, Storage& result,
                    TapeVariable& variable);

/// A call of an operator with several results: `result` and `variable` are the first of as many as the caller gets.
void run_several(const EagerInfo& call, const EagerOperand* operand, std::uint64_t immediate, Storage& result,
                 TapeVariable& variable);

}  // namespace detail
#if TENON_DEFINES
namespace detail {
[[gnu::noinline]] TENON_INLINE void refuse_scalar(Dtype dtype, std::uint64_t bytes, bool negative) {
  throw_error<ValueError>("Beside a tensor of ", name(dtype), ", ", scalar_refusal(dtype, bytes, negative).view(), ".");
}
[[gnu::noinline]] TENON_INLINE void refuse_operand(const EagerInfo& call, const EagerOperand& operand, int k, long n) {
  if (operand.storage && !*operand.storage)
    throw_error<ValueError>(call.name, " got a tensor without elements (operand ", k, "): assign to it first.");
  if (operand.parameter)
    throw_error<RuntimeError>(call.name, " got a parameter that is not bound yet: call its network once, make a Model "
                                         "of it, or call init_parameters() on it.");
  throw_error<ValueError>(call.name, " got operands of batch size ", n, " and ", operand.n, ".");
}
TENON_INLINE eager::Tape::Value* record_call(eager::Tape& tape, const EagerInfo& call, const EagerOperand* operand,
                                             const Storage* copy, const Arguments& a, const Storage& result,
                                             TapeVariable& result_variable) {
  int variable[max_operands];
  bool recorded = false;
  for (int k = 0; k < call.operands; ++k) {
    variable[k] = operand[k].parameter ? tape.variable(*operand[k].parameter) : tape.variable(operand[k].variable);
    recorded |= variable[k] >= 0;
  }
  if (!recorded || !call.rule) return nullptr;
  eager::Tape::Value* value = tape.record(*call.rule, a.immediate, a.n, result_variable);
  for (int k = 0; k < call.operands; ++k) {
    value[k].variable = variable[k];
    if (!(call.rule->keeps >> k & 1)) continue;
    if (copy && copy[k]) value[k].data = copy[k].address(), value[k].storage = copy[k];
    else operand[k].keep_in(value[k]);
  }
  value += call.operands;
  if (call.rule->keeps >> call.operands & 1) value->data = result.address(), value->storage = result;
  return value;
}
// The results after the first of a call that was recorded. `hidden`: those that the caller does not get.
inline void record_further(eager::Tape& tape, const EagerInfo& call, eager::Tape::Value* value, const Storage* result,
                           TapeVariable* variable, const Storage* hidden) {
  for (int k = 1; k < call.several->types.count; ++k) {
    const bool returned = k < call.several->returns;
    if (returned && call.several->differentiable >> k & 1) tape.add_result(value[k], variable[k]);
    if (!(call.rule->keeps >> (call.operands + k) & 1)) continue;
    const Storage& kept = returned ? result[k] : hidden[k];
    value[k].data = kept.address(), value[k].storage = kept;
  }
}
[[gnu::noinline]] TENON_INLINE void look_at_indices(const EagerInfo& call, const OperandTypes& types,
                                                    const EagerOperand* operand) {
  const IndexRange* const range = call.kernel->indices;
  if (!range || !operand[range->operand].data) return;
  const EagerOperand& numbers = operand[range->operand];
  check_indices(call.name, *range, types[range->operand], range->among_result() ? call.result : types[range->among],
                home(numbers.data), numbers.n < 0 ? 1 : numbers.n);
}
[[gnu::noinline]] TENON_INLINE void refuse_small_batch(const LeastBatch& least, const EagerOperand* operand,
                                                       int operands) {
  for (int k = 0; k < operands; ++k)
    if (operand[k].n >= 0 && operand[k].n < least.n) refuse_batch(least, operand[k].n);
}
TENON_INLINE Arguments eager_arguments(const EagerInfo& call, const EagerOperand* operand, std::uint64_t immediate) {
  long n = -1;
  Arguments a(Arguments::Unset{}, 1, immediate);
  for (int k = 0; k < call.operands; ++k) {
    const EagerOperand& x = operand[k];
    if (!x.data || (n >= 0 && x.n >= 0 && n != x.n)) refuse_operand(call, x, k, n);
    if (x.n >= 0) n = x.n;
    a.buffer[Arguments::operand_at(k)] = const_cast<void*>(x.data);
  }
  if (n >= 0) a.n = n;
  return a;
}
// What is written may be a parameter.
inline void begin_effect(const EagerInfo& call, const EagerOperand* operand) {
  if (call.host_effect) return;
  for (int k = 0; k < call.operands; ++k)
    if (operand[k].parameter) operand[k].parameter->change();
}
inline bool launched_there([[maybe_unused]] const EagerInfo& call, [[maybe_unused]] const Arguments& a) {
#if defined(TENON_TARGET)
  if (!computes_there() || call.host_effect) return false;
  long bytes[max_buffers]{call.result.bytes(a.n)};
  for (int k = 0; k < call.operands; ++k) bytes[Arguments::operand_at(k)] = call.types->type[k].bytes(a.n);
  const KernelEntry* kernel = call.kernel;
  for (int k = 1; call.several && k < call.several->types.count; ++k) {
    bytes[Arguments::further_at(call.operands, k)] = call.several->types[k].bytes(a.n);
    if (k >= call.several->returns && a.buffer[Arguments::further_at(call.operands, k)]) kernel = call.several->keeping;
  }
  launch_there({.target = TargetScope::current(),
                .name = call.name,
                .kernel = kernel_there(call.name, kernel),
                .effect = call.effect,
                .operands = call.operands},
               a, bytes);
  return true;
#else
  return false;
#endif
}
[[gnu::noinline]] TENON_INLINE void run_image_call(const EagerInfo& call, const EagerOperand* operand,
                                                   std::uint64_t immediate, Storage& result, TapeVariable& variable) {
  if (computes_there()) return run_call(call, operand, immediate, result, variable);
  Arguments a = eager_arguments(call, operand, immediate);
  eager::OperandLayout x[max_operands];
  Storage copy[max_operands];
  for (int k = 0; k < call.operands; ++k)
    x[k] = {a.buffer[Arguments::operand_at(k)], operand[k].storage, call.features[k]};
  if (call.effect && eager::runs_again()) return;
  if (call.effect) begin_effect(call, operand);
  result = eager::run_on_images(call.kernel, call.nchw16n, call.effect, call.result, a, x, copy, call.operands);
  if (eager::Tape* tape = eager::Tape::active()) record_call(*tape, call, operand, copy, a, result, variable);
}
[[gnu::noinline]] TENON_INLINE void run_call(const EagerInfo& call, const EagerOperand* operand,
                                             std::uint64_t immediate, Storage& result, TapeVariable& variable) {
  Arguments a = eager_arguments(call, operand, immediate);
  if (call.effect && eager::runs_again()) return;
  if (call.effect) begin_effect(call, operand), a.buffer[Arguments::result_at] = a.buffer[Arguments::operand_at(0)];
  else if (!call.kernel) result = *operand[0].storage;
  else make_storage(result, call.result, a.n), a.buffer[Arguments::result_at] = result.address();
  if (call.kernel && !launched_there(call, a)) {
    const FlushDenormals flush;
    launch(call.kernel->run, a, a.n == 1 ? call.single : call.kernel->work(a.n), call.kernel->rows);
  }
  if (eager::Tape* tape = eager::Tape::active()) record_call(*tape, call, operand, nullptr, a, result, variable);
}
[[gnu::noinline]] TENON_INLINE void run_small_call(const EagerInfo& call, const EagerOperand* operand,
                                                   std::uint64_t immediate, Storage& result, TapeVariable& variable) {
  Arguments a(Arguments::Unset{}, 1, immediate);
  for (int k = 0; k < call.operands; ++k) {
    if (!operand[k].data) refuse_operand(call, operand[k], k, -1);
    a.buffer[Arguments::operand_at(k)] = const_cast<void*>(operand[k].data);
  }
  result.make(call.size);
  a.buffer[Arguments::result_at] = result.address();
  if (!launched_there(call, a)) {
    const FlushDenormals flush;
    bring_home(a);
    call.kernel->run(a, 0, call.single.items);
  }
  if (eager::Tape* tape = eager::Tape::active()) record_call(*tape, call, operand, nullptr, a, result, variable);
}
[[gnu::noinline]] TENON_INLINE void run_several(const EagerInfo& call, const EagerOperand* operand,
                                                std::uint64_t immediate, Storage& result, TapeVariable& variable) {
  Arguments a = eager_arguments(call, operand, immediate);
  const SeveralResults& several = *call.several;
  eager::Tape* const tape = eager::Tape::active();
  bool recorded = false;
  for (int k = 0; tape && call.rule && k < call.operands; ++k)
    recorded |=
        (operand[k].parameter ? tape->variable(*operand[k].parameter) : tape->variable(operand[k].variable)) >= 0;
  const bool keeps = recorded && several.kept;
  const KernelEntry* const kernel = keeps ? several.keeping : call.kernel;
  Storage hidden[max_results], copy[max_operands];
  eager::FurtherResults further;
  for (int k = 1; k < several.types.count; ++k) {
    a.buffer[Arguments::further_at(call.operands, k)] = nullptr;
    further.type[k] = &several.types[k];
    if (k < several.returns) further.to[k] = &result + k;
    else if (keeps && several.kept >> k & 1) further.to[k] = &hidden[k];
  }
  if (computes_there()) {
    make_storage(result, call.result, a.n);
    a.buffer[Arguments::result_at] = result.address();
    eager::make_further(further, a, call.operands, false);
    launched_there(call, a);
  } else {
    eager::OperandLayout x[max_operands];
    for (int k = 0; k < call.operands; ++k)
      x[k] = {a.buffer[Arguments::operand_at(k)], operand[k].storage, call.features[k]};
    result = eager::run_on_images(kernel, call.nchw16n, false, call.result, a, x, copy, call.operands, &further);
  }
  if (!recorded) return;
  eager::Tape::Value* const value = record_call(*tape, call, operand, copy, a, result, variable);
  record_further(*tape, call, value, &result, &variable, hidden);
}
}  // namespace detail
#endif  // TENON_DEFINES

}  // namespace tenon
TENON_INT_SIZES_END
