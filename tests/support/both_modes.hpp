// One function, run operator by operator and as compiled graphs with and without passes: all bits must be equal.
#pragma once
#include <cmath>
#include <initializer_list>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include <tenon/call/apply.hpp>
#include <tenon/core/float/denormals.hpp>
#include <tenon/core/text/report.hpp>
#include <tenon/ops/broadcast_to.hpp>
#include <tenon/ops/structural.hpp>
#include <tenon/run/executor_here.hpp>

#include "bits_of_cpu.hpp"
#include "tensors.hpp"

namespace support {

/// What a function gave: its result, and the gradient of sum(result * weight) for each operand (zeros where none
/// flows).
template <class Result, class... X>
struct Outcome {
  Result result;
  std::tuple<X...> gradient;
};

/// How both_modes compares: bit for bit, or so that NaN equals NaN, whose sign and payload no instruction set promises.
struct SameBits {
  bool operator()(const auto& a, const auto& b) const { return same_bits(a, b); }
};
struct SameNumbers {
  bool operator()(const auto& a, const auto& b) const {
    using T = typename std::remove_cvref_t<decltype(a)>::type;
    bool same = a.count() == b.count();
    for (long i = 0; same && i < a.count(); ++i) {
      const T x = a.data()[i], y = b.data()[i];
      same = std::memcmp(&x, &y, sizeof x) == 0 || (x != x && y != y);
    }
    return same;
  }
};

namespace detail {

template <class F, class Keys>
struct FunctionResult;
template <class F, class... Keys>
struct FunctionResult<F, std::tuple<Keys...>> {
  using type = decltype(F{}(std::declval<const tenon::Traced<typename Keys::type, typename Keys::shape>&>()...));
};

/// The graph of f(x...) and, for a floating-point result, of its gradients for the floating-point operands.
template <class F, class... Keys>
struct FunctionSource {
  static constexpr const tenon::Entry* entries = nullptr;
  using Result = typename FunctionResult<F, std::tuple<Keys...>>::type;

