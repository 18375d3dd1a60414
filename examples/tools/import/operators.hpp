// Nodes that are operators of Tenon: the code of each, and the shape of its result.
#pragma once
#include "cells.hpp"
#include "elements.hpp"

namespace importer {

/// The shape of two operands that are stretched to each other.
inline Shape stretched(const NodeView& n, const Shape& a, const Shape& b) {
  Shape result = a.size() >= b.size() ? a : b;
  const Shape& other = a.size() >= b.size() ? b : a;
  for (std::size_t k = 1; k <= other.size(); ++k) {
    Extent& to = result[result.size() - k];
    const Extent& from = other[other.size() - k];
    if (to == Extent(1)) to = from;
    else if (!(from == Extent(1)) && !(from == to)) n.refuse("the shapes of its inputs do not fit");
  }
  return result;
}

/// Whether equal elements make the result larger than the other operands: as a number they would not.
inline bool stretches_others(const NodeView& n, std::size_t k) {
  if (n.shape(k).empty() || !stretches_operands(n.node.operation)) return false;
  std::optional<Shape> others;
  for (std::size_t i = 0; i < n.ids.size(); ++i)
    if (i != k && !(n.in(i).is_scalar() && n.in(i).call < 0))
      others = others ? stretched(n, *others, n.shape(i)) : n.shape(i);
  return others && !(stretched(n, *others, n.shape(k)) == *others);
}
/// The code of input k, "$i": a scalar as a number, a constant as a parameter of the network.
class Operands {
 public:
  explicit Operands(const NodeView& n) : n_(n) {}
  std::string operator()(std::size_t k) {
    const Value& v = n_.in(k);
    if (v.is_scalar() && v.call < 0 && !stretches_others(n_, k)) return scalar_text(v);
    return tensor(k);
  }
  std::string tensor(std::size_t k) {
    ids.push_back(readable(n_, n_.id(k)));
    return "$" + std::to_string(ids.size() - 1);
  }
  std::vector<int> ids;

  /// The value, with code: a large constant becomes a parameter of the module that reads it.
  static int readable(const NodeView& n, int id) {
    if (const Value& v = n.g[id]; v.call >= 0 && v.tensor && n.g.calls[std::size_t(v.call)].code == "@" &&
                                  n.g.calls[std::size_t(v.call)].scope != n.scope && is_weight(*v.tensor)) {
      int& own = n.g.tables[{id, n.scope}];
      if (own == 0) {
        Value copy = v;
        copy.call = -1;
        n.g.values.push_back(std::move(copy));
        own = readable(n, int(n.g.values.size()) - 1);
      }
      return own;
    }
    Value& v = n.g[id];
    if (v.call >= 0 || v.origin >= 0 || (!v.is_constant() && !v.is_stretched)) return id;
    if (v.filled && !v.whole && !v.tensor) return equal_elements(n, id);
    if (v.repeated || v.is_stretched) return samples(n, id);
    const Shape shape = v.shape;
    give_parameter(n, tensor_of(n, id), shape, n.scope, id);
    return id;
  }

