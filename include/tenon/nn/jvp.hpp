// Products with the Jacobian of a function: jvp along a direction of the arguments, vjp with gradients of the results.
#pragma once
#include <tenon/nn/grad.hpp>

namespace tenon::inline TENON_ABI {

template <class F, int... Positions>
struct Tangent;

namespace detail {

template <class F, int... P>  // the tape records no derivative of a derivative
inline constexpr bool only_compiled<Tangent<F, P...>> = true;

// Results of a function, or its arguments: always as a tuple.
template <class V>
constexpr std::tuple<V> as_tuple(const V& v) {
  return std::tuple<V>(v);
}
template <class... V>
constexpr std::tuple<V...> as_tuple(const std::tuple<V...>& v) {
  return v;
}
/// `count` members of a tuple from `first` on: one as itself, several as a tuple.
template <std::size_t first, std::size_t count, class Tuple>
constexpr auto slice_of(const Tuple& all) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return one_or_tuple(std::get<first + I>(all)...);
  }(std::make_index_sequence<count>{});
}
template <class V>
inline constexpr bool any_broken = is_broken<V>;
template <class... V>
inline constexpr bool any_broken<std::tuple<V...>> = (is_broken<V> || ...);
template <class Tuple>
constexpr std::vector<int> nodes_of(const Tuple& values) {
  return std::apply([](const auto&... v) { return std::vector<int>{v.id...}; }, values);
}
template <class... V>
constexpr std::tuple<V...> traced_zeros(Builder& b, const std::tuple<V...>&) {
  const auto zeros = [&]<class T>(std::type_identity<T>) {
    const int zero = b.constant(T::dims.dtype, 0);
    return T(&b, T::dims.rank ? b.template call<ops::BroadcastTo>(ops::SumTo::to(T::dims), zero) : zero);
  };
  return std::tuple<V...>{zeros(std::type_identity<V>())...};
}

template <class F>
struct CapturesOnTensors {
  static constexpr Sentence sentence =
      Sentence{} << "jvp, and vjp of several results, compile their function, which captures something here: hand that "
                    "in as a further argument, jvp<0>(f, std::tuple(x, w), v), or call them in the construct of a cell "
                    "with a lambda that captures this";
};
/// Whether these arguments, or tuples of them, are tensors outside of a cell.
template <class V>
inline constexpr bool are_outside = is_tensor<V> && !is_inner<V>;
template <class... V>
inline constexpr bool are_outside<std::tuple<V...>> = (are_outside<V> && ...);
/// Throws where only a graph has the derivative, but a tape records the cell. Without a tape, calls of the cell and a
/// Model are compiled and do not get here.
template <class Result>
[[noreturn]] Result lose() {
  throw lost_gradient();
}

/// Appends the backward pass from all `values`, whose gradients are the nodes `seeds`. Returns the gradients of `x`.
template <class Values, class X>
constexpr X traced_products(Builder& b, const Values& values, const std::vector<int>& seeds, const X& x) {
  b.inner_gradient = b.nested_gradient = true;
  std::vector<int> wanted(b.nodes.size(), 0);
  for (const int id : nodes_of(x)) wanted[std::size_t(id)] = 2;
  const std::vector<int> gradient = backward(b, nodes_of(values), seeds, wanted);
  X result = traced_zeros(b, x);
  const auto take = [&](auto& to, int of) {
    if (std::size_t(of) < gradient.size() && gradient[std::size_t(of)] >= 0) to.id = gradient[std::size_t(of)];
  };
  std::apply([&](auto&... to) { std::apply([&](const auto&... of) { (take(to, of.id), ...); }, x); }, result);
  return result;
}

}  // namespace detail

/// The value of f and its derivative along a direction, as a function of the arguments and then the directions of those
/// at Positions. Made by jvp().
template <class F, int... Positions>
struct Tangent {
  [[no_unique_address]] F f{};

