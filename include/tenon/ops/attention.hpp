// Scaled dot-product attention of several heads, in one operator.
#pragma once
#include <limits>

#include <tenon/ops/accumulate.hpp>
#include <tenon/ops/cast.hpp>
#include <tenon/ops/constant.hpp>
#include <tenon/ops/matmul.hpp>
#include <tenon/ops/slice.hpp>
#include <tenon/ops/softmax.hpp>
#include <tenon/ops/transpose.hpp>
#include <tenon/ops/triangle.hpp>

namespace tenon::inline TENON_ABI::ops {

struct AttentionConfig {
  int heads = 1;
  bool causal = false;  // query i sees keys 0 .. i
  float scale = 0;      // 0: 1 / sqrt(features of a head)
};

namespace detail {
struct AttentionSettings {
  int heads, causal;
  float scale;
};
}  // namespace detail

/// The gradients of q, k, and v. Operands: those of Attention, dy. Result: the gradient of the packed operand, or those
/// of three operands one after the other along the axis before the last. Not for users.
///
/// derivative  as that of products, softmax, and products, which keep the T x S matrices
struct AttentionGrad : Operator<AttentionGrad, "AttentionGrad"> {
  using Config = detail::AttentionSettings;
  static constexpr void derivative(Derivative& d);
  // five products, one of them what is computed again
  static constexpr double flops(const OperandTypes& in, const TensorType&, const Config&, long n) {
    return 10 * double(in[in.count - 1].count(n)) * double(in[in.count > 2 ? 1 : 0].extent[in[0].rank - 2]);
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config&, Sentence&) {
    TensorType t = in[0];
    if (in.count == 4) t.extent[t.rank - 2] += 2 * in[1].extent[t.rank - 2];
    return t;
  }
};

/// Scaled dot-product attention, per head:  y = softmax(scale q kᵀ) v
///
/// q           [..., T, heads · D]; float32, float64, or 16-bit floats (computed in float)
/// k, v        [..., S, heads · D] with the leading extents of q; causal needs S = T
/// qkv         instead of the three, [..., T, 3 · heads · D]: q, k, and v side by side
/// result      [..., T, heads · D]
/// derivative  to all operands; the softmax is computed again, so that no T x S matrix is ever kept
/// order       as matmul, mul, softmax, matmul: in float32 and float64 the bits of these operators, where v is finite
/// source      Vaswani and others, arXiv 1706.03762; recomputation: Dao and others, arXiv 2205.14135; PyTorch's
///             scaled_dot_product_attention
struct Attention : Operator<Attention, "Attention"> {
  using Config = detail::AttentionSettings;
  // two products
  static constexpr double flops(const OperandTypes& in, const TensorType& result, const Config&, long n) {
    return 4 * double(result.count(n)) * double(in[in.count - 1].extent[in[0].rank - 2]);
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    const TensorType &q = in[0], &k = in[in.count - 1];
    TensorType y = q;
    const bool packed = in.count == 1;
    const int parts = packed ? 3 : 1;
    if (!is_floating(q.dtype))
      error << "Attention needs floating-point operands, got " << tenon::name(q.dtype) << " " << q;
    else if (q.rank < 2 || q.extent[q.rank - 2] < 0)
      error << "Attention needs operands [...,length,features] of a fixed length, got " << q;
    else if (c.heads < 1 || q.last() % (parts * c.heads))
      error << "Attention of " << c.heads << " heads got " << q << ": its last extent must be a multiple of "
            << parts * c.heads;
    else if (c.scale < 0) error << "Attention needs a positive scale, or 0 for 1 / sqrt(features of a head)";
    else if (!packed && keys_fit(q, k, c, error) && !in[1].same_shape(k))
      error << "Attention got keys " << in[1] << " and values " << k << ", which must have one shape";
    if (error.empty() && (q.count(1) < 1 || k.count(1) < 1))
      error << "Attention got " << (q.count(1) < 1 ? q : k) << ", which has no elements";
    if (error.empty()) y.extent[y.rank - 1] = q.last() / parts;
    return y;
  }
  static constexpr void derivative(Derivative& d) {
    const Config c = d.config<Attention>();
    if (d.operands() == 1) return d.flows_to(0, d.call_with<AttentionGrad>(c, d.operand(0), d.gradient()));
    const int all = d.call_with<AttentionGrad>(c, d.operand(0), d.operand(1), d.operand(2), d.gradient());
    const TensorType type = d.builder().nodes[std::size_t(all)].type;
    for (int k = 0, first = 0; k < 3; ++k) {
      const int axis = type.rank - 2, length = d.type(k).extent[axis];
      SliceWindow part = SliceWindow::all(type, axis);
      detail::narrow(part, SliceWindow::axes - 1, type.extent[axis], Part{first, first + length});
      d.flows_to(k, d.call_with<Slice>(part, all));
      first += length;
    }
  }

