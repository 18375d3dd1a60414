// Attention with groups of heads, masks, and kept keys; rotary positions.
#pragma once
#include "axes.hpp"

namespace onnx {

namespace detail {
/// [B, S, heads D] as [B, heads, S, D]; what has four axes stays.
template <int heads, class X>
constexpr auto by_heads(const X& x) {
  if constexpr (rank<X> == 4) return ops::identity(x);
  else {
    constexpr int b = int(type<X>.extent[0]), s = int(type<X>.extent[1]), d = int(type<X>.extent[2]) / heads;
    return ops::transpose<0, 2, 1, 3>(ops::reshape<tenon::Shape<b, s, heads, d>>(x));
  }
}
/// Keys or values of a group of heads for each of its queries' heads.
template <int heads, class X>
constexpr auto for_queries(const X& x) {
  constexpr int b = int(type<X>.extent[0]), h = int(type<X>.extent[1]), s = int(type<X>.extent[2]),
                d = int(type<X>.extent[3]);
  if constexpr (h == heads) return ops::identity(x);
  else
    return ops::reshape<tenon::Shape<b, heads, s, d>>(
        ops::broadcast_to<tenon::Shape<b, h, heads / h, s, d>>(ops::reshape<tenon::Shape<b, h, 1, s, d>>(x)));
}
template <class X>
constexpr auto after(const auto& past, const X& x) {
  if constexpr (is_absent<decltype(past)>) return ops::identity(x);
  else return ops::concat<2>(past, x);
}
/// x with more elements along its last axis.
template <int more, class X>
constexpr auto padded_last(const X& x, float value) {
  if constexpr (more <= 0) return ops::identity(x);
  else
    return [&]<int... axis>(std::integer_sequence<int, axis...>) {
      return ops::pad<tenon::Margin{0, axis + 1 == rank<X> ? more : 0}...>(x, value);
    }(std::make_integer_sequence<int, rank<X>>());
}
template <bool causal, int past, class X>
constexpr auto masked(const X& scores, const auto& mask) {
  constexpr float out = -std::numeric_limits<float>::infinity();
  const auto seen = [&] {
    if constexpr (!causal) return ops::identity(scores);
    else return ops::select(ops::tril<past>(ops::cast<bool>(ops::ones_like(scores))), scores, out);
  }();
  if constexpr (is_absent<decltype(mask)>) return seen;
  else if constexpr (std::is_same_v<Element<decltype(mask)>, bool>) return ops::select(mask, seen, out);
  else {
    constexpr int own = type<decltype(mask)>.last(), missing = own == 1 ? 0 : type<X>.last() - own;
    return ops::add(seen, padded_last<missing>(mask, out));
  }
}
/// Scores [B, heads, S, keys] of the first keys of each sample, as many as `lengths` says.
template <class X>
constexpr auto within(const X& scores, const auto& lengths) {
  constexpr float out = -std::numeric_limits<float>::infinity();
  if constexpr (is_absent<decltype(lengths)>) return ops::identity(scores);
  else {
    const auto ends = ops::reshape<tenon::Shape<int(type<X>.extent[0]), 1, 1, 1>>(ops::cast<std::int32_t>(lengths));
    return ops::select(ops::less(ops::arange<type<X>.last()>(scores), ends), scores, out);
  }
}
}  // namespace detail

template <class Node, class Q, class K, class V, class Mask = Absent, class PastK = Absent, class PastV = Absent,
          class Lengths = Absent>
constexpr auto Attention(const Q& query, const K& key, const V& value, const Mask& mask = {},
                         const PastK& past_key = {}, const PastV& past_value = {}, const Lengths& lengths = {}) {
  constexpr int heads = rank<Q> == 4 ? int(type<Q>.extent[1]) : int(whole<Node>("q_num_heads", 1)),
                groups = rank<K> == 4 ? int(type<K>.extent[1]) : int(whole<Node>("kv_num_heads", 1));
  const auto q = detail::by_heads<heads>(query);
  const auto k = detail::after(past_key, detail::by_heads<groups>(key));
  const auto v = detail::after(past_value, detail::by_heads<groups>(value));
  constexpr tenon::TensorType t = type<decltype(q)>;
  constexpr int b = int(t.extent[0]), s = int(t.extent[2]);
  constexpr int past = int(type<decltype(k)>.extent[2] - (rank<K> == 4 ? type<K>.extent[2] : type<K>.extent[1]));
  constexpr double root = [](double x) {
    double y = x;
    for (int i = 0; i < 60; ++i) y = (y + x / y) / 2;
    return y;
  }(double(t.extent[3]));
  constexpr float scale = float(number<Node>("scale", 1 / root)), cap = float(number<Node>("softcap", 0));
  const auto scores = ops::mul(ops::matmul<ops::Transposed::second>(q, detail::for_queries<heads>(k)), scale);
  const auto capped = [&] {
    if constexpr (cap == 0) return scores;
    else return ops::mul(ops::tanh(ops::div(scores, cap)), cap);
  }();
  const auto bias = detail::masked < whole<Node>("is_causal", 0) != 0, past > (detail::within(capped, lengths), mask);
  const auto weights = ops::softmax<-1>(bias);
  const auto mixed = ops::matmul(weights, detail::for_queries<heads>(v));
  const auto y = [&] {
    if constexpr (rank<Q> == 4) return mixed;
    else
      return ops::reshape<tenon::Shape<b, s, heads* int(type<decltype(mixed)>.extent[3])>>(
          ops::transpose<0, 2, 1, 3>(mixed));
  }();
  constexpr long shown = whole<Node>("qk_matmul_output_mode", 0);
  if constexpr (Node::outputs == 1) return y;
  else if constexpr (Node::outputs == 3) return std::tuple(y, k, v);
  else if constexpr (shown == 0) return std::tuple(y, k, v, scores);
  else if constexpr (shown == 1) return std::tuple(y, k, v, capped);
  else if constexpr (shown == 2) return std::tuple(y, k, v, bias);
  else return std::tuple(y, k, v, weights);
}

/// x in pairs of features, turned by angles whose cosines and sines are given for each position.
template <class Node, class X, class Table, class Positions = Absent>
constexpr auto RotaryEmbedding(const X& x, const Table& cosines, const Table& sines, const Positions& positions = {}) {
  constexpr int heads = rank<X> == 4 ? int(type<X>.extent[1]) : int(whole<Node>("num_heads", 1));
  const auto by_head = detail::by_heads<heads>(x);
  constexpr tenon::TensorType t = type<decltype(by_head)>;
  constexpr int b = int(t.extent[0]), s = int(t.extent[2]), d = int(t.extent[3]),
                part = int(whole<Node>("rotary_embedding_dim", 0)), turned = part == 0 ? d : part, half = turned / 2;
  const auto table = [&](const auto& values) {
    if constexpr (is_absent<Positions>) return ops::reshape<tenon::Shape<b, 1, s, half>>(values);
    else return ops::reshape<tenon::Shape<b, 1, s, half>>(ops::gather(values, positions));
  };
  const auto c = table(cosines), n = table(sines);
  constexpr bool interleaved = whole<Node>("interleaved", 0) != 0;
  const auto first = [&] {
    if constexpr (interleaved) return ops::slice<-1, tenon::Part{0, turned, 2}>(by_head);
    else return ops::slice<-1, tenon::Part{0, half}>(by_head);
  }();
  const auto second = [&] {
    if constexpr (interleaved) return ops::slice<-1, tenon::Part{1, turned, 2}>(by_head);
    else return ops::slice<-1, tenon::Part{half, turned}>(by_head);
  }();
  const auto real = ops::sub(ops::mul(c, first), ops::mul(n, second)),
             imaginary = ops::add(ops::mul(n, first), ops::mul(c, second));
  const auto joined = [&] {
    if constexpr (interleaved) return ops::reshape<tenon::Shape<b, heads, s, turned>>(ops::stack<-1>(real, imaginary));
    else return ops::concat<-1>(real, imaginary);
  }();
  const auto all = [&] {
    if constexpr (turned == d) return joined;
    else return ops::concat<-1>(joined, ops::slice<-1, tenon::Part{turned, d}>(by_head));
  }();
  if constexpr (rank<X> == 4) return all;
  else return ops::reshape<tenon::Shape<b, s, heads * d>>(ops::transpose<0, 2, 1, 3>(all));
}

}  // namespace onnx