  template <class... V>
  constexpr auto operator()(const V&... v) const {
    constexpr int arguments = int(sizeof...(V) - sizeof...(Positions));
    if constexpr ((is_broken<V> || ...)) return Broken{};
    else if constexpr ((detail::is_traced<V> || ...)) {
      const std::vector<int> all{detail::lift(*detail::builder_among(v...), v)...};
      const std::vector<int> directions(all.begin() + arguments, all.end());
      return [&]<int... I>(std::integer_sequence<int, I...>) {
        return traced(directions, ops::identity(detail::nth<I>(v...))...);
      }(std::make_integer_sequence<int, arguments>{});
    } else if constexpr (!std::is_empty_v<F>) {
      return [&]<int... I>(std::integer_sequence<int, I...>) {
        using Value = std::invoke_result_t<const F&, decltype(detail::nth<I>(v...))...>;
        return detail::lose<std::tuple<Value, Value>>();
      }(std::make_integer_sequence<int, arguments>{});
    } else {
      const auto all = detail::as_tuple(jit(*this)(v...));
      constexpr std::size_t values = std::tuple_size_v<std::remove_const_t<decltype(all)>> / 2;
      return std::tuple(detail::slice_of<0, values>(all), detail::slice_of<values, values>(all));
    }
  }

 private:
  // The gradient is linear in the gradients `seeds` of the results; its derivative with respect to these is wanted.
  template <class... X>
  constexpr auto traced(const std::vector<int>& directions, const X&... x) const {
    const auto value = f(x...);
    if constexpr (detail::any_broken<std::remove_const_t<decltype(value)>>) return value;
    else {
      Builder& b = *detail::builder_among(x...);
      const auto values = detail::as_tuple(value), seeds = detail::traced_zeros(b, values);
      const auto gradients =
          detail::traced_products(b, values, detail::nodes_of(seeds), std::tuple(detail::nth<Positions>(x...)...));
      const auto tangents = detail::traced_products(b, gradients, directions, seeds);
      return std::tuple(value, detail::slice_of<0, std::tuple_size_v<decltype(tangents)>>(tangents));
    }
  }
};

/// The value of f and the products of gradients of its results with its Jacobian, as a function of the arguments and
/// then these gradients. Made by vjp().
template <class F, int arguments, int... Positions>
struct Cotangent {
  [[no_unique_address]] F f{};

  template <class... V>
  constexpr auto operator()(const V&... v) const {
    return [&]<int... I>(std::integer_sequence<int, I...>) {
      return of_arguments(std::tie(v...), detail::nth<I>(v...)...);
    }(std::make_integer_sequence<int, arguments>{});
  }

 private:
  static constexpr int products = sizeof...(Positions);
  template <class All, class... X>
  constexpr auto of_arguments(const All& all, const X&... x) const {
    if constexpr ((is_broken<X> || ...)) return Broken{};
    else if constexpr ((detail::is_traced<X> || ...)) return traced(all, ops::identity(x)...);
    else if (const eager::Tape* outer = eager::Tape::active(); outer && ((outer->variable(x) >= 0) || ...))
      throw detail::lost_gradient();
    else if constexpr (std::tuple_size_v<All> == arguments + 1) {
      return detail::taped_gradients<true, Positions...>(
          f, [&](eager::Tape& tape, const auto& value) { tape.backward(value, std::get<arguments>(all).copy()); },
          X(x)...);
    } else if constexpr (!std::is_empty_v<F>) {
      using Gradients = decltype(detail::one_or_tuple(X(detail::nth<Positions>(x...))...));
      return detail::lose<std::tuple<std::invoke_result_t<const F&, const X&...>, Gradients>>();
    } else {
      const auto made = std::apply(jit(*this), all);
      constexpr std::size_t values = std::tuple_size_v<std::remove_const_t<decltype(made)>> - products;
      return std::tuple(detail::slice_of<0, values>(made), detail::slice_of<values, products>(made));
    }
  }
  template <class All, class... X>
  constexpr auto traced(const All& all, const X&... x) const {
    const auto value = f(x...);
    if constexpr (detail::any_broken<std::remove_const_t<decltype(value)>>) return value;
    else {
      Builder& b = *detail::builder_among(x...);
      std::vector<int> seeds =
          std::apply([&](const auto&... v) { return std::vector<int>{detail::lift(b, v)...}; }, all);
      seeds.erase(seeds.begin(), seeds.begin() + arguments);
      const auto gradients =
          detail::traced_products(b, detail::as_tuple(value), seeds, std::tuple(detail::nth<Positions>(x...)...));
      return std::tuple(value, detail::slice_of<0, products>(gradients));
    }
  }
};