 private:
  static constexpr bool keys_fit(const TensorType& q, const TensorType& k, const Config& c, Sentence& error) {
    bool same = q.rank == k.rank && q.dtype == k.dtype && q.last() == k.last();
    for (int axis = 0; same && axis < q.rank - 2; ++axis) same = q.extent[axis] == k.extent[axis];
    if (!same || k.extent[k.rank - 2] < 0)
      error << "Attention got queries " << q << " and keys " << k << ", which may differ in their length only";
    else if (c.causal && q.extent[q.rank - 2] != k.extent[k.rank - 2])
      error << "causal Attention got queries " << q << " and keys " << k << ", which must have one length";
    return error.empty();
  }
};

namespace detail {
/// √n, by Newton's steps: constexpr.
constexpr double root_of(int n) {
  double root = n > 1 ? n : 1;
  for (int step = 0; step < 64; ++step) root = (root + n / root) / 2;
  return root;
}
/// Attention of one operator as several ones, which have second derivatives.
class PlainAttention {
 public:
  constexpr PlainAttention(Derivative& d, const AttentionSettings& c) : d_(d), settings_(c) {}

  /// `parts` are nodes of q, k, and v.
  constexpr int operator()(const int (&parts)[3]) const {
    const int q = by_head(parts[0]), k = by_head(parts[1]), v = by_head(parts[2]);
    const TensorType heads = type(q);
    const double scale = settings_.scale > 0 ? settings_.scale : 1 / root_of(heads.last());
    const int product = d_.call_with<MatMul>({Transposed::second}, q, k);
    int scores = d_.call<Mul>(product, d_.builder().constant(heads.dtype, scale));
    if (settings_.causal) scores = d_.call_with<Triangle>({0, 0, -std::numeric_limits<float>::infinity()}, scores);
    const int y = d_.call<MatMul>(d_.call<Softmax>(scores), v);
    return d_.call_with<Reshape>(Reshape::to(type(parts[0])), d_.call_with<Transpose>(exchanged(heads.rank), y));
  }
  constexpr TensorType type(int node) const { return d_.builder().nodes[std::size_t(node)].type; }

 private:
  static constexpr Transpose::Config exchanged(int rank) {
    Transpose::Config c{rank, {}};
    for (int axis = 0; axis < rank; ++axis) c.order[axis] = axis;
    c.order[rank - 3] = rank - 2, c.order[rank - 2] = rank - 3;
    return c;
  }
  // [..., T, heads · D] as [..., heads, T, D]
  constexpr int by_head(int node) const {
    TensorType t = type(node);
    t.extent[t.rank] = t.extent[t.rank - 1] / settings_.heads;
    t.extent[t.rank - 1] = settings_.heads;
    ++t.rank;
    return d_.call_with<Transpose>(exchanged(t.rank), d_.call_with<Reshape>(Reshape::to(t), node));
  }

