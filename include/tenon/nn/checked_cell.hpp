// The mistakes of a cell and of a call of a cell, each with a sentence.
#pragma once
#include <tenon/core/text/report.hpp>
#include <tenon/graph/ir/traced.hpp>
#include <tenon/ops/structural.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::detail {

// Converts to a base class of T only, to find a second base among the initialisers.
template <class T>
struct BaseOf {
  template <class B>
  requires(std::is_base_of_v<B, T> && !std::is_same_v<B, T>)
  constexpr operator B() const;
};

/// Whether a class can be a cell, and the sentence if it cannot.
template <class Self>
struct CheckedCell {
  static constexpr bool one_base = !requires { Self{{}, BaseOf<Self>{}}; };
  // The position of a member that cannot be one, -1 if there is none.
  static constexpr int find_wrong() {
    if constexpr (std::is_aggregate_v<Self> && one_base) return wrong_member(members_of<Self>());
    else return -1;
  }
  static constexpr int wrong = find_wrong();
  static constexpr bool ok = std::is_aggregate_v<Self> && one_base && wrong < 0;
  static constexpr Sentence say() {
    if constexpr (wrong >= 0) return wrong_member_sentence<Self, wrong>(members_of<Self>());
    else if constexpr (std::is_aggregate_v<Self>)
      return Sentence{} << "a cell has one base class, tenon::nn::Cell<itself>: make the second base a member";
    else
      return Sentence{}
             << "a cell has only public members, no constructor and no virtual function: give members their values by "
                "initialisers, options as template arguments";
  }
  static constexpr Sentence sentence = say();
};

/// True. Its value stops the compilation with the sentence about a class that cannot be a cell: asked where a network
/// is used, for g++ looks at the constructor of a class that is not literal at the end of the file only.
template <class Net>
inline constexpr bool is_sound_cell = (static_cast<void>(nn::Cell<Net>{}), true);

template <class V>
inline constexpr bool is_tuple = false;
template <class... V>
inline constexpr bool is_tuple<std::tuple<V...>> = true;

/// Whether an argument is a value of a graph, or a tuple with one.
template <class V>
inline constexpr bool holds_traced = is_traced<V>;
template <class... V>
inline constexpr bool holds_traced<std::tuple<V...>> = (holds_traced<V> || ...);

/// The trace to which one of the arguments belongs, or null.
template <class... X>
constexpr Builder* builder_among(const X&... x) {
  Builder* found = nullptr;
  const auto look = [&found]<class V>(const V& v) {
    if constexpr (is_tuple<V>) {
      if (!found) found = std::apply([](const auto&... one) { return builder_among(one...); }, v);
    } else if constexpr (is_traced<V> || is_broken<V>) {
      if (!found) found = v.builder;
    }
  };
  (look(x), ...);
  return found;
}

/// What a traced function returned, one value or a tuple of them, becomes the outputs of the graph.
template <class V>
constexpr void add_outputs(Builder& b, const V& value) {
  if constexpr (is_traced<V>) b.outputs.push_back(value.id);
  else if constexpr (requires { std::tuple_size<V>::value; })
    std::apply([&](const auto&... v) { (add_outputs(b, v), ...); }, value);
  else  // kept only if nothing has failed before, of which a Broken is left
    b.fail(Sentence{} << "what is returned is no tensor, or tuple of tensors, that operators computed");
}

// Whether a class has a member of this name, which may be a template: two bases with one make it ambiguous.
struct HasConstruct {
  void construct();
};
template <class Self>
struct TwoConstructs : Self, HasConstruct {};
template <class Self>
inline constexpr bool has_construct = !requires { &TwoConstructs<Self>::construct; };
template <class Self>
requires(std::is_final_v<Self>)
inline constexpr bool has_construct<Self> = true;  // none can be derived to look