namespace detail {
template <class F, int arguments, int... P>
inline constexpr bool only_compiled<Cotangent<F, arguments, P...>> = true;

/// The positions, for none those of all arguments.
template <class X, int... Positions>
using PositionsIn =
    std::conditional_t<sizeof...(Positions) == 0, std::make_integer_sequence<int, int(std::tuple_size_v<X>)>,
                       std::integer_sequence<int, Positions...>>;
// Not std::apply: after a mistake of f compilers would also say what std::apply lacks then.
template <class F, class X, class V>
constexpr auto call_with_vectors(const F& f, const X& x, const V& v) {
  return [&]<std::size_t... I, std::size_t... K>(std::index_sequence<I...>, std::index_sequence<K...>) {
    return f(std::get<I>(x)..., std::get<K>(v)...);
  }(std::make_index_sequence<std::tuple_size_v<X>>{}, std::make_index_sequence<std::tuple_size_v<V>>{});
}
}  // namespace detail

/// The value of f at x and its derivative along the direction v, the product of its Jacobian with v (forward mode):
///
///     const auto [y, dy] = jvp(f, x, v);
///     const auto [y, dy] = jvp(f, std::tuple(x, w), std::tuple(v, u));    several arguments: the sum of their parts
///     const auto [y, dy] = jvp<0>(f, std::tuple(x, labels), v);           along the first one alone
///
/// f        a function of tensors that captures nothing, which returns a tensor or a std::tuple of tensors
/// v        a direction for each argument, or for those at Positions, of its dtype and shape
/// result   a std::tuple of what f returns, and the same of the derivatives
/// It is compiled in both modes, as grad(grad(f)) is, and can itself be differentiated. The product of the Hessian
/// matrix of a loss with v, without the matrix: `const auto [gradient, product] = jvp(grad(loss), x, v);`
/// Throws RuntimeError in a function whose gradient a tape records. Source: MindSpore's jvp
template <int... Positions, class F, class X, class V>
constexpr auto jvp(F f, const X& x, const V& v) {
  if constexpr (!std::is_empty_v<F> && detail::are_outside<X>) return report<detail::CapturesOnTensors<F>>();
  else {
    const auto arguments = detail::as_tuple(x);
    return [&]<int... P>(std::integer_sequence<int, P...>) {
      return detail::call_with_vectors(Tangent<F, P...>{f}, arguments, detail::as_tuple(v));
    }(detail::PositionsIn<std::remove_const_t<decltype(arguments)>, Positions...>{});
  }
}

/// The value of f at x and the products of the gradients v of its results with its Jacobian (reverse mode):
///
///     const auto [y, dx] = vjp(f, x, v);
///     const auto [y, gradients] = vjp(f, std::tuple(x, w), v);            a std::tuple of two gradients
///     const auto [y, dx] = vjp<0>(f, std::tuple(x, labels), v);           that of the first argument alone
///
/// f        a function of tensors, which returns a tensor or a std::tuple of tensors, and then captures nothing
/// v        the gradient of each result, of its dtype and shape
/// result   a std::tuple of what f returns, and the gradient of the argument, or a std::tuple of gradients
/// Throws RuntimeError in a function whose gradient a tape records. Source: MindSpore's vjp
template <int... Positions, class F, class X, class V>
constexpr auto vjp(F f, const X& x, const V& v) {
  constexpr bool captures = !std::is_empty_v<F> && detail::is_tuple<V>;
  if constexpr (captures && detail::are_outside<X>) return report<detail::CapturesOnTensors<F>>();
  else {
    const auto arguments = detail::as_tuple(x);
    using Given = std::remove_const_t<decltype(arguments)>;
    return [&]<int... P>(std::integer_sequence<int, P...>) {
      return detail::call_with_vectors(Cotangent<F, int(std::tuple_size_v<Given>), P...>{f}, arguments,
                                       detail::as_tuple(v));
    }(detail::PositionsIn<Given, Positions...>{});
  }
}

}  // namespace tenon
