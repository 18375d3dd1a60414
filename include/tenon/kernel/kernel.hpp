// A kernel is an operator at given shapes. Its template arguments are plain integers: that keeps symbols short, and
// nvcc takes them for a __global__ function, which it refuses for class-type arguments.
#pragma once
#include <utility>

#include <tenon/core/arena.hpp>
#include <tenon/core/parallel.hpp>
#include <tenon/core/storage.hpp>
#include <tenon/graph/kernel_entry.hpp>
#include <tenon/graph/step.hpp>

namespace tenon::inline TENON_ABI {

/// The integers that identify a kernel: operator, types of result and operands, settings, fused steps.
struct KernelKey {
  static constexpr int capacity = 1 + (max_operands + 1) * (max_rank + 1) + max_attributes + 1 + 2 * max_steps;
  int word[capacity]{};
  int length = 0;

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
};

constexpr KernelKey kernel_key(const OperatorInfo* op, const TensorType& result, const TensorType* operand,
                               int operands, const Attributes& attributes, const int* program = nullptr,
                               int steps = 0) {
  KernelKey key;
  key.put(op->id * 8 + operands);
  key.put(result);
  for (int k = 0; k < operands; ++k) key.put(operand[k]);
  int settings = max_attributes;
  while (settings && !attributes.word[settings - 1]) --settings;
  key.put(steps * 16 + settings);
  for (int i = 0; i < settings; ++i) key.put(attributes.word[i]);
  for (int i = 0; i < 2 * steps; ++i) key.put(program[i]);
  return key;
}
template <int N>
constexpr KernelKey kernel_key(const Graph<N>& graph, int id) {
  const Node& node = graph[id];
  TensorType operand[max_operands]{};
  for (int k = 0; k < node.operands; ++k) operand[k] = graph[node.operand[k]].type;
  return kernel_key(node.op, node.type, operand, node.operands, node.attributes, graph.program + node.program,
                    node.steps);
}

/// A kernel's key, unpacked again.
struct Description {
  int id = 0, operands = 0, steps = 0;
  TensorType result{}, operand[max_operands]{};
  Attributes attributes{};
  int program[2 * max_steps]{};
};
constexpr Description describe(const int* word) {
  Description d;
  const auto read_type = [&](TensorType& t) {
    t.rank = *word / 16;
    t.dtype = static_cast<Dtype>(*word++ % 16);
    for (int axis = 0; axis < t.rank; ++axis) t.extent[axis] = *word++;
  };
  d.id = *word / 8;
  d.operands = *word++ % 8;
  read_type(d.result);
  for (int k = 0; k < d.operands; ++k) read_type(d.operand[k]);
  const int settings = *word % 16;
  d.steps = *word++ / 16;
  for (int i = 0; i < settings; ++i) d.attributes.word[i] = *word++;
  for (int i = 0; i < 2 * d.steps; ++i) d.program[i] = *word++;
  return d;
}

/// What the kernel of an operator is instantiated with: `Call::result`, `Call::operand(k)`, `Call::config()`.
template <int... Words>
struct Call {
  static constexpr int words[]{Words...};
  static constexpr Description description = describe(words);
  static constexpr TensorType result = description.result;
  static constexpr int operands = description.operands;
  using Op = OperatorById<description.id>;
  using Result = CppType<result.dtype>;
  template <int K>
  using Operand = CppType<description.operand[K].dtype>;
  static constexpr typename Op::Config settings = unpack<typename Op::Config>(description.attributes);
  // By reference: functions of the batch size read a number of a constant instead of building all of it first.
  static constexpr const TensorType& operand(int k) { return description.operand[k]; }
  static constexpr const typename Op::Config& config() { return settings; }
};

/// The same where the kernel is a part of straight code (kernel/straight.hpp): the batch size is 1, and the whole call
/// is done at once.
template <class C>
struct StraightCall : C {
  static constexpr bool straight = true;
};
template <class C>
inline constexpr bool is_straight = requires { C::straight; };

template <class C>
constexpr KernelWork kernel_work(long n) {
  if constexpr (requires { C::Op::template work<C>(n); }) return C::Op::template work<C>(n);
  else {
    KernelWork work;
    work.items = C::Op::template items<C>(n);
    if constexpr (requires { C::Op::template cost<C>(n); }) work.cost = C::Op::template cost<C>(n);
    else if (work.items) work.cost = C::result.count(n) / work.items + 1;
    if constexpr (requires { C::Op::template workspace<C>(n); })
      work.workspace = aligned(C::Op::template workspace<C>(n));
    return work;
  }
}

TENON_EXACT_BEGIN
template <class C>
void run_kernel(const Arguments& arguments, long begin, long end) {
  C::Op::template run<C>(arguments, begin, end);
}
template <class C>
void run_block_kernel(const Arguments& arguments, long begin, long end) {
  C::Op::template run_blocks<C>(arguments, begin, end);
}
TENON_EXACT_END

template <class C>
constexpr KernelWork block_kernel_work(long n) {
  KernelWork work = C::Op::template block_work<C>(n);
  work.workspace = aligned(work.workspace);
  return work;
}

template <class C>
constexpr OperandTypes call_operands() {
  OperandTypes in;
  in.count = C::operands;
  for (int k = 0; k < in.count; ++k) in.type[k] = C::operand(k);
  return in;
}
/// The elements of an operand of C that are places in another tensor, where the operator has such.
template <class C>
inline constexpr IndexRange call_indices = C::Op::indices(call_operands<C>(), C::config());

/// The smallest batch that the call can work with, where the operator says so.
template <class C>
inline constexpr LeastBatch call_least_batch = C::Op::least_batch(call_operands<C>());

namespace detail {
constexpr LinearWork linear_between(const KernelWork& one, const KernelWork& two) {
  return {two.items - one.items, 2 * one.items - two.items, one.cost, one.workspace};
}

template <class C>
constexpr KernelEntry make_kernel_entry() {
  KernelEntry entry;
  if constexpr (requires { C::Op::template kernel<C>(); }) entry.run = C::Op::template kernel<C>();
  else entry.run = &run_kernel<C>;
  if constexpr (requires { &C::Op::indices; })
    if constexpr (call_indices<C>.operand >= 0) entry.indices = &call_indices<C>;
  if constexpr (requires { &C::Op::least_batch; })
    if constexpr (call_least_batch<C>.n > 1) entry.least_batch = &call_least_batch<C>;
  constexpr bool linear = requires { requires C::Op::linear_work; };
  if constexpr (linear) entry.linear = linear_between(kernel_work<C>(1), kernel_work<C>(2));
  else entry.work_of = &kernel_work<C>;
  if constexpr (C::Op::blocks != InBlocks::never) {
    if constexpr (C::Op::fits_blocks(C::result, C::description.operand, C::operands)) {
      if constexpr (requires { requires C::Op::template runs_alike<C>(); }) entry.run_blocks = entry.run;
      else entry.run_blocks = &run_block_kernel<C>;
      if constexpr (linear)
        entry.block_linear =
            linear_between(block_kernel_work<C>(block_samples), block_kernel_work<C>(2 * block_samples));
      else entry.block_work_of = &block_kernel_work<C>;
    }
  }
  return entry;
}
}  // namespace detail
template <class C>
inline constexpr KernelEntry kernel_entry = detail::make_kernel_entry<C>();

namespace detail {
template <class Key, std::size_t... I>
Call<Key::value.word[I]...> call_from(std::index_sequence<I...>);
}  // namespace detail

/// The Call of a key; Key has `static constexpr KernelKey value`.
template <class Key>
using CallOf = decltype(detail::call_from<Key>(std::make_index_sequence<std::size_t(Key::value.length)>{}));

/// Scratch memory per thread for kernels called outside a plan; grows, never shrinks.
inline std::byte* thread_workspace(long bytes) {
  thread_local Storage scratch;
  thread_local long size = 0;
  if (bytes > size) {
    scratch = Storage(static_cast<std::size_t>(bytes));  // throws before the old one goes
    size = bytes;
  }
  return scratch.data();
}

/// Runs a kernel on all its items, shared between threads if that pays.
inline void launch(void (*run)(const Arguments&, long, long), const Arguments& arguments, const KernelWork& work) {
  // the usual small call: nothing to share, nothing to prepare
  if (work.items * work.cost <= cost_per_thread && !work.workspace) {
    if (work.items) run(arguments, 0, work.items);
    return;
  }
  parallel_for(work.items, cost_per_thread / (work.cost + 1) + 1, [&](long begin, long end) {
    Arguments own = arguments;
    if (work.workspace) own.workspace = thread_workspace(work.workspace);
    run(own, begin, end);
  });
}
inline void launch(const KernelEntry& kernel, const Arguments& arguments) {
  launch(kernel.run, arguments, kernel.work(arguments.n));
}

}  // namespace tenon