/// Number of arguments that construct takes, tried with arguments of one type; -1 if it takes no such arguments.
template <class Self, class Argument, class... X>
constexpr int argument_count() {
  if constexpr (requires(const Self& cell, const X&... x) { cell.construct(x...); }) return int(sizeof...(X));
  else if constexpr (sizeof...(X) < 4) return argument_count<Self, Argument, X..., Argument>();
  else return -1;
}
/// "Dense takes 1 argument, got 2"
template <class Self, class First = Traced<float, Shape<dyn>>, class... X>
constexpr Sentence wrong_arguments(int got, bool of_loss = false) {
  constexpr int count = argument_count<Self, First>();
  Sentence s;
  s << class_name<Self>();
  if constexpr (requires(Self& cell, const First& first, const X&... x) { cell.construct(first, x...); })
    if (got > 0) return s << "::construct must be const: write constexpr auto construct(auto x) const";
  if constexpr (!has_construct<Self>) return s << " has no construct: write constexpr auto construct(auto x) const";
  if constexpr (is_tuple<First>)
    if (of_loss)
      return s << " got " << int(std::tuple_size_v<First>)
               << " outputs of the network: nn::MultiLoss{nn::MSELoss{}, "
                  "...} has a loss for each; a loss of your own may take the tuple";
  if constexpr ((is_tuple<First> || ... || is_tuple<X>))
    return s << " got a tuple, the results of a cell that has several: name them, as in auto [y, h, c] = lstm(x), and "
                "pass one";
  // A construct of `auto` that is not callable has an error in its body, which the compiler has told already.
  if ((count == got || count < 0) && !requires { &Self::construct; } && !type_name<Self>().starts_with("tenon::"))
    return s << "::construct does not compile for " << (got == 1 ? "this argument" : "these arguments")
             << ": see the error before this one, or what its parameters are constrained to";
  if (count == got || count < 0)
    return s << " has no construct that takes " << got
             << (got == 1 ? " argument of this type" : " arguments of these types")
             << ": write constexpr auto construct(auto x) const";
  s << " takes " << count << (count == 1 ? " argument" : " arguments") << ", got ";
  return got ? s << got : s << "none";
}

template <class Self, class... X>
using ResultOf = std::remove_cvref_t<decltype(std::declval<const Self&>().construct(std::declval<const X&>()...))>;
/// Whether construct has a result in a trace that cannot be one.
template <class Result>
inline constexpr bool is_wrong_result = std::is_void_v<Result> || is_tensor<Result>;
template <class Self, class Result>
constexpr Sentence wrong_result() {
  Sentence s;
  s << class_name<Self>();
  if constexpr (std::is_void_v<Result>)
    return s << "::construct returns nothing: end it with return, or see the error before this one";
  else
    return s << "::construct returns a Tensor whatever its argument is, but in a graph there is none: write constexpr "
                "auto construct(auto x) const";
}

/// What the call of a cell gives where an error has been reported.
template <class Self>
constexpr auto broken_result(Builder* b) {
  if constexpr (result_count<Self> > 1)
    return [b]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple((void(I), Broken(b))...);
    }(std::make_index_sequence<std::size_t(result_count<Self>)>());
  else return Broken(b);
}

/// Numbers, or a container of them: what a beginner gives to a cell in place of a tensor.
template <class X>
inline constexpr bool is_numbers = std::is_arithmetic_v<X> || requires {
  typename X::value_type;
  requires std::is_arithmetic_v<typename X::value_type>;
  requires !ops::Operand<X>;
};
template <class Net, class First, class... X>
struct NumbersGiven {
  static constexpr bool ok = false;
  static constexpr Sentence sentence = Sentence{}
                                       << class_name<Net>() << " takes tensors, got "
                                       << (std::is_arithmetic_v<First> ? "a number" : class_name<First>())
                                       << ": write Tensor<float, Shape<dyn, 784>>::from(values), with your shape";
};
template <class Net>
struct WithoutArguments {
  static constexpr Sentence sentence = wrong_arguments<Net>(0);
};

}  // namespace tenon::detail
TENON_INT_SIZES_END