 private:
  const NodeView& n_;
};

inline void unary(const NodeView& n, const std::string& name, const std::string& cell = "", bool more = false) {
  const Shape shape = n.shape(0);
  Operands x(n);
  const std::string code = name + "(" + x.tensor(0) + ")";
  n.out(0, shape, n.in(0).type);
  n.call(code, x.ids).cell = cell;
  n.g.needs_more = n.g.needs_more || more;
}
/// Whether a triangle has the extents of the scores that it hides.
inline bool hides(const NodeView& n, std::size_t mask, std::size_t scores) {
  const Shape &m = n.shape(mask), &s = n.shape(scores);
  return m.size() >= 2 && s.size() >= m.size() && m.back() == s.back() && m[m.size() - 2] == s[s.size() - 2] &&
         s.back() == s[s.size() - 2];
}
/// Whether nothing else reads the result: what is hidden by the least number and by infinity is 0 there.
inline bool is_read_by_softmax(const NodeView& n) {
  long readers = 0;
  for (const ReadNode& node : n.g.model.nodes)
    if (node.operation == "Softmax" && node.inputs == std::vector<std::string>{n.node.outputs[0]}) ++readers;
  return readers > 0 && n.g.uses[n.node.outputs[0]] == readers;
}
inline void infix(const NodeView& n, const std::string& sign, int level, bool is_test = false) {
  const std::string& op = n.node.operation;
  for (std::size_t k = 0; op == "Add" && k < 2; ++k)
    if ((n.in(k).special == Special::hidden || (n.in(k).special == Special::nearly_hidden && is_read_by_softmax(n))) &&
        hides(n, k, 1 - k)) {
      n.out(0, stretched(n, n.shape(0), n.shape(1)), 1);
      n.call("causal_mask($0)", {n.id(1 - k)});
      return;
    }
  if (op == "Add" && (add_bias(n) || add_positions(n))) return;
  if (op == "Div" && !is_real_type(n.in(0).type)) n.refuse("a quotient of whole numbers is not in scope");
  Shape shape = stretched(n, n.shape(0), n.shape(1));
  if (op == "Equal") {  // zeros of a lower triangle
    for (std::size_t k = 0; k < 2; ++k)
      if (n.in(k).special == Special::lower && n.in(1 - k).is_scalar() && n.in(1 - k).scalar() == 0) {
        n.out(0, shape, 9).special = Special::above;
        return;
      }
  }
  Operands x(n);
  const std::string a = x(0), b = x(1);
  if (x.ids.empty()) n.refuse("it computes with two constants");
  if (x.ids.size() == 2 && n.shape(0) == shape) x.ids[1] = before_stretch(n, x.ids[1]);
  else if (x.ids.size() == 2 && n.shape(1) == shape) x.ids[0] = before_stretch(n, x.ids[0]);
  n.out(0, shape, is_test ? 9 : n.in(0).type);
  n.call(a + " " + sign + " " + b, x.ids, level);
}
/// A test of each element.
inline void unary_test(const NodeView& n, const std::string& name) {
  unary(n, name, "", true);
  n.g[n.g.id_of[n.node.outputs[0]]].type = 9;
}
inline void reciprocal(const NodeView& n) {
  const Shape shape = n.shape(0);
  Operands x(n);
  x.tensor(0);
  n.out(0, shape, n.in(0).type);
  n.call("1 / $0", x.ids, 1);
}
/// x itself with a shape, of "x and true" and the like.
inline void give_stretched(const NodeView& n, std::size_t k, const Shape& shape) {
  if (n.shape(k) == shape) return n.alias(0, n.id(k));
  Operands x(n);
  const std::string code = "broadcast_to<" + n.g.shape(shape) + ">(" + x.tensor(k) + ")";
  n.out(0, shape, n.in(k).type);
  n.call(code, x.ids);
}
inline void function_of_two(const NodeView& n, const std::string& name, bool more = false) {
  const Shape shape = stretched(n, n.shape(0), n.shape(1));
  for (std::size_t k = 0; k < 2; ++k)
    if (const auto equal = equal_element(n.g, n.id(k));
        equal && (name == "logical_and" || name == "logical_or") && (*equal != 0) == (name == "logical_and"))
      return give_stretched(n, 1 - k, shape);
  Operands x(n);
  const std::string a = name == "leaky_relu" ? x.tensor(0) : x(0), b = x(1);
  if (x.ids.empty()) n.refuse("it computes with two constants");
  n.out(0, shape, n.in(0).type);
  n.call(name + "(" + a + ", " + b + ")", x.ids);
  n.g.needs_more = n.g.needs_more || more;
}
/// An operator of any number of inputs. `join` writes the code of two of them.
template <class Join>
void chain_of_two(const NodeView& n, const Join& join, int level = 0, const std::string& divided = "") {
  if (n.ids.size() == 1) return n.alias(0, n.id(0));
  Shape shape = n.shape(0);
  Operands x(n);
  std::string code = x(0);
  for (std::size_t k = 1; k < n.ids.size(); ++k) {
    shape = stretched(n, shape, n.shape(k));
    code = join(code, x(k));
    if (x.ids.empty()) n.refuse("it computes with two constants");
  }
  n.out(0, shape, n.in(0).type);
  n.call(divided.empty() ? code : "(" + code + ")" + divided, x.ids, level);
}
/// "maximum(maximum(a, b), c)"
inline void chain_of_calls(const NodeView& n, const std::string& name) {
  chain_of_two(n, [&](const std::string& a, const std::string& b) { return name + "(" + a + ", " + b + ")"; });
}
/// "a + b + c", or their mean.
inline void sum(const NodeView& n, bool is_mean) {
  const std::string divided = is_mean ? " / " + std::to_string(n.ids.size()) : "";
  chain_of_two(n, [](const std::string& a, const std::string& b) { return a + " + " + b; }, is_mean ? 1 : 2, divided);
}
/// An activation with a setting.
inline void with_alpha(const NodeView& n, const std::string& name, float usual) {
  const Shape shape = n.shape(0);
  Operands x(n);
  const float alpha = n.real("alpha", usual);
  const std::string setting = alpha == 1 ? "" : ", " + real_text(double(alpha));
  const std::string code = name + "(" + x.tensor(0) + setting + ")";
  n.out(0, shape, n.in(0).type);
  n.call(code, x.ids);
  n.g.needs_more = true;
}
inline void selu(const NodeView& n) {
  const float alpha = n.real("alpha", 1.67326319f), gamma = n.real("gamma", 1.05070102f);
  if (std::abs(alpha - 1.67326319f) > 1e-6f || std::abs(gamma - 1.05070102f) > 1e-6f)
    n.refuse("only the usual alpha and gamma are in scope");
  unary(n, "selu", "", true);
}
/// alpha x + beta, limited to 0 and 1.
inline void hard_sigmoid(const NodeView& n) {
  const float alpha = n.real("alpha", 0.2f), beta = n.real("beta", 0.5f);
  if (std::abs(alpha - 1 / 6.f) < 1e-6f && beta == 0.5f) return unary(n, "hsigmoid", "", true);
  const Shape shape = n.shape(0);
  Operands x(n);
  const std::string code = "clip_by_value(" + x.tensor(0) + factor_text(double(alpha)) + " + " +
                           whole_or_real_text(double(beta)) + ", 0, 1)";
  n.out(0, shape, n.in(0).type);
  n.call(code, x.ids);
}
inline void mod(const NodeView& n) {
  const bool is_fmod = n.whole("fmod", 0) != 0;
  if (!is_fmod && is_real_type(n.in(0).type)) n.refuse("real numbers need fmod = 1");
  function_of_two(n, is_fmod ? "fmod" : "floor_mod", true);
}

inline void global_pool(const NodeView& n, const std::string& name) {
  Shape shape = n.shape(0);
  std::string axes;
  for (std::size_t k = 2; k < shape.size(); ++k) shape[k] = Extent(1), axes += (k == 2 ? "" : ", ") + std::to_string(k);
  n.out(0, shape, n.in(0).type);
  n.call(name + "_keep<" + axes + ">($0)", {n.id(0)});
}
/// `inner`: a function of each element before, or none.
inline void reduce(const NodeView& n, const std::string& name, bool more = false, const std::string& inner = "") {
  Shape shape = n.shape(0);
  std::vector<long> axes = n.plain_numbers("axes", 1);
  if (axes.empty() && n.whole("noop_with_empty_axes", 0)) return n.alias(0, n.id(0));
  if (axes.empty())
    for (std::size_t k = 0; k < shape.size(); ++k) axes.push_back(long(k));
  const bool keep = n.whole("keepdims", 1) != 0;
  std::set<std::size_t> which;
  std::string list;
  for (const long axis : axes) which.insert(n.axis(axis, shape.size()));
  Shape result;
  for (std::size_t k = 0; k < shape.size(); ++k)
    if (!which.count(k)) result.push_back(shape[k]);
    else {
      list += (list.empty() ? "" : ", ") + std::to_string(k);
      if (shape[k].has_batch() && (keep || which.size() != shape.size())) n.refuse("it mixes the samples of a batch");
      if (keep) result.push_back(Extent(1));
    }
  Operands x(n);
  const bool is_all = !keep && which.size() == shape.size();
  const std::string operand = inner.empty() ? x.tensor(0) : inner + "(" + x.tensor(0) + ")";
  const std::string code = name + (is_all ? "(" : (keep ? "_keep<" : "<") + list + ">(") + operand + ")";
  n.out(0, result, n.in(0).type);
  n.call(code, x.ids);
  n.g.needs_more = n.g.needs_more || more;
}

inline void matmul(const NodeView& n) {
  const Value& b = n.in(1);
  if (b.tensor && b.tensor->extents.size() == 2 && b.type == 1 && !n.in(0).is_constant())
    return dense(n, false, nullptr);
  const Shape &x = n.shape(0), &y = n.shape(1);
  if (x.size() < 2 || y.size() < 2) n.refuse("it multiplies a vector");
  Shape shape = stretched(n, Shape(x.begin(), x.end() - 2), Shape(y.begin(), y.end() - 2));
  shape.push_back(x[x.size() - 2]), shape.push_back(y.back());
  Operands operands(n);
  const std::string left = operands.tensor(0), right = operands.tensor(1);
  n.out(0, shape, n.in(0).type);
  n.call("matmul(" + left + ", " + right + ")", operands.ids);
}
/// A Dense cell of a constant, which stays one to be trained. PyTorch's exporter gives its weight such a name. Whether
/// the node is that.
inline bool dense_of_constant(const NodeView& n) {
  if (n.node.operation != "MatMul" || n.ids.size() != 2 || !n.has(0) || !n.has(1)) return false;
  const ReadTensor* const weight = n.in(1).tensor;
  const bool is_transposed = weight && weight->name.starts_with("onnx::MatMul_") && weight->extents.size() == 2;
  if (!is_transposed || weight->type != 1 || !n.in(0).tensor || n.in(0).type != 1 || n.rank(0) < 2) return false;
  NodeView inner(n.g, n.node, n.scope);
  inner.ids[0] = Operands::readable(n, n.id(0));
  dense(inner, false, nullptr);
  return true;
}
inline void softmax(const NodeView& n, const std::string& name) {
  const std::size_t rank = n.rank(0), axis = n.axis(n.whole("axis", -1), rank);
  const Shape shape = n.shape(0);
  n.out(0, shape, n.in(0).type);
  n.call(name + (axis + 1 == rank ? "" : "<" + std::to_string(axis) + ">") + "($0)", {n.id(0)});
}
inline void cast(const NodeView& n) {
  const long to = n.whole("to", 0);
  const Value& v = n.in(0);
  if (v.type == to || v.special == Special::above || v.special == Special::lower || v.special == Special::counting)
    return n.alias(0, n.id(0));
  const char* type = to == 1 ? "float" : to == 6 ? "std::int32_t" : to == 7 ? "std::int64_t" : to == 9 ? "bool" : "";
  if (!*type) n.refuse("only float32, int32, int64, and bool are in scope");
  const Shape shape = n.shape(0);
  if (v.is_scalar() && v.call < 0 && v.origin < 0) {
    const auto whole = is_real_type(v.type) ? held(v.scalar(), int(to)) : held(v.whole_scalar(), int(to));
    if (to != 1 && !whole) n.refuse("ONNX does not say what this number is in its new type");
    Value& made = n.out(0, shape, int(to));
    made.filled = to == 1 ? double(float(v.scalar())) : double(*whole);
    const Extent count = count_of(shape);
    if (to != 1 && count.is_number() && count.factor >= 0 && count.factor <= 64)
      made.whole = std::vector<Extent>(std::size_t(count.factor), Extent(*whole));
    return;
  }
  if (Call* const made = v.call < 0 ? nullptr : &n.g.calls[std::size_t(v.call)];
      made && made->code == "cast<std::int64_t>($0)" && n.g[made->inputs[0]].type == to && n.uses(0) == 1) {
    made->is_dropped = true;  // places, which ONNX has as int64
    return n.alias(0, made->inputs[0]);
  }
  n.out(0, shape, int(to));
  n.call("cast<" + std::string(type) + ">($0)", {n.id(0)});
}
inline void clip(const NodeView& n) {
  const auto limit = [&](std::size_t k, double without) {
    if (!n.has(k)) return without;
    if (!n.in(k).is_scalar()) n.refuse("its limits must be numbers of the file");
    return n.in(k).scalar();
  };
  const double low = limit(1, -INFINITY), high = limit(2, INFINITY);
  const bool is_real = is_real_type(n.in(0).type);
  if (low == 0 && high == 6 && is_real) return unary(n, "relu6", "nn::ReLU6", true);
  if (low == -INFINITY && high == INFINITY) return n.alias(0, n.id(0));
  const auto number_of = [&](std::size_t k) { return is_real ? real_text(n.in(k).scalar()) : scalar_text(n.in(k)); };
  const Shape shape = n.shape(0);
  Operands x(n);
  std::string code = x.tensor(0);
  n.out(0, shape, n.in(0).type);
  if (high == INFINITY) code = "maximum(" + code + ", " + number_of(1) + ")";
  else if (low == -INFINITY) code = "minimum(" + code + ", " + number_of(2) + ")";
  else if (low > high)
    code = "minimum(maximum(" + code + ", " + number_of(1) + "), " + number_of(2) + ")";  // it is high
  else code = "clip_by_value(" + code + ", " + number_of(1) + ", " + number_of(2) + ")";
  n.call(code, x.ids);
}
inline void gelu(const NodeView& n) {
  if (n.word("approximate", "none") == "tanh") return unary(n, "gelu", "nn::GELU");
  unary(n, "gelu<ops::GeluForm::erf>");
}

}  // namespace importer
