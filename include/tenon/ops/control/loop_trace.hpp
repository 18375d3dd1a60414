// Loops in a trace: the body is traced once, and becomes a graph of its own.
#pragma once
#include <tuple>

#include <tenon/core/spread.hpp>
#include <tenon/ops/control/loop_kernel.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {

template <class V>
inline constexpr bool is_values = false;
template <class... V>
inline constexpr bool is_values<std::tuple<V...>> = true;

/// A value as a tuple of one, a tuple as it is.
template <class V>
constexpr auto as_tuple(const V& v) {
  if constexpr (is_values<V>) return v;
  else return std::tuple<V>(v);
}
template <class V>
using AsTuple = decltype(as_tuple(std::declval<const V&>()));
/// A tuple in the form of V: one value, or a tuple.
template <class V, class Tuple>
constexpr auto in_form_of(const Tuple& values) {
  if constexpr (is_values<V>) return values;
  else return std::get<0>(values);
}

/// A shape with and without the axis of turns.
template <class S, int turns>
struct TurnShapes;
template <template <int...> class S, int turns, int... E>
struct TurnShapes<S<E...>, turns> {
  static constexpr TensorType all = with_turns(S<E...>::dims, turns);
  template <int... Axis>
  static S<all.extent[Axis]...> with(std::integer_sequence<int, Axis...>);
  using WithTurns = decltype(with(std::make_integer_sequence<int, all.rank>()));
};
template <class S>
struct SliceShape;
template <template <int...> class S, int... E>
struct SliceShape<S<E...>> {
  static constexpr TensorType one = without_turns(S<E...>::dims);
  template <int... Axis>
  static S<one.extent[Axis]...> without(std::integer_sequence<int, Axis...>);
  using type = decltype(without(std::make_integer_sequence<int, one.rank>()));
};

/// Whether a body returned std::tuple(carried, y), and not what is carried alone.
template <class Carry, class Returned>
inline constexpr bool returns_slices = false;
template <class Carry, class First, class Second>
inline constexpr bool returns_slices<Carry, std::tuple<First, Second>> =
    !std::is_same_v<Carry, std::tuple<First, Second>>;
/// What a body returned: what is carried on, and the slices of the results.
template <class Carry, class Returned>
constexpr auto carry_of(const Returned& returned) {
  if constexpr (returns_slices<Carry, Returned>) return as_tuple(std::get<0>(returned));
  else return as_tuple(returned);
}
template <class Carry, class Returned>
constexpr auto slices_of(const Returned& returned) {
  if constexpr (returns_slices<Carry, Returned>) return as_tuple(std::get<1>(returned));
  else return std::tuple<>();
}

/// Whether all values of a loop are there.
template <class V>
inline constexpr bool any_broken = is_broken<V>;
template <class... V>
inline constexpr bool any_broken<std::tuple<V...>> = (any_broken<V> || ...);
/// What follows a mistake: Broken in the form of a value, so that it can be taken apart.
template <class V>
constexpr auto broken_like(Builder& b, std::type_identity<V>) {
  return Broken(&b);
}
template <class... V>
constexpr auto broken_like(Builder& b, std::type_identity<std::tuple<V...>>) {
  return std::tuple(broken_like(b, std::type_identity<V>())...);
}

/// The number of turns: the extent of the axis of turns, or why there is none.
struct Turns {
  int count = 0;
  bool has_slices = true;
  Sentence error;
};
template <class Xs>
constexpr Turns turns_of() {
  Turns t;
  const auto look = [&](const TensorType& type) {
    const int axis = turn_axis(type), here = axis < type.rank ? type[axis] : 0;
    t.has_slices &= axis < type.rank;
    if (!t.error.empty()) return;
    if (here < 1) t.error << "scan takes its slices along the first axis that is not the batch, got " << type;
    else if (t.count && t.count != here)
      t.error << "scan got " << t.count << " turns, and " << here << " for " << type
              << ": all must have the same extent along the first axis that is not the batch";
    t.count = here;
  };
  [&]<class... V>(std::type_identity<std::tuple<V...>>) { (look(V::dims), ...); }(std::type_identity<AsTuple<Xs>>());
  return t;
}

