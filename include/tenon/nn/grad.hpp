// Gradients of functions with respect to their arguments: grad(f), value_and_grad(f).
#pragma once
#include <tuple>

#include <tenon/nn/cell.hpp>
#include <tenon/nn/jit.hpp>

namespace tenon::inline TENON_ABI {

template <class F, bool with_value, int... Positions>
struct Gradient;

namespace detail {

template <class F>
inline constexpr bool is_gradient = false;
template <class F, bool v, int... P>
inline constexpr bool is_gradient<Gradient<F, v, P...>> = true;
template <class F, bool v, int... P>  // the tape has no second order
inline constexpr bool only_compiled<Gradient<F, v, P...>> = is_gradient<F> && std::is_empty_v<F>;

template <int I, class... X>
constexpr const auto& nth(const X&... x) {
  return std::get<I>(std::tie(x...));
}

// One gradient is returned as itself, several as a tuple.
template <class G>
constexpr G one_or_tuple(G g) {
  return g;
}
template <class... G>
requires(sizeof...(G) > 1)
constexpr auto one_or_tuple(G... g) {
  return std::tuple<G...>(std::move(g)...);
}

/// f(x...) in a trace, as a function whose gradient is taken.
template <class F, class... X>
constexpr auto value_inside(const F& f, const X&... x) {
  Builder& b = *builder_among(x...);
  b.nested_gradient |= b.gradient_depth > 0;
  ++b.gradient_depth;
  const auto value = f(x...);
  --b.gradient_depth;
  return value;
}
/// Appends the backward pass of `value` to the trace; `x` are the arguments as f saw them.
template <class V, class... X>
constexpr auto traced_gradients(const V& value, const X&... x) {
  Builder& b = *value.builder;
  b.inner_gradient = true;
  std::vector<int> wanted(b.nodes.size(), 0);
  ((wanted[std::size_t(x.id)] = 2), ...);
  int seed = b.constant(V::dims.dtype, 1);
  if (V::dims.rank > 0) seed = b.template call<ops::BroadcastTo>(ops::SumTo::to(V::dims), seed);
  const std::vector<int> gradient = backward(b, value.id, seed, wanted);
  const auto node = [&](const auto& v) {
    const int id = std::size_t(v.id) < gradient.size() ? gradient[std::size_t(v.id)] : -1;
    using T = std::remove_cvref_t<decltype(v)>;
    if (id >= 0) return T(&b, id);
    const int zero = b.constant(T::dims.dtype, 0);
    return T(&b, T::dims.rank ? b.template call<ops::BroadcastTo>(ops::SumTo::to(T::dims), zero) : zero);
  };
  return one_or_tuple(node(x)...);
}
[[gnu::cold]] inline RuntimeError lost_gradient() {
  return RuntimeError("grad inside of grad or of a network that a tape records would lose the outer gradient: write it "
                      "in the construct of a cell, where a Model and a call of the cell compile it, or make one graph "
                      "of it, jit(step, net, optimizer) or jit(grad(grad(f))), with functions that capture nothing.");
}
/// The gradients of f(x...) at Positions, after the value if it is wanted. `backward(tape, value)` starts the backward
/// pass.
template <bool with_value, int... Positions, class F, class Backward, class... X>
auto taped_gradients(const F& f, Backward backward, const X&... x) {
  const FlushDenormals flush;
  eager::Tape tape;
  (tape.watch(nth<Positions>(x...)), ...);
  auto value = f(x...);
  const bool lost_outer = tape.hides_outer();
  tape.pause();
  if (lost_outer) throw lost_gradient();
  if constexpr (is_broken<decltype(value)>) return value;  // after a mistake, in nvcc's front end
  else {
    if (tape.variable(value) >= 0) backward(tape, value);  // else all gradients are zero, as in a graph
    auto gradients = one_or_tuple(tape.gradient(nth<Positions>(x...))...);
    if constexpr (with_value) return std::tuple(std::move(value), std::move(gradients));
    else return gradients;
  }
}
}  // namespace detail

/// A function's gradient as a function. Made by grad() and value_and_grad().
template <class F, bool with_value, int... Positions>
struct Gradient {
  [[no_unique_address]] F f{};

  template <class... X>
  constexpr auto operator()(const X&... x) const {
    constexpr bool on_tensors = (ops::Operand<X> && ...);
    static_assert(on_tensors, "grad: the function is called with tensors: grad(f)(Tensor<double, Shape<>>::full(3.0))");
    static_assert(((Positions >= 0 && Positions < int(sizeof...(X))) && ...),
                  "grad: there is no argument at this position; they count from 0");
    if constexpr (!on_tensors || (is_broken<X> || ...)) return Broken{};
    else if constexpr ((detail::is_traced<X> || ...)) return traced(isolated<X>(x)...);
    else if (const eager::Tape* outer = eager::Tape::active(); outer && ((outer->variable(x) >= 0) || ...))
      throw detail::lost_gradient();
    else if constexpr (detail::only_compiled<Gradient>) return jit(*this)(x...);
    else  // copies: one tensor given twice is two variables
      return detail::taped_gradients<with_value, Positions...>(
          f, [](eager::Tape& tape, const auto& value) { tape.backward(value); }, X(x)...);
  }

 private:
  // A copy of the argument, so that only what f does with it counts, not what the caller did.
  template <class X>
  static constexpr auto isolated(const X& x) {
    if constexpr (detail::is_traced<X>) return ops::identity(x);
    else return x;
  }
  template <class... X>
  constexpr auto traced(const X&... x) const {
    const auto value = detail::value_inside(f, x...);
    if constexpr (is_broken<decltype(value)>) return value;
    else {
      const auto gradients = detail::traced_gradients(value, detail::nth<Positions>(x...)...);
      if constexpr (with_value) return std::tuple(value, gradients);
      else return gradients;
    }
  }
};

/// The gradient of f with respect to its arguments at Positions (default: the first): `grad(f)(x)`, `grad<0, 1>(f)(x,
/// y)`.
///
/// f        any callable of tensors that returns one tensor; a gradient of a tensor with several elements is that of
///          their sum
/// result   the gradient, or a tuple of gradients
/// Second order: grad(grad(f)) of a function without captures is traced and compiled. If a network or a loss calls grad
/// (gradient penalties), the whole training step of a Model is traced and compiled, also in PyNative mode. Source:
/// MindSpore's ops.grad / GradOperation
template <int... Positions, class F>
constexpr auto grad(F f) {
  constexpr bool of_function = !ops::Operand<F>;
  static_assert(of_function, "grad takes a function, and gives one: grad(f)(x)");
  if constexpr (sizeof...(Positions) == 0) return Gradient<F, false, 0>{f};
  else return Gradient<F, false, Positions...>{f};
}
/// The same, with the value first: `auto [loss, gradient] = value_and_grad(f)(x);`
template <int... Positions, class F>
constexpr auto value_and_grad(F f) {
  constexpr bool of_function = !ops::Operand<F>;
  static_assert(of_function, "value_and_grad takes a function, and gives one: value_and_grad(f)(x)");
  if constexpr (sizeof...(Positions) == 0) return Gradient<F, true, 0>{f};
  else return Gradient<F, true, Positions...>{f};
}

}  // namespace tenon
