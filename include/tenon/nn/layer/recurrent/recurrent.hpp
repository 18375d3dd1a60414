// Common parts of recurrent cells: the parameters of their layers under MindSpore's names, and the loop over layers and
// directions.
#pragma once
#include <tuple>

#include <tenon/nn/cell.hpp>
#include <tenon/nn/init/initializer.hpp>
#include <tenon/nn/optional_parameter.hpp>
#include <tenon/ops/cast.hpp>
#include <tenon/ops/concat.hpp>
#include <tenon/ops/slice.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::nn {

/// The parameters of one layer in one direction, all uniform within 1 / sqrt(Hidden).
template <int In, int Hidden, int Gates, bool has_bias>
struct RecurrentWeights {
  static constexpr DefaultBias init{float(Hidden)};
  Parameter<float, Shape<Gates * Hidden, In>, init> weight_ih;
  Parameter<float, Shape<Gates * Hidden, Hidden>, init> weight_hh;
  OptionalParameter<has_bias, float, Shape<Gates * Hidden>, init> bias_ih, bias_hh;
};

namespace detail {
/// "weight_ih_l1_reverse"
template <int layer, bool reverse>
struct RecurrentNames {
  struct Name {
    char letter[40]{};
    int length = 0;
    constexpr std::string_view view() const { return {letter, std::size_t(length)}; }
  };
  static constexpr Name make(std::string_view kind) {
    Name name;
    const auto add = [&name](std::string_view text) {
      for (char c : text) name.letter[name.length++] = c;
    };
    add(kind);
    add("_l");
    char digit[10];
    int digits = 0;
    for (int rest = layer; digits == 0 || rest; rest /= 10) digit[digits++] = char('0' + rest % 10);
    while (digits) name.letter[name.length++] = digit[--digits];
    if (reverse) add("_reverse");
    return name;
  }
  static constexpr Name weight_ih = make("weight_ih"), weight_hh = make("weight_hh"), bias_ih = make("bias_ih"),
                        bias_hh = make("bias_hh");
};

/// The weights of all layers from number `layer` on.
template <int layer, int layers, int In, int Hidden, int Gates, int Directions, bool has_bias>
struct RecurrentLayers {
  RecurrentWeights<In, Hidden, Gates, has_bias> direction[Directions];
  RecurrentLayers<layer + 1, layers, Hidden * Directions, Hidden, Gates, Directions, has_bias> rest;
};
template <int layers, int In, int Hidden, int Gates, int Directions, bool has_bias>
struct RecurrentLayers<layers, layers, In, Hidden, Gates, Directions, has_bias> {};

template <int layer, bool reverse, class Weights, class F>
constexpr void each_weight(const Weights& w, F& f) {
  using Names = RecurrentNames<layer, reverse>;
  f(w.weight_ih, Names::weight_ih.view());
  f(w.weight_hh, Names::weight_hh.view());
  f(w.bias_ih, Names::bias_ih.view());
  f(w.bias_hh, Names::bias_hh.view());
}
template <class F, int layers, int In, int Hidden, int Gates, int Directions, bool has_bias>
constexpr void each_layer(const RecurrentLayers<layers, layers, In, Hidden, Gates, Directions, has_bias>&, F&) {}
template <class F, int layer, int layers, int In, int Hidden, int Gates, int Directions, bool has_bias>
constexpr void each_layer(const RecurrentLayers<layer, layers, In, Hidden, Gates, Directions, has_bias>& l, F& f) {
  each_weight<layer, false>(l.direction[0], f);
  if constexpr (Directions == 2) each_weight<layer, true>(l.direction[1], f);
  each_layer(l.rest, f);
}
template <int I, class Layers>
constexpr const auto& layer_at(const Layers& l) {
  if constexpr (I == 0) return l.direction;
  else return layer_at<I - 1>(l.rest);
}

/// In place of the lengths of samples that all have every step.
struct AllSteps {};
/// Whether an argument are lengths, [n] of integers, and not a first state.
template <class V>
inline constexpr bool are_lengths = false;
template <ops::Operand V>
requires(!is_broken<V>)
inline constexpr bool are_lengths<V> = V::dims.rank == 1 && !is_floating(V::dims.dtype);
/// f(operands..., lengths), without lengths if there are none.
template <class F, class Lengths, class... V>
constexpr auto with_lengths(const F& f, const Lengths& lengths, const V&... operands) {
  if constexpr (std::is_same_v<Lengths, AllSteps>) return f(operands...);
  else return f(operands..., lengths);
}
/// One direction of a layer; samples of several lengths are reversed up to their lengths for the second one.
template <class Step, bool reverse, class Weights, class Lengths, class X, class... States>
constexpr auto run_direction(const Weights& w, const Lengths& lengths, const X& x, const States&... initial) {
  if constexpr (reverse && !std::is_same_v<Lengths, AllSteps>) {
    constexpr bool more_is_included = requires { reverse_sequence(x, lengths); };
    static_assert(more_is_included, "lengths of sequences in two directions need <tenon/more.hpp>: include it");
    if constexpr (more_is_included) {
      auto result = Step::template run<false>(w, lengths, reverse_sequence(x, lengths), initial...);
      std::get<0>(result) = reverse_sequence(std::get<0>(result), lengths);
      return result;
    }
  } else return Step::template run<reverse>(w, lengths, x, initial...);
}

/// f(x, initial states...), the results of a recurrent cell, in float32 for 16-bit floats, because a state that is
/// rounded at every step loses information. Results have the dtype of x.
template <class F, class X, class... States>
constexpr auto in_float(const F& f, const X& x, const States&... initial) {
  if constexpr (is_broken<X>) return f(x, initial...);
  else if constexpr (!is_half_dtype(X::dims.dtype)) return f(x, initial...);
  else
    return std::apply([](const auto&... result) { return std::tuple(ops::cast<typename X::type>(result)...); },
                      f(ops::cast<float>(x), ops::cast<float>(initial)...));
}

/// "float32 [n,5,3]", or what an argument is that is no tensor.
template <class V>
constexpr Sentence written() {
  if constexpr (tenon::detail::is_tuple<V>) return Sentence{} << "a tuple";
  else if constexpr (!ops::Operand<V>) return Sentence{} << "a value that is no tensor";
  else return Sentence{} << tenon::name(V::dims.dtype) << " " << V::dims;
}
/// What is wrong with the first states and the lengths that follow x, [n, T, In], in the call of a cell; empty if
/// nothing is. Each state is to be [n, count, hidden].
template <class Self, class Lengths, class X, class... States>
constexpr Sentence wrong_start(int count, int hidden) {
  Sentence s;
  if constexpr (!is_broken<X> && !is_broken<Lengths> && !(is_broken<States> || ...)) {
    if (X::dims.rank != 3) return s;
    TensorType state = X::dims;
    state.extent[1] = count, state.extent[2] = hidden;
    const TensorType lengths{{state[0]}, 1, Dtype::int32};
    const auto say = [&]<class Given>(std::string_view what, const TensorType& wanted) {
      s << class_name<Self>() << " of " << written<X>().view() << " got " << what << written<Given>().view()
        << ", it needs " << tenon::name(wanted.dtype) << " " << wanted;
    };
    const auto look = [&]<class State>() {
      if (!s.empty()) return;
      if constexpr (!ops::Operand<State>) say.template operator()<State>("a first state that is ", state);
      else {
        const Dtype dtype = State::dims.dtype;
        const bool fits = is_half_dtype(state.dtype) ? is_floating(dtype) : dtype == state.dtype;
        if (fits && State::dims.same_shape(state)) return;
        say.template operator()<State>("a first state ", state);
        if (!is_floating(dtype)) s << "; lengths are int32 " << lengths;
      }
    };
    (look.template operator()<States>(), ...);
    if constexpr (!std::is_same_v<Lengths, AllSteps> && !are_lengths<Lengths>)
      if (s.empty()) say.template operator()<Lengths>("lengths ", lengths);
  }
  return s;
}
/// f(x, initial states...) by in_float; a sentence where the arguments behind x do not fit.
template <class Self, int count, int hidden, class F, class Lengths, class... X>
constexpr auto run_checked(const F& f, const Lengths& lengths, const X&... x) {
  constexpr Sentence wrong = wrong_start<Self, Lengths, X...>(count, hidden);
  if constexpr (wrong.empty()) return in_float(f, x...);
  else {
    Builder* const b = tenon::detail::builder_among(x..., lengths);
    if (b) b->fail(wrong);
    return tenon::detail::broken_result<Self>(b);
  }
}

/// Initial state number `index` of all layers and directions, [n, 1, H].
template <int index, class S>
constexpr auto state_at(const S& states) {
  return ops::slice<Part{}, Part{index, index + 1}>(states);
}
/// Number `which` of the results of all layers, side by side.
template <int which, class... Results>
constexpr auto last_states(const std::tuple<Results...>& results) {
  return std::apply(
      [](const auto&... result) {
        if constexpr (sizeof...(Results) == 1) return (std::get<which>(result), ...);
        else return ops::concat<1>(std::get<which>(result)...);
      },
      results);
}

/// Runs the layers from number `layer` on. `Step::run<reverse>(weights, lengths, x, initial states...)` gives h of all
/// steps and the last states, a tuple; the result is the output of the last layer, and a tuple of such tuples.
template <class Step, int layer = 0, class X, class Layers, class Lengths, class... States>
constexpr auto run_layers(const Layers& l, const Lengths& lengths, const X& x, const States&... initial) {
  constexpr int directions = int(std::extent_v<decltype(l.direction)>);
  const auto rest = [&]<class Y, class... Done>(const Y& y, const Done&... done) {
    const std::tuple<Done...> own(done...);  // of tuples, hence with its arguments
    if constexpr (std::is_empty_v<decltype(l.rest)>) return std::tuple(y, own);
    else {
      const auto later = run_layers<Step, layer + 1>(l.rest, lengths, y, initial...);
      return std::tuple(std::get<0>(later), std::tuple_cat(own, std::get<1>(later)));
    }
  };
  const auto onward = run_direction<Step, false>(l.direction[0], lengths, x, state_at<layer * directions>(initial)...);
  if constexpr (directions == 1) return rest(std::get<0>(onward), onward);
  else {
    const auto backward =
        run_direction<Step, true>(l.direction[1], lengths, x, state_at<layer * directions + 1>(initial)...);
    return rest(ops::concat<-1>(std::get<0>(onward), std::get<0>(backward)), onward, backward);
  }
}
}  // namespace detail

}  // namespace tenon::nn
TENON_INT_SIZES_END