/// A node with bodies, as far as types do not matter: its operands become bundles, and its results come out of such.
class BodyNode {
 public:
  LoopConfig c;

  constexpr explicit BodyNode(Builder& b) : builder_(b) {}
  constexpr void take(const std::vector<int>& nodes, bool sliced = false) {
    for (const int id : nodes) members_.push_back(id), kinds_.push_back(int(bundle_kind(type(id), sliced)));
  }
  /// A body that changes something, as batch norm does in training, would have to say so outside.
  constexpr void refuse_effects(int number) {
    const Body body = body_of(builder_, number);
    for (int id = 0; id < body.count; ++id)
      if (body.node[id].op->effect && !body.node[id].op->host_effect)
        builder_.fail(Sentence{} << "a body of a loop or a condition cannot change anything, as "
                                 << body.node[id].op->name << " does: call it outside, or freeze it");
  }
  /// The values that a body returns are results: those from `slices` on are slices of turns.
  constexpr void returns(int number, int slices) {
    refuse_effects(number);
    const Body body = body_of(builder_, number);
    for (int k = 0; k < body.outputs; ++k) {
      TensorType t = body.node[body.output[k]].type;
      if (k >= slices) t = with_turns(t, c.turns);
      items_.push_back(BundleItem::of(result_[int(bundle_kind(t))].add(t), t));
    }
  }
  /// What the derivative reads of a body is kept. A body without a derivative keeps nothing.
  constexpr void keep(const tenon::detail::LoopShape& shape) {
    const BodyGradient d = differentiate(builder_, shape.body);
    differentiable_ &= d.builder.error.empty();
    if (!differentiable_) return;
    struct Table {
      std::vector<BodyValue> input, output, kept;
      KeptPlan plan{};
    } table;
    const Body body = body_of(builder_, shape.body);
    table.input.resize(std::size_t(body.inputs())), table.output.resize(std::size_t(body.outputs));
    table.kept.resize(d.read.size());
    const int kept = tenon::detail::describe_loop(builder_, shape, &d, table);
    if (kept + body.outputs > max_outputs)
      return builder_.fail(Sentence{} << "a body has " << kept << " values that its derivative reads: at most "
                                      << max_outputs - body.outputs);
    const int bytes = int(table.plan.bytes(c.turns));
    kept_ = bytes > kept_ ? bytes : kept_;
    if (table.plan.batched) c.types |= 1 << 9;
  }
  /// Appends the call, with an operand before the bundles if one is given. Returns the nodes of its results.
  template <class Op>
  constexpr std::vector<int> call(int before = -1) {
    std::vector<int> operands;
    if (before >= 0) operands.push_back(before);
    bundle(operands);
    bundle_results();
    c.kept = differentiable_ ? kept_ : 0;
    if (!builder_.error.empty()) return std::vector<int>(items_.size(), 0);
    const int call = builder_.call_list<Op>(c, operands.data(), int(operands.size()));
    builder_.has_bodies = true;  // the tape adds up in another order
    std::vector<int> nodes;
    for (const BundleItem& item : items_) {
      const BundleKind kind = bundle_kind(item.type());
      const int from = builder_.result(call, c.result_of(kind));
      nodes.push_back(result_[int(kind)].members == 1 && kind != BundleKind::other
                          ? builder_.call<Reshape>(Reshape::to(item.type()), from)
                          : builder_.call<Unpack>(item, from));
    }
    return nodes;
  }

