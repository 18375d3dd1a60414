// A function with a gradient that the caller writes: custom_gradient.
#pragma once
#include <tuple>

#include <tenon/ops/accumulate.hpp>
#include <tenon/run/no_grad.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Nodes name this type instead of CustomGradient<...>, because clang gives different lambdas of a template the same
/// name. A view has no kernel, so nobody looks for one by this name.
struct AnyCustomGradient;

/// The value of a function (operand 0) with the gradients of its arguments (the further operands) that Backward
/// computes. A view. Y and X are types of the result and of the arguments. Not for users.
template <class Backward, class Y, class... X>
struct CustomGradient : Operator<CustomGradient<Backward, Y, X...>, "CustomGradient"> {
  static_assert(sizeof...(X) < max_operands, "custom_gradient: a function takes 5 arguments at most");
  static constexpr bool view = true;
  static constexpr int id = operator_id<AnyCustomGradient>;
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  static constexpr void derivative(Derivative& d) { of_arguments(d, std::index_sequence_for<X...>{}); }

 private:
  template <std::size_t... I>
  static constexpr void of_arguments(Derivative& d, std::index_sequence<I...>) {
    Builder& b = d.builder();
    d.no_gradient(0);
    const auto gradients = Backward{}(X(&b, d.operand(int(I) + 1))..., Y(&b, d.result()), Y(&b, d.gradient()));
    if constexpr (sizeof...(X) == 1) flow<X...>(d, 1, gradients);
    else {
      static_assert(std::tuple_size_v<std::remove_const_t<decltype(gradients)>> == sizeof...(X),
                    "custom_gradient: the gradient function returns a std::tuple with a gradient for each argument, "
                    "None{} for one that has none");
      (flow<X>(d, int(I) + 1, std::get<I>(gradients)), ...);
    }
  }
  template <class Argument, class G>
  static constexpr void flow(Derivative& d, int operand, const G& gradient) {
    if constexpr (!std::is_same_v<G, None> && !is_broken<G>) {
      static_assert(G::dims == Argument::dims,
                    "custom_gradient: a gradient has the dtype and the shape of its argument");
      d.flows_to(operand, gradient.id);
    } else d.no_gradient(operand);
  }
};

/// A function with its gradient. Made by custom_gradient().
template <class F, class Backward>
struct WithGradient {
  [[no_unique_address]] F f{};

  template <Operand... X>
  constexpr auto operator()(const X&... x) const {
    const std::source_location at = std::source_location::current();
    if constexpr ((tenon::detail::is_traced<X> || ...) || (is_broken<X> || ...))
      return attach(at, f(argument(x)...), x...);
    else {
      const auto value = [&] {
        const eager::NoGrad no_recording;
        return f(argument(x)...);
      }();
      return attach(at, value, x...);
    }
  }

 private:
  // A parameter cannot be copied, but f may take its arguments by value.
  template <class V>
  static constexpr decltype(auto) argument(const V& x) {
    if constexpr (AnyParameter<V>) return ParameterView<V, typename V::shape>(x);
    else return (x);
  }
  template <class Key>
  using ValueOf = Traced<typename Key::type, typename Key::shape>;
  template <class V, Dtype half = Dtype::float32>  // beside 16-bit floats a float32 parameter has their dtype
  using Seen = ValueOf<typename tenon::detail::KeyBeside<half, V>::type>;
  template <class V, class... X>
  static constexpr auto attach(const std::source_location& at, const V& value, const X&... x) {
    if constexpr (is_broken<V> || (is_broken<X> || ...)) return value;
    else {
      constexpr Dtype half = tenon::detail::parameters_as<CustomGradient<Backward, Seen<V>>, V, X...>();
      return apply<CustomGradient<Backward, Seen<V>, Seen<X, half>...>>(at, value, x...);
    }
  }
};

/// A function whose gradient is not that of its operators:
///
///     constexpr auto reversed = custom_gradient([](auto x) { return x; },
///                                               [](auto x, auto y, auto dy) { return -dy; });
///
/// f          a function of up to 5 tensors or parameters that returns a tensor. What else it uses gets no gradient
///            from it
/// backward   a lambda that captures nothing: from the arguments, the result y, and the gradient dy of y to the
///            gradient of the argument; of several arguments to a std::tuple of gradients, None{} for one without any
/// result     a function, for use in both modes; it can be differentiated as often as `backward` can
/// Source: MindSpore's bprop of a Cell, PyTorch's autograd.Function
template <class F, class Backward>
constexpr auto custom_gradient(F f, Backward) {
  static_assert(std::is_empty_v<Backward>,
                "custom_gradient: the gradient function captures nothing; hand what it needs in as arguments");
  return WithGradient<F, Backward>{f};
}

}  // namespace tenon::ops

namespace tenon::inline TENON_ABI {
using ops::custom_gradient;

template <class Backward, class Y, class... X>
struct Kernel<Cpu, ops::CustomGradient<Backward, Y, X...>> {
  static constexpr KernelFacts facts{.nchw16n = Nchw16n::follows};  // no kernel runs: the layout is that of the value
};
}  // namespace tenon