  Derivative& d_;
  const AttentionSettings settings_;
};
}  // namespace detail

// The derivative of the derivative of PlainAttention.
constexpr void AttentionGrad::derivative(Derivative& d) {
  const TensorType first = d.type(0);
  const Dtype dtype = first.dtype == Dtype::float64 ? Dtype::float64 : Dtype::float32;
  const bool packed = d.operands() == 2;
  const auto cast = [&](Dtype to, int node) { return d.call_with<Cast>({to}, node); };
  const auto part = [&](int node, int axis, int begin, int length) {
    const TensorType all = d.builder().nodes[std::size_t(node)].type;
    SliceWindow window = SliceWindow::all(all, axis);
    detail::narrow(window, SliceWindow::axes - 1, all.extent[axis], Part{begin, begin + length});
    return d.call_with<Slice>(window, node);
  };
  const int axis = packed ? first.rank - 1 : first.rank - 2;
  std::vector<int> given, seeds;  // copies: one value may be several operands
  int parts[3]{}, begin = 0;
  const int all = cast(dtype, d.gradient());
  for (int k = 0; k < 3; ++k) {
    if (k == 0 || !packed) given.push_back(d.call<Identity>(cast(dtype, d.operand(k))));
    const int length = packed ? first.last() / 3 : d.type(k).extent[axis];
    parts[k] = packed ? part(given[0], axis, begin, length) : given.back();
    if (!packed) seeds.push_back(part(all, axis, begin, length));
    begin += length;
  }
  if (packed) seeds.push_back(all);
  const std::size_t inputs = given.size();
  given.push_back(d.call<Identity>(cast(dtype, d.operand(int(inputs)))));
  const int y = detail::PlainAttention(d, d.config<AttentionGrad>())(parts);
  std::vector<int> wanted(d.builder().nodes.size(), 0);
  for (const int id : given) wanted[std::size_t(id)] = 2;
  const std::vector<int> gradient = backward(d.builder(), y, given[inputs], wanted);
  std::vector<int> roots;
  for (std::size_t k = 0; k < inputs; ++k) roots.push_back(gradient[std::size_t(given[k])]);
  wanted.resize(d.builder().nodes.size(), 0);
  const std::vector<int> second = backward(d.builder(), roots, seeds, wanted);
  for (std::size_t k = 0; k < given.size(); ++k) d.flows_to(int(k), cast(first.dtype, second[std::size_t(given[k])]));
}

namespace detail {
/// How many heads of queries share one of the keys and values, which have fewer features then, as many in each head.
constexpr int sharing(int heads, const TensorType& q, const TensorType& k, const TensorType& v) {
  const bool fits = heads > 0 && q.rank > 1 && q.rank == k.rank && q.last() > 0 && k.last() > 0 &&
                    k.last() == v.last() && q.last() % heads == 0 && q.last() % k.last() == 0 &&
                    k.last() % (q.last() / heads) == 0;
  return fits ? q.last() / k.last() : 1;
}
/// Keys or values with `times` copies of each head, of `features` each.
template <int times, int features, class K>
constexpr auto repeated_heads(const K& k, const std::source_location& at) {
  if constexpr (times == 1) return k;
  else {
    constexpr auto by_head = [](int copies) {
      const int rows = K::dims.extent[0] * int(K::dims.span(1, K::dims.rank - 1)) * (K::dims.last() / features);
      return TensorType{{rows, copies, features}, 3, K::dims.dtype};
    };
    constexpr TensorType all = [] {
      TensorType t = K::dims;
      t.extent[t.rank - 1] *= times;
      return t;
    }();
    const auto copies =
        apply<BroadcastTo, SumTo::to(by_head(times))>(at, apply<Reshape, Reshape::to(by_head(1))>(at, k));
    return apply<Reshape, Reshape::to(all)>(at, copies);
  }
}
}  // namespace detail

/// Attention of queries, keys, and values: `attention<AttentionConfig{.heads = 4, .causal = true}>(q, k, v)`. Several
/// heads of queries may share one of the keys and values (grouped-query attention): k and v are [..., S, shared · D]
/// then, where `shared` divides the heads, and head i reads theirs with number i · shared / heads, as with PyTorch's
/// enable_gqa.
template <AttentionConfig config = AttentionConfig{}, Operand Q, Operand K, Operand V>
constexpr auto attention(const Q& q, const K& k, const V& v,
                         std::source_location at = std::source_location::current()) {
  constexpr Attention::Config settings{config.heads, config.causal, config.scale};
  if constexpr (is_broken<Q> || is_broken<K> || is_broken<V>) return apply<Attention, settings>(at, q, k, v);
  else {
    constexpr int times = detail::sharing(config.heads, Q::dims, K::dims, V::dims);
    constexpr int features = Q::dims.last() / (config.heads > 0 ? config.heads : 1);
    return apply<Attention, settings>(at, q, detail::repeated_heads<times, features>(k, at),
                                      detail::repeated_heads<times, features>(v, at));
  }
}
/// Self attention of one tensor that holds queries, keys, and values side by side along its last axis.
template <AttentionConfig config = AttentionConfig{}>
constexpr auto attention(const Operand auto& qkv, std::source_location at = std::source_location::current()) {
  return apply<Attention, Attention::Config{config.heads, config.causal, config.scale}>(at, qkv);
}

}  // namespace tenon::ops

namespace tenon::inline TENON_ABI {
using ops::AttentionConfig;
}  // namespace tenon