 private:
  constexpr const TensorType& type(int node) const { return builder_.nodes[std::size_t(node)].type; }
  constexpr void bundle(std::vector<int>& operands) {
    bool any = false, floating = false;
    for (int k = 0; k < bundle_kinds; ++k) {
      std::vector<int> members;
      for (std::size_t i = 0; i < members_.size(); ++i)
        if (kinds_[i] == k) members.push_back(members_[i]);
      if (members.empty()) continue;
      any = true;
      if (k == int(BundleKind::other) && int(members.size()) > max_operands)
        builder_.fail(Sentence{} << "a body uses " << int(members.size())
                                 << " values that are no floating-point numbers: at most " << max_operands);
      for (const int id : members)
        if (k != int(BundleKind::other)) take_dtype(type(id), floating);
      c.operands |= 1 << k;
      operands.push_back(packed(builder_, members, static_cast<BundleKind>(k)));
    }
    if (!floating) c.types |= int(Dtype::float32);
    if (!any) builder_.fail(Sentence{} << "a body uses no value at all");
  }
  constexpr void take_dtype(const TensorType& t, bool& floating) {
    if (floating && c.dtype() != t.dtype)
      builder_.fail(Sentence{} << "a body uses " << name(c.dtype()) << " and " << name(t.dtype) << " " << t
                               << ": cast one of them, its floating-point values must have one dtype");
    if (!floating) c.types |= int(t.dtype);
    floating = true;
  }
  constexpr void bundle_results() {
    for (int k = 0; k < result_kinds; ++k)
      if (result_[k].members) {
        const auto kind = static_cast<BundleKind>(k);
        c.result[k] = int(result_[k].type(kind).count(1));
        if (kind == BundleKind::other && result_[k].batched) c.types |= 1 << 8;
        if (kind != BundleKind::other && result_[k].only.dtype != c.dtype())
          builder_.fail(Sentence{} << "a body returns " << name(result_[k].only.dtype) << " and uses "
                                   << name(c.dtype()) << ": its floating-point values must have one dtype");
      }
  }

  Builder& builder_;
  std::vector<int> members_, kinds_;  // no vector per kind: nvcc forgets to destroy an array of vectors
  BundleSize result_[result_kinds];
  std::vector<BundleItem> items_;
  bool differentiable_ = true;
  int kept_ = 0;
};

/// A loop in a trace.
class LoopTrace {
 public:
  constexpr LoopTrace(Builder& b, int turns) : builder_(b), body_(b), turns_(turns) {}
  constexpr int carry(const TensorType& type, int first) {
    first_.push_back(first);
    return body_.input(type);
  }
  constexpr int slice(int all) {
    sliced_.push_back(all);
    return body_.input(without_turns(builder_.nodes[std::size_t(all)].type));
  }
  /// Ends the body and appends the loop. `outputs`: what is carried on, then the slices of the results. Returns the
  /// nodes of what they are after all turns.
  constexpr std::vector<int> end(const std::vector<int>& outputs) {
    BodyNode node(builder_);
    node.c.body = body_.end(outputs);
    node.c.turns = turns_, node.c.carried = int(first_.size()), node.c.sliced = int(sliced_.size());
    node.take(first_), node.take(sliced_, true), node.take(body_.captured);
    node.returns(node.c.body, node.c.carried);
    node.keep({node.c.body, turns_, node.c.carried, node.c.sliced});
    return node.call<Loop>();
  }

 private:
  Builder& builder_;
  BodyTrace body_;
  int turns_;
  std::vector<int> first_, sliced_;
};

template <class V>
using SliceOf = Traced<typename V::type, typename SliceShape<typename V::shape_type>::type>;
template <class V, int turns>
using AllOf = Traced<typename V::type, typename TurnShapes<typename V::shape_type, turns>::WithTurns>;

constexpr Sentence other_carry(std::string_view who, int k, const TensorType& wanted, const TensorType& found) {
  return Sentence{} << who << ": the body got " << name(wanted.dtype) << " " << wanted << " as value " << k
                    << " that is carried on, and returned " << name(found.dtype) << " " << found
                    << ": it returns std::tuple(carried, y), with the types that it got, or the carried values alone";
}

/// Why what a body carries on has not the types that came; empty: it has.
template <class... Came, class... Returned>
constexpr Sentence carry_refusal(std::string_view who, std::type_identity<std::tuple<Came...>>,
                                 std::type_identity<std::tuple<Returned...>>) {
  Sentence s;
  if constexpr (sizeof...(Came) != sizeof...(Returned))
    s << who << ": the body got " << int(sizeof...(Came)) << " carried values, and returned "
      << int(sizeof...(Returned));
  else {
    int k = 0;
    ((s.empty() && !(Came::dims == Returned::dims) ? void(s = other_carry(who, k, Came::dims, Returned::dims)) : void(),
      ++k),
     ...);
  }
  return s;
}

template <class... V>
constexpr void add_ids(std::vector<int>& ids, const std::tuple<V...>& values) {
  tenon::detail::spread([&](const auto&... v) { (ids.push_back(v.id), ...); }, values);
}

