// A kernel is an operator at given shapes. Its template arguments are types of operators and plain integers: that keeps
// symbols short, and nvcc takes them for a __global__ function, which it refuses for values of class type.
#pragma once
#include <utility>

#include <tenon/core/memory/arena.hpp>
#include <tenon/graph/ir/kernel_entry.hpp>
#include <tenon/graph/ir/step.hpp>
#include <tenon/target/kernel.hpp>

namespace tenon::inline TENON_ABI {

/// What identifies a kernel in constant evaluation. The first words become template arguments: types of result and
/// operands, settings. The others are ids of operators, which are of no use outside of a translation unit, and become
/// types: the operator, the update it holds, and the fused steps with their sources.
struct KernelKey {
  static constexpr int capacity = 1 + (max_operands + 1) * (max_rank + 1) + max_attributes + 2 + 2 * max_steps;
  int word[capacity]{};
  int arguments = 0, length = 0;

  constexpr void put(int value) { word[length++] = value; }
  constexpr void put(const TensorType& t) {
    put(t.rank * 16 + int(t.dtype));
    for (int axis = 0; axis < t.rank; ++axis) put(t.extent[axis]);
  }
  constexpr std::uint64_t hash() const {
    std::uint64_t h = 1469598103934665603ull;
    for (int i = 0; i < length; ++i) h = (h ^ static_cast<std::uint32_t>(word[i])) * 1099511628211ull;
    return h;
  }
  constexpr int op() const { return word[arguments]; }
  constexpr int update() const { return word[arguments + 1]; }
  constexpr int steps() const { return (length - arguments) / 2 - 1; }
  constexpr int step_op(std::size_t i) const { return word[arguments + 2 + 2 * int(i)]; }
  constexpr int step_sources(std::size_t i) const { return word[arguments + 3 + 2 * int(i)]; }
};

constexpr KernelKey kernel_key(const OperatorInfo* op, const TensorType& result, const TensorType* operand,
                               int operands, Attributes attributes, const int* program = nullptr, int steps = 0,
                               int parts = 0) {
  KernelKey key;
  const int update = op->holds_update ? attributes.word[update_word] : 0;
  if (update) attributes.word[update_word] = 0;
  static_assert(max_operands < 8 && max_attributes < 16, "their numbers are in the first word's lowest 3 and 4 bits");
  int settings = max_attributes;
  while (settings && !attributes.word[settings - 1]) --settings;
  key.put((parts * 16 + settings) * 8 + operands);
  key.put(result);
  for (int k = 0; k < operands; ++k) key.put(operand[k]);
  for (int i = 0; i < settings; ++i) key.put(attributes.word[i]);
  key.arguments = key.length;
  key.put(op->id);
  key.put(update);
  for (int i = 0; i < 2 * steps; ++i) key.put(program[i]);
  return key;
}
template <int N>
constexpr KernelKey kernel_key(const Graph<N>& graph, int id) {
  const Node& node = graph[id];
  TensorType operand[max_operands]{};
  for (int k = 0; k < node.operands; ++k) operand[k] = graph[node.operand[k]].type;
  return kernel_key(node.op, node.type, operand, node.operands, node.attributes, graph.program + node.program,
                    node.steps, node.parts);
}

/// True if the kernels of two nodes have equal keys.
template <int N>
constexpr bool same_kernel(const Graph<N>& graph, int a, int b) {
  const Node &x = graph[a], &y = graph[b];
  if (x.op->id != y.op->id || x.operands != y.operands || x.parts != y.parts || x.steps != y.steps ||
      !(x.type == y.type) || !(x.attributes == y.attributes))
    return false;
  for (int k = 0; k < x.operands; ++k)
    if (!(graph[x.operand[k]].type == graph[y.operand[k]].type)) return false;
  for (int i = 0; i < 2 * x.steps; ++i)
    if (graph.program[x.program + i] != graph.program[y.program + i]) return false;
  return true;
}

/// The integers among a kernel's template arguments, unpacked again.
struct Description {
  int operands = 0, parts = 0;
  TensorType result{}, operand[max_operands]{};
  Attributes attributes{};
};
constexpr Description describe(const int* word) {
  Description d;
  const auto read_type = [&](TensorType& t) {
    t.rank = *word / 16;
    t.dtype = static_cast<Dtype>(*word++ % 16);
    for (int axis = 0; axis < t.rank; ++axis) t.extent[axis] = *word++;
  };
  d.operands = *word % 8;
  d.parts = *word / 128;
  const int settings = *word++ / 8 % 16;
  read_type(d.result);
  for (int k = 0; k < d.operands; ++k) read_type(d.operand[k]);
  for (int i = 0; i < settings; ++i) d.attributes.word[i] = *word++;
  return d;
}

/// A list of operators.
template <class...>
struct Operators;

/// Fused steps without shapes, so that kernels which differ in shapes alone share the loop: of each step the operator,
/// and where its arguments come from (Step::packed_sources).
template <class Ops, int... Sources>
struct Steps;
template <class... Ops, int... Sources>
struct Steps<Operators<Ops...>, Sources...> {
  static constexpr int count = sizeof...(Ops);
  static constexpr int op[std::size_t(count)]{operator_id<Ops>...}, sources[std::size_t(count)]{Sources...};
  static constexpr Step at(int index) { return Step::unpack(op[index], sources[index]); }
};

namespace detail {
template <class Joined>
inline constexpr int step_count = 0;
template <class Ops, int... Sources>
inline constexpr int step_count<Steps<Ops, Sources...>> = sizeof...(Sources);
}  // namespace detail

/// What the kernel of an operator is instantiated with: `Call::result`, `Call::operand(k)`, `Call::config()`. `Joined`
/// is what is computed with it: Steps, the operator of an update, or void.
template <class Operator, class JoinedTo, int... Words>
struct Call {
  using Op = Operator;
  using Joined = JoinedTo;
  static constexpr int words[]{Words...};
  static constexpr Description description = describe(words);
  static constexpr TensorType result = description.result;
  static constexpr int operands = description.operands, parts = description.parts, steps = detail::step_count<Joined>;
  using Result = CppType<result.dtype>;
  template <int K>
  using Operand = CppType<description.operand[K].dtype>;
  static constexpr typename Op::Config settings = unpack<typename Op::Config>(description.attributes);
  // By reference: functions of the batch size read a number of a constant instead of building all of it first.
  static constexpr const TensorType& operand(int k) { return description.operand[k]; }
  static constexpr const typename Op::Config& config() { return settings; }
};

template <class C>
constexpr OperandTypes call_operands() {
  OperandTypes in;
  in.count = C::operands;
  for (int k = 0; k < in.count; ++k) in.type[k] = C::operand(k);
  return in;
}

namespace detail {
template <class C>
constexpr ResultTypes call_results() {
  Sentence none;
  return C::Op::shape(call_operands<C>(), C::config(), none);
}
}  // namespace detail
/// The type of result K of C.
template <class C, int K>
inline constexpr TensorType result_type_of = detail::call_results<C>()[K];
/// Whether some node reads result K of C, which is to be written then. The first result always is.
template <class C, int K>
inline constexpr bool has_result = K == 0 || (C::parts >> K & 1);
/// Where result K goes, if has_result<C, K>.
template <class C, int K>
TENON_DEVICE auto* result_of(const Arguments& a) {
  static_assert(has_result<C, K>, "no node reads this result: ask has_result<Call, k> before");
  if constexpr (K == 0) return a.template result<typename C::Result>();
  else return static_cast<CppType<result_type_of<C, K>.dtype>*>(a.buffer[Arguments::further_at(C::operands, K)]);
}

/// The same where the kernel is a part of unrolled code (run/unrolled.hpp): the batch size is 1, and the whole
/// call is done at once.
template <class C>
struct UnrolledCall : C {
  static constexpr bool unrolled = true;
};
template <class C>
inline constexpr bool is_unrolled = requires { C::unrolled; };

/// What computes the operator of C on a target.
template <class C, class Target = Cpu>
using KernelOf = FoundKernel<Target, typename C::Op>;

template <class C, class Target = Cpu>
constexpr KernelWork kernel_work(long n) {
  using K = KernelOf<C, Target>;
  if constexpr (requires { K::template work<C>(n); }) return K::template work<C>(n);
  else {
    KernelWork work;
    work.items = K::template items<C>(n);
    if constexpr (requires { K::template cost<C>(n); }) work.cost = K::template cost<C>(n);
    else if (work.items) work.cost = C::result.count(n) / work.items + 1;
    if constexpr (requires { K::template workspace<C>(n); }) work.workspace = aligned(K::template workspace<C>(n));
    return work;
  }
}

template <class C, class Target = Cpu>
constexpr KernelWork nchw16n_kernel_work(long n) {
  KernelWork work = KernelOf<C, Target>::template nchw16n_work<C>(n);
  work.workspace = aligned(work.workspace);
  return work;
}

/// The elements of an operand of C that are places in another tensor, where the operator has such.
template <class C>
inline constexpr IndexRange call_indices = C::Op::indices(call_operands<C>(), C::config());

/// The smallest batch that the call can work with, where the operator says so.
template <class C>
inline constexpr LeastBatch call_least_batch = C::Op::least_batch(call_operands<C>());

/// Where a kernel is called: in PyNative mode, which finds the kernels of other targets in the entry of the CPU; in a
/// graph that is compiled for its target; or in such a graph, but hardly ever. The last calls `run_rarely`, where a
/// kernel has it, which shares code with other calls instead of being as fast as possible.
enum class KernelUse { anywhere, in_graph, rarely };

namespace detail {
/// How many leading axes, at most `most`, are the same in all of a call that has a batch; 0 if NCHW16n may be in it.
constexpr int common_axes(const Description& d, int most) {
  TensorType model;
  bool found = false;
  for (int k = -1; k < d.operands; ++k) {
    const TensorType& t = k < 0 ? d.result : d.operand[k];
    if (is_image(t)) return 0;
    if (!t.batched()) continue;
    if (!found) model = t, found = true;
    if (t.rank < most) most = t.rank;
    for (int axis = 0; axis < most; ++axis)
      if (t.extent[axis] != model.extent[axis]) most = axis;
  }
  return found ? most : 0;
}
constexpr TensorType on_rows(const TensorType& t, int axes) {
  if (!t.batched()) return t;
  TensorType rows;
  rows.dtype = t.dtype;
  rows.extent[rows.rank++] = dyn;
  for (int axis = axes; axis < t.rank; ++axis) rows.extent[rows.rank++] = t.extent[axis];
  return rows;
}
template <class C, int axes>
struct KeyOnRows {
  static constexpr KernelKey make() {
    const Description& d = C::description;
    TensorType operand[max_operands]{};
    for (int k = 0; k < d.operands; ++k) operand[k] = on_rows(d.operand[k], axes);
    return kernel_key(&info<typename C::Op>, on_rows(d.result, axes), operand, d.operands, d.attributes, nullptr, 0,
                      d.parts);
  }
  static constexpr KernelKey value = make();
};
template <class C, class Key, std::size_t... I>
Call<typename C::Op, typename C::Joined, Key::value.word[I]...> call_on_rows(std::index_sequence<I...>);

/// [n, 64, 16] is [64 n, 16] in memory: the kernel of a call whose rows do not depend on each other takes the number of
/// rows when it runs, so that calls which differ in it alone, as those of buckets do, share its code. Such a kernel has
/// `row_axes<Call>()`, how many leading axes make the rows.
template <class C>
struct OnRows {
  using type = C;
  static constexpr long rows = 1;
};
template <class C>
constexpr int row_axes() {
  if constexpr (requires { KernelOf<C, Cpu>::template row_axes<C>(); }) {
    constexpr int axes = KernelOf<C, Cpu>::template row_axes<C>();
    return axes == 1 && (C::result.batched() ? C::result : C::operand(0)).extent[0] == dyn ? 0 : axes;
  } else return 0;
}
template <class C>
requires(row_axes<C>() > 0)
struct OnRows<C> {
  using type = decltype(call_on_rows<C, KeyOnRows<C, row_axes<C>()>>(
      std::make_index_sequence<std::size_t(KeyOnRows<C, row_axes<C>()>::value.arguments)>{}));
  static constexpr long count() {
    for (int k = -1; k < C::operands; ++k)
      if (const TensorType& t = k < 0 ? C::result : C::operand(k); t.batched()) return t.span(0, row_axes<C>());
    return 1;
  }
  static constexpr long rows = count();
};

constexpr LinearWork linear_between(const KernelWork& one, const KernelWork& two) {
  return {two.items - one.items, 2 * one.items - two.items, one.cost, one.workspace};
}

template <class C, class Entry, class... Others>
constexpr void put_entries(Entry& entry, TargetList<Others...>);
template <class C, class Target, KernelUse use>
constexpr KernelEntry make_kernel_entry() {
  using K = KernelOf<C, Target>;
  KernelEntry entry;
  constexpr bool by_rows = std::is_same_v<Target, Cpu> && use != KernelUse::rarely && row_axes<C>() > 0;
  using Rows = std::conditional_t<by_rows, typename OnRows<C>::type, C>;
  constexpr long rows = by_rows ? OnRows<C>::rows : 1;
  entry.rows = rows;
  if constexpr (use == KernelUse::rarely) entry.run = &K::template run_rarely<C>;
  else if constexpr (by_rows) entry.run = &K::template run<Rows>;
  else if constexpr (requires { K::template kernel<C>(); }) entry.run = K::template kernel<C>();
  else entry.run = &K::template run<C>;
  if constexpr (tenon::detail::HasIndices<typename C::Op>)
    if constexpr (call_indices<C>.any()) entry.indices = &call_indices<C>, entry.has_indices = true;
  if constexpr (tenon::detail::LimitsBatch<typename C::Op>)
    if constexpr (call_least_batch<C>.n > 1) entry.least_batch = &call_least_batch<C>;
#if defined(TENON_TARGET)
  entry.meets_ranks = requires { requires K::meets_ranks; };
#endif
  constexpr bool linear = requires { requires K::linear_work; };
  if constexpr (linear)
    entry.linear = linear_between(kernel_work<Rows, Target>(rows), kernel_work<Rows, Target>(2 * rows));
  else {
    entry.is_linear = false;
    if constexpr (requires { K::template work<Rows>(1); }) entry.work_of = &K::template work<Rows>;
    else entry.work_of = &kernel_work<Rows, Target>;
  }
  if constexpr (kernel_facts<K>().nchw16n != Nchw16n::never && requires { &K::template nchw16n_work<C>; }) {
    if constexpr (info<typename C::Op, Target>.fits_nchw16n(C::result, C::description.operand, C::operands)) {
      if constexpr (requires { requires K::template runs_alike<C>(); }) entry.run_nchw16n = entry.run;
      else entry.run_nchw16n = &K::template run_nchw16n<C>;
      if constexpr (linear)
        entry.nchw16n_linear = linear_between(nchw16n_kernel_work<C, Target>(block_samples),
                                              nchw16n_kernel_work<C, Target>(2 * block_samples));
      else entry.is_nchw16n_linear = false, entry.nchw16n_work_of = &nchw16n_kernel_work<C, Target>;
    }
  }
  if constexpr (several_targets && std::is_same_v<Target, Cpu> && use == KernelUse::anywhere)
    put_entries<C>(entry, OtherTargets());
  return entry;
}
}  // namespace detail
/// Whether a target has a kernel for the operator of C.
template <class C, class Target>
concept HasKernel = requires { sizeof(KernelOf<C, Target>); };

template <class C, class Target = Cpu, KernelUse use = KernelUse::anywhere>
inline constexpr KernelEntry kernel_entry = detail::make_kernel_entry<C, Target, use>();
namespace detail {
/// Null where the target has none: Compiled::sentence reports it.
template <class C, class Target, KernelUse use = KernelUse::anywhere>
constexpr const KernelEntry* entry_on() {
  if constexpr (HasKernel<C, Target>) return &kernel_entry<C, Target, use>;
  else return nullptr;
}
template <class C, class Entry, class... Others>
constexpr void put_entries(Entry& entry, TargetList<Others...>) {
  ((entry.elsewhere.on[int(target_id<Others>)] = entry_on<C, Others>()), ...);
}
}  // namespace detail

namespace detail {
template <class Key, std::size_t... I>
Found<Steps<Operators<OperatorById<Key::value.step_op(I)>...>, Key::value.step_sources(I)...>> steps_from(
    std::index_sequence<I...>);
// Functions, because nvcc writes the name of a type as it found it: one after the key would be of no use to it.
template <class Key>
constexpr auto joined_to() {
  if constexpr (constexpr int steps = Key::value.steps(); steps > 0)
    return decltype(steps_from<Key>(std::make_index_sequence<std::size_t(steps)>{})){};
  else if constexpr (Key::value.update() != 0) return Found<OperatorById<Key::value.update()>>{};
  else return Found<void>{};
}
template <class Key, std::size_t... I>
Call<OperatorById<Key::value.op()>, typename decltype(joined_to<Key>())::type, Key::value.word[I]...> call_from(
    std::index_sequence<I...>);
}  // namespace detail

namespace detail {
/// The key of kernel K of a graph: Tag has `graph`, and `kernels`, its KernelIndex (lowering/index.hpp).
template <class Tag, int K>
struct KeyAt {
  static constexpr KernelKey value = kernel_key(Tag::graph, Tag::kernels.node[K]);
};
}  // namespace detail

/// The Call of a key; Key has `static constexpr KernelKey value`.
template <class Key>
using CallOf = decltype(detail::call_from<Key>(std::make_index_sequence<std::size_t(Key::value.arguments)>{}));

namespace detail {
template <class C>
struct KeyWithoutSteps {
  static constexpr KernelKey value =
      kernel_key(&info<typename C::Op>, C::result, C::description.operand, C::Op::operands_before_epilogue,
                 C::description.attributes, nullptr, 0, C::parts);
};
}  // namespace detail
/// The call C without its epilogue.
template <class C>
using WithoutSteps = CallOf<detail::KeyWithoutSteps<C>>;

}  // namespace tenon