  static constexpr tenon::Builder trace() {
    tenon::Builder b;
    trace_operands(b, std::index_sequence_for<Keys...>{});
    return b;
  }
  template <std::size_t... I>
  static constexpr void trace_operands(tenon::Builder& b, std::index_sequence<I...>) {
    // Leaves get the numbers 0, 1, ... only in a braced list, whose order is fixed.
    const std::tuple<tenon::Traced<typename Keys::type, typename Keys::shape>...> x{
        {&b, b.leaf(&tenon::info<tenon::ops::Input>, Keys::value, I)}...};
    const Result y = F{}(std::get<I>(x)...);
    if constexpr (!tenon::is_broken<Result>) {
      b.outputs.push_back(y.id);
      if constexpr (is_floating_tensor<Result>) {
        const int seed = b.leaf(&tenon::info<tenon::ops::Input>, Result::dims, sizeof...(Keys));
        std::vector<int> wanted{tenon::is_floating(Keys::value.dtype)...};
        const std::vector<int> gradient = tenon::backward(b, y.id, seed, wanted);
        (output_gradient<Keys>(b, gradient[I]), ...);
      }
    }
  }
  template <class Key>
  static constexpr void output_gradient(tenon::Builder& b, int gradient) {
    if (!tenon::is_floating(Key::value.dtype)) return;
    b.outputs.push_back(gradient >= 0 ? gradient
                                      : b.call<tenon::ops::BroadcastTo>(tenon::ops::SumTo::to(Key::value),
                                                                        b.constant(Key::value.dtype, 0)));
  }
};

/// Memory of a tensor that run_program fills.
struct Filled {
  void* data;
  std::size_t bytes;
  bool floating;
};
/// Runs a program, and copies its outputs: the first, then one for each floating-point tensor, as long as there are
/// some. The others are filled with zeros. What is no template here and below is compiled once for all cases of a test.
[[gnu::noinline]] inline void run_program(const tenon::Program& program, const void* const* inputs, long n,
                                          std::initializer_list<Filled> outputs) {
  tenon::Executor executor(program);
  executor.run(inputs, n);
  int k = 0;
  for (const Filled& to : outputs)
    if (k == 0 || (to.floating && k < program.outputs)) std::memcpy(to.data, executor.output(k++), to.bytes);
    else std::memset(to.data, 0, to.bytes);
}
/// The same with the items of each kernel shared between three threads, however little work they are.
[[gnu::noinline]] inline void run_shared(const tenon::Program& program, const void* const* inputs, long n,
                                         std::initializer_list<Filled> outputs) {
  std::vector<tenon::Instruction> instructions(program.instruction, program.instruction + program.instructions);
  std::vector<tenon::KernelEntry> kernels(instructions.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const tenon::KernelWork work = instructions[i].kernel->work(n);
    kernels[i] = *instructions[i].kernel;
    kernels[i].is_linear = true;
    kernels[i].linear = {0, work.items, tenon::cost_per_thread, work.workspace};
    instructions[i].kernel = &kernels[i];
  }
  tenon::Program shared = program;
  shared.instruction = instructions.data();
  const tenon::ContextScope scope({.num_threads = 3});
  run_program(shared, inputs, n, outputs);
}
template <class V>
Filled filled(V& value, long n) {
  return {value.data(), std::size_t(V::dims.bytes(n)), is_floating_tensor<V>};
}

template <class Compiled, auto* run, class Result, class... X, std::size_t... I>
Outcome<Result, X...> run_graph_of(std::index_sequence<I...>, const Result& weight, const X&... x) {
  const long n = batch_size(x...);
  Outcome<Result, X...> outcome{Result::empty(n), std::tuple<X...>{X::empty(n)...}};
  const void* inputs[]{x.data()..., weight.data()};
  run(Compiled::program, inputs, n, {filled(outcome.result, n), filled(std::get<I>(outcome.gradient), n)...});
  return outcome;
}
template <class Compiled, auto* run = &run_program, class Result, class... X>
Outcome<Result, X...> run_graph(const Result& weight, const X&... x) {
  return run_graph_of<Compiled, run>(std::index_sequence_for<X...>{}, weight, x...);
}

[[gnu::noinline]] inline void check_equal(bool equal, const char* otherwise) {
  CHECK_MESSAGE(equal, std::string(otherwise));  // doctest writes the address of a const char*
}

template <class F, class... X, std::size_t... I>
auto run_eager(const F& f, std::index_sequence<I...>, const X&... given) {
  const tenon::FlushDenormals flush;
  auto x = std::make_tuple(given.copy()...);
  tenon::eager::Tape tape;
  const auto watch = [&](const auto& value) {
    if constexpr (is_floating_tensor<decltype(value)>) tape.watch(value);
  };
  (watch(std::get<I>(x)), ...);
  const auto y = f(std::get<I>(x)...);
  using Result = std::remove_cvref_t<decltype(y)>;
  if constexpr (is_floating_tensor<Result>)
    if (tape.variable(y) >= 0)
      tape.backward(y, random_tensor<typename Result::type, typename Result::shape_type>(815, -1, 1, y.n()));
  return Outcome<Result, X...>{y, std::tuple<X...>{tape.gradient(std::get<I>(x))...}};
}

/// How the second target of a program is compared with the CPU: it may add up in another order and in a wider type.
/// Differences count in parts of the largest number of a tensor.
template <class T>
inline constexpr double near_enough = sizeof(T) == 8   ? 1e-12
                                      : sizeof(T) == 4 ? 2e-5
                                                       : 2e-2;
[[gnu::noinline]] inline bool check_near(double worst, double largest, double bound) {
  CAPTURE(worst);
  CAPTURE(largest);
  const bool near = worst <= bound * std::fmax(largest, 1e-3);
  CHECK(near);
  return near;
}
template <class T>
[[gnu::noinline]] bool check_near(std::span<const T> a, std::span<const T> b) {
  double largest = 0, worst = 0;
  if (a.size() != b.size()) worst = INFINITY;
  for (std::size_t i = 0; worst < INFINITY && i < a.size(); ++i) {
    const double x = double(a[i]), y = double(b[i]);
    if (x == y || (x != x && y != y)) continue;
    worst = std::isfinite(x) && std::isfinite(y) ? std::fmax(worst, std::fabs(x - y)) : INFINITY;
  }
  for (const T& element : a)
    if (const double x = std::fabs(double(element)); std::isfinite(x)) largest = std::fmax(largest, x);
  return check_near(worst, largest, near_enough<T>);
}
struct Near {
  bool operator()(const auto& a, const auto& b) const {
    using T = typename std::remove_cvref_t<decltype(a)>::type;
    if constexpr (tenon::is_floating(tenon::dtype_of<T>)) return check_near<T>(a.values(), b.values());
    else return same_bits(a, b);
  }
};

/// How a target that promises the bits of the CPU is compared. On a GPU exp, log, pow, tanh, and erfc of float64
/// are those of CUDA's library, which rounds in another way now and then; the emulator has the CPU's.
struct SameThere {
  bool operator()(const auto& a, const auto& b) const {
#if defined(__CUDACC__)
    using T = typename std::remove_cvref_t<decltype(a)>::type;
    if constexpr (std::is_same_v<T, double>) return Near()(a, b);
#endif
    return SameNumbers()(a, b);
  }
};

template <class Same, class Outcome, std::size_t... I>
bool equal_outcomes(const Outcome& a, const Outcome& b, std::index_sequence<I...>) {
  return Same()(a.result, b.result) && (Same()(std::get<I>(a.gradient), std::get<I>(b.gradient)) && ...);
}

#if defined(TENON_TARGET)
/// Runs the same on the second target, in both modes.
template <class Same, class Graph, class F, class Outcome, class Weight, class Operands, class... X>
void check_other_target(const F& f, const Outcome& cpu, const Weight& weight, Operands operands, const X&... x) {
  const tenon::ContextScope scope({.device_target = tenon::OtherTarget::name});
  const auto eager = run_eager(f, operands, x...);
  const auto compiled = run_graph<typename Graph::template On<tenon::OtherTarget>>(weight, x...);
  using Close = std::conditional_t<has_bits_of_cpu<tenon::OtherTarget>, SameThere, Near>;
  check_equal(equal_outcomes<Close>(cpu, eager, operands), "the CPU and the other target differ");
  check_equal(equal_outcomes<Same>(eager, compiled, operands),
              "PyNative mode and graph mode of the other target differ");
}
#else
/// Runs the same as graphs of the CPU.
template <class Same, class Source, class Outcome, class Weight, class Operands, class... X>
void check_graphs(const Outcome& eager, const Weight& weight, Operands operands, const X&... x) {
  using Plain = tenon::Compiled<Source, tenon::no_passes>;
  const auto fused = run_graph<tenon::Compiled<Source>>(weight, x...);
  const auto plain = run_graph<Plain>(weight, x...);
  check_equal(equal_outcomes<Same>(eager, fused, operands), "PyNative mode and graph mode differ");
  check_equal(equal_outcomes<Same>(fused, plain, operands), "the graph with passes and the one without differ");
  const auto shared = run_graph<Plain, &run_shared>(weight, x...);
  check_equal(equal_outcomes<Same>(plain, shared, operands),
              "the result depends on how a kernel's items are shared between threads");
}
#endif

}  // namespace detail

/// True if a node of the graph calls Op.
template <class Op, int N>
constexpr bool has(const tenon::Graph<N>& graph) {
  for (int id = 0; id < graph.count; ++id)
    if (tenon::is<Op>(graph[id])) return true;
  return false;
}

/// Runs f(x...) and its gradients eagerly, as a graph with all passes, as one with none, and with three threads
/// for each kernel; checks that result and gradients agree bit for bit, and returns them. f is generic and captures
/// nothing. In a program with a second target, whose tests are those of another
/// program again or have their like in tests/ops, it compares that target in both modes with the CPU's PyNative mode.
template <class Same = SameBits, class F, class... X>
auto both_modes(const F& f, const X&... x) {
  constexpr auto operands = std::index_sequence_for<X...>{};
  using Source = detail::FunctionSource<F, typename tenon::detail::KeyFor<X>::type...>;
  using Graph = tenon::Compiled<Source>;
  const auto eager = detail::run_eager(f, operands, x...);
  if constexpr (!Graph::ok) tenon::report<Graph>();
  else {
    using Result = std::remove_cvref_t<decltype(eager.result)>;
    const Result weight =
        random_tensor<typename Result::type, typename Result::shape_type>(815, -1, 1, eager.result.n());
#if defined(TENON_TARGET)
    detail::check_other_target<Same, Graph>(f, eager, weight, operands, x...);
#else
    detail::check_graphs<Same, Source>(eager, weight, operands, x...);
#endif
  }
  return eager;
}

}  // namespace support