/// Nodes from `first` on as values.
template <class... V>
constexpr std::tuple<V...> values_at(Builder& b, const std::vector<int>& nodes, std::size_t first = 0) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::tuple<V...>(V(&b, nodes[first + I])...);
  }(std::index_sequence_for<V...>());
}

/// A loop in a graph. `turns` are known; Xs may be an empty tuple.
template <int turns, class F, class Init, class Xs>
constexpr auto trace_scan(Builder& b, const F& body, const Init& init, const Xs& xs, const std::source_location& at) {
  b.location = at;
  const auto first = as_tuple(init);
  const auto all = as_tuple(xs);
  LoopTrace loop(b, turns);
  const auto carried = tenon::detail::spread(
      [&]<class... V>(const V&... v) { return std::tuple<V...>{V(&b, loop.carry(V::dims, v.id))...}; }, first);
  const auto slices = tenon::detail::spread(
      [&]<class... V>(const V&... v) { return std::tuple<SliceOf<V>...>{SliceOf<V>(&b, loop.slice(v.id))...}; }, all);
  using Carry = std::remove_cvref_t<decltype(in_form_of<Init>(carried))>;
  const auto returned = [&] {
    if constexpr (std::tuple_size_v<std::remove_cvref_t<decltype(slices)>> == 0) return body(in_form_of<Init>(carried));
    else return body(in_form_of<Init>(carried), in_form_of<Xs>(slices));
  }();
  using Returned = std::remove_cvref_t<decltype(returned)>;
  if constexpr (any_broken<Returned>) return broken_like(b, std::type_identity<Returned>());
  else {
    const auto next = carry_of<Carry>(returned);
    const auto ys = slices_of<Carry>(returned);
    constexpr Sentence refusal = carry_refusal("scan", std::type_identity<std::remove_cvref_t<decltype(carried)>>(),
                                               std::type_identity<std::remove_cvref_t<decltype(next)>>());
    if constexpr (!refusal.empty()) {
      b.fail(refusal);
      return broken_like(b, std::type_identity<Returned>());
    } else {
      std::vector<int> outputs;
      add_ids(outputs, next), add_ids(outputs, ys);
      const std::vector<int> nodes = loop.end(outputs);
      auto node = [&, k = std::size_t(0)]() mutable { return nodes[k++]; };  // in braces, whose order is fixed
      const auto last =
          tenon::detail::spread([&]<class... V>(const V&...) { return std::tuple<V...>{V(&b, node())...}; }, first);
      const auto results = tenon::detail::spread(
          [&]<class... V>(const V&...) { return std::tuple<AllOf<V, turns>...>{AllOf<V, turns>(&b, node())...}; }, ys);
      using Ys = std::remove_cvref_t<decltype(ys)>;
      if constexpr (std::tuple_size_v<Ys> == 0) return in_form_of<Init>(last);
      else
        return std::tuple(in_form_of<Init>(last),
                          in_form_of<std::remove_cvref_t<decltype(std::get<1>(returned))>>(results));
    }
  }
}

/// Why a value cannot be a condition.
template <class P>
constexpr Sentence condition_refusal(std::string_view who) {
  Sentence s;
  if constexpr (requires { P::dims; })
    if (P::dims.count(1) != 1 || P::dims.batched() || P::dims.dtype != Dtype::bool_)
      s << who << " needs one bool for the whole batch, got " << name(P::dims.dtype) << " " << P::dims
        << ": compare, then reduce, or use select(condition, a, b) for a choice per element";
  return s;
}

template <class V>
constexpr Builder* trace_of(const V& v) {
  if constexpr (requires { v.builder; }) return v.builder;
  else if constexpr (is_values<V>) {
    Builder* found = nullptr;
    tenon::detail::spread([&](const auto&... one) { ((found = found ? found : trace_of(one)), ...); }, v);
    return found;
  } else return nullptr;
}
template <class V>
inline constexpr bool any_traced = tenon::detail::is_traced<V>;
template <class... V>
inline constexpr bool any_traced<std::tuple<V...>> = (any_traced<V> || ...);

}  // namespace detail

}  // namespace tenon::ops
