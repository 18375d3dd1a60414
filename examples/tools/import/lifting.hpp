// Nodes that read views: what only moves axes stays a view, what computes element by element or along the last axis
// does so on the base.
#pragma once
#include "attention.hpp"
#include "movement.hpp"
#include "shared_heads.hpp"
#include "view_parts.hpp"

namespace importer {

class Lifting {
 public:
  /// `rule` translates the operator; nullptr: it has none.
  Lifting(NodeView& node, void (*rule)(const NodeView&)) : n(node), g(node.g), op(node.node.operation), rule_(rule) {}

  /// Whether the node is translated. If not, its inputs have code.
  bool run() {
    if (n.ids.empty() || in({"Shape", "LSTM", "GRU", "If", "Loop", "Scan"})) return false;  // they take views
    if ((is(0, Special::scores) || is(0, Special::attended)) && changes_nothing()) return n.alias(0, n.id(0)), true;
    for (std::size_t k = 0; k < n.ids.size(); ++k)
      if (is(k, Special::scores) || (is(k, Special::attended) && op == "Softmax")) {
        if (change_scores(n, k)) return true;
      }
    if (op == "MatMul" && n.ids.size() == 2 && n.has(0) && n.has(1)) {
      if (attend(n) || (any_view() && find_scores(n))) return true;
    }
    if (op == "Transpose" && begins()) return moved();
    if (op == "Reshape" && cuts_features()) return true;
    for (int& id : n.ids)
      if (id >= 0 && (g[id].special == Special::scores || g[id].special == Special::attended)) id = in_code(n, id);
    if (!any_view()) return false;
    if (moves() || one_input() || along_last() || over_axes() || two_inputs() || product() || rows()) return true;
    for (int& id : n.ids)
      if (id >= 0 && g[id].special == Special::view) id = materialized(n, id);
    return false;
  }

 private:
  bool is(std::size_t k, Special what) const { return n.has(k) && n.in(k).special == what; }
  bool any_view() const {
    for (std::size_t k = 0; k < n.ids.size(); ++k)
      if (is(k, Special::view)) return true;
    return false;
  }
  bool changes_nothing() const {
    return in({"Identity", "Dropout"}) || (op == "Cast" && n.whole("to", 0) == n.in(0).type);
  }
  /// Whether a transpose moves the samples away from the first axis, so that a view begins.
  bool begins() const {
    if (!n.has(0) || is(0, Special::view) || !n.in(0).has_shape || n.in(0).special != Special::none) return false;
    const auto order = n.list("perm", 0, 0);
    return (n.in(0).call >= 0 || n.in(0).origin >= 0) && n.rank(0) > 1 && n.shape(0)[0].has_batch() &&
           order.size() == n.rank(0) && order[0] != 0;
  }
  /// Whether a reshape cuts an axis into heads, [n, T, 3, heads, D], so that a view begins.
  bool cuts_features() const {
    if (!n.has(0) || n.in(0).special != Special::none || n.in(0).call < 0 || !n.in(0).has_shape) return false;
    if (n.rank(0) < 3 || !n.shape(0)[0].has_batch() || !n.has(1) || !n.in(1).whole) return false;
    View v = view();
    const Shape wanted = wanted_shape(n);
    const auto dims = cut(flat(v), wanted);
    if (!dims || wanted.size() < (n.rank(0) == 3 ? 4 : 5) || !((*dims)[0] == v.dims[0])) return false;
    v.dims = *dims;
    std::map<std::size_t, int> parts;  // of each axis
    for (const Piece& p : flat(v)) ++parts[p.axis];
    const auto is_cut = [](const auto& axis) { return axis.second > 1; };
    const bool is_last = n.rank(0) == 3 && (is_whole(g, v, 1, 1) || (v.dims[1].empty() && is_whole(g, v, 2, 1)));
    const bool is_one = wanted.size() == joined_axes(v, false).size() + 2 && wanted.size() > 4 &&
                        std::count_if(parts.begin(), parts.end(), is_cut) == 1;
    if (!is_last && !is_one) return false;
    const Shape joined = joined_axes(v, true);
    if (joined == n.shape(0)) return give(std::move(v));
    View of_joined = plain_view(g, reshaped(n, v.base, joined));
    const auto of_its = cut(flat(of_joined), wanted);
    if (!of_its) return false;
    of_joined.dims = *of_its;
    return give(std::move(of_joined));
  }
  /// The shape of the base with axes joined that a view has as one; without axes of one element before the steps if
  /// `drops_ones`.
  Shape joined_axes(const View& v, bool drops_ones) const {
    const Shape& base = g[v.base].shape;
    const auto is_joined = [&](std::size_t axis) {
      const auto has = [&](const Pieces& pieces, std::size_t wanted) {
        return std::any_of(pieces.begin(), pieces.end(), [&](const Piece& p) { return p.axis == wanted; });
      };
      return std::any_of(v.dims.begin(), v.dims.end(),
                         [&](const Pieces& pieces) { return has(pieces, axis - 1) && has(pieces, axis); });
    };
    Shape shape;
    for (std::size_t axis = 0; axis < base.size(); ++axis) {
      const bool is_one = drops_ones && base[axis] == Extent(1) && axis + 2 < base.size();
      if (axis > 0 && (is_one || is_joined(axis))) shape.back() = shape.back() * base[axis];
      else shape.push_back(base[axis]);
    }
    return shape;
  }
  View view(std::size_t k = 0) const { return view_of(n, k); }
  bool give(View v) const { return give_view(n, 0, std::move(v)), true; }
  bool in(std::initializer_list<std::string_view> names) const {
    return std::find(names.begin(), names.end(), op) != names.end();
  }

  bool moved() const {
    View v = view();
    std::vector<long> order = n.list("perm", v.dims.size(), 0);
    std::vector<Pieces> dims;
    for (const long axis : order) dims.push_back(v.dims[n.axis(axis, v.dims.size())]);
    if (std::set<long>(order.begin(), order.end()).size() != order.size()) n.refuse("its order of axes is damaged");
    v.dims = std::move(dims);
    return give(std::move(v));
  }
  bool moves() const {
    if (!is(0, Special::view)) return false;
    View v = view();
    if (op == "Transpose") return n.node.find("perm") && moved();
    if (changes_nothing()) return n.alias(0, n.id(0)), true;
    if (op == "Reshape") {
      const auto dims = cut(flat(v), wanted_shape(n));
      if (dims) v.dims = *dims;
      return dims && give(std::move(v));
    }
    if (op == "Unsqueeze") {
      const std::vector<long> axes = n.plain_numbers("axes", 1);
      std::set<std::size_t> places;
      for (const long axis : axes) places.insert(n.axis(axis, v.dims.size() + axes.size()));
      for (const std::size_t place : places)
        v.dims.insert(v.dims.begin() + long(std::min(place, v.dims.size())), Pieces());
      return give(std::move(v));
    }
    if (op == "Squeeze") {
      std::set<std::size_t> places;
      for (const long axis : n.plain_numbers("axes", 1)) places.insert(n.axis(axis, v.dims.size()));
      for (auto place = places.rbegin(); place != places.rend(); ++place) {
        if (!v.dims[*place].empty()) return false;
        v.dims.erase(v.dims.begin() + long(*place));
      }
      return !places.empty() && give(std::move(v));
    }
    if (op == "Expand") return repeats_heads(n, v);
    if (op == "GatherND") return one_row();
    if (in({"Gather", "Slice", "Split"}) && has_inner_cut(v)) {  // other nodes take parts of the same
      v = apart(n, v);
      g[n.id(0)].view = std::make_shared<View>(v);
    }
    return op == "Gather" ? one_place(std::move(v)) : op == "Slice" ? part(std::move(v)) : op == "Split" && parts(v);
  }
  /// Whether the axis of the node is one that its base has inside of another.
  bool has_inner_cut(const View& v) const {
    const auto axes = n.plain_numbers(op == "Slice" ? "axes" : "axis", op == "Slice" ? 3 : std::size_t(-1));
    const std::size_t dim = n.axis(axes.size() == 1 ? axes[0] : 0, v.dims.size());
    const bool is_known = !v.dims[dim].empty() && extent_of(v.dims[dim]).is_number();
    return is_known && !is_outermost(g, v, v.dims[dim][0]);
  }
  /// A known place of the first axis, which stays: a part of it.
  bool one_row() const {
    const auto at = n.has(1) ? known_of(g, n.id(1)) : std::nullopt;
    if (!at || at->is_real() || at->wholes.size() != 1 || at->shape.size() != 2 || n.whole("batch_dims", 0) != 0)
      return false;
    const Extent& size = n.shape(0)[0];
    if (!size.is_number()) return false;
    const auto place = long(n.axis(at->wholes[0], std::size_t(size.factor)));
    ReadNode node = n.node;
    node.operation = "Slice", node.inputs.resize(1);
    set(node, "axes", {0}), set(node, "starts", {place}), set(node, "ends", {place + 1});
    NodeView inner(g, node, n.scope);
    return Lifting(inner, slice).moves();
  }
  /// One place of an axis: a part of the last axis of the base, or a place of another one.
  bool one_place(View v) const {
    const std::size_t dim = n.axis(n.whole("axis", 0), v.dims.size());
    if (!n.has(1) || !n.in(1).whole || n.rank(1) != 0 || !(*n.in(1).whole)[0].is_number()) return false;
    const long at = (*n.in(1).whole)[0].factor;
    const auto axis = base_axis(v, dim);
    if (axis && *axis + 1 < g[v.base].shape.size() && !g[v.base].shape[*axis].has_batch()) {
      ReadNode node = n.node;
      set(node, "axis", {long(*axis)});
      v.dims.erase(v.dims.begin() + long(dim));
      return lift(without_axis(v, *axis), {base(v), n.id(1)}, &node);
    }
    const Extent extent = extent_of(v.dims[dim]);
    if (!extent.is_number()) return false;
    auto one = part_of(n, std::move(v), dim, long(n.axis(at, std::size_t(extent.factor))), 1);
    if (!one) return false;
    one->dims.erase(one->dims.begin() + long(dim));
    return give(std::move(*one));
  }
  /// Elements of some axes, one after the other.
  bool part(View v) const {
    const auto begin = n.plain_numbers("starts", 1), end = n.plain_numbers("ends", 2),
               steps = n.plain_numbers("steps", 4);
    auto axes = n.plain_numbers("axes", 3);
    for (std::size_t k = 0; axes.size() < begin.size(); ++k) axes.push_back(long(k));
    if (end.size() != begin.size() || axes.size() != begin.size() ||
        std::any_of(steps.begin(), steps.end(), [](long step) { return step != 1; }))
      return false;
    for (std::size_t k = 0; k < axes.size(); ++k) {
      const std::size_t dim = n.axis(axes[k], v.dims.size());
      const Extent size = extent_of(v.dims[dim]);
      if (!size.is_number()) {
        if (begin[k] != 0 || end[k] < 1l << 31) return false;
        continue;
      }
      const Places places = places_between(begin[k], end[k], 1, size.factor);
      if (places.count < 1) n.refuse("it has no element");
      auto taken = part_of(n, std::move(v), dim, places.first, places.count);
      if (!taken) return false;
      v = std::move(*taken);
    }
    return give(std::move(v));
  }
  bool parts(const View& v) const {
    const std::size_t dim = n.axis(n.whole("axis", 0), v.dims.size()), count = n.node.outputs.size();
    const Extent extent = extent_of(v.dims[dim]);
    if (!extent.is_number()) return false;
    std::vector<long> sizes = n.plain_numbers("split", 1);
    if (sizes.empty() && extent.factor % long(count) == 0) sizes.assign(count, extent.factor / long(count));
    long all = 0;
    for (const long size : sizes) all += size < 1 ? extent.factor + 1 : std::min(size, extent.factor + 1);
    if (all != extent.factor || sizes.size() != count) return false;
    std::vector<View> made;
    const bool is_last = is_whole(g, v, dim, g[v.base].shape.size() - 1);
    if (auto all_of_them = is_last ? std::nullopt : all_parts(n, v, dim, sizes)) made = std::move(*all_of_them);
    long first = 0;
    for (std::size_t k = 0; made.size() < count; first += sizes[k++]) {
      auto one = part_of(n, v, dim, first, sizes[k]);
      if (!one) return false;
      made.push_back(std::move(*one));
    }
    for (std::size_t k = 0; k < count; ++k) give_view(n, k, std::move(made[k]));
    return true;
  }

  /// The axis of the base that an axis of a view is.
  std::optional<std::size_t> base_axis(const View& v, std::size_t dim) const {
    for (std::size_t axis = 0; axis < g[v.base].shape.size(); ++axis)
      if (!(g[v.base].shape[axis] == Extent(1)) && is_whole(g, v, dim, axis)) return axis;
    return std::nullopt;
  }
  static View without_axis(View v, std::size_t axis) {
    for (Pieces& pieces : v.dims)
      for (Piece& p : pieces) p.axis -= p.axis > axis;
    return v;
  }
  static void set(ReadNode& node, std::string_view name, std::vector<std::int64_t> numbers) {
    std::erase_if(node.attributes, [&](const auto& a) { return a.name == name; });
    node.attributes.emplace_back();
    node.attributes.back().name = name, node.attributes.back().whole = std::move(numbers);
  }
  int base(const View& v) const { return of_all(n, v).base; }

  /// Translates the node with other inputs, and gives its result the axes of a view.
  bool lift(View axes, std::vector<int> ids, const ReadNode* node = nullptr) const {
    if (!rule_) return false;
    NodeView inner(g, node ? *node : n.node, n.scope);
    inner.ids = std::move(ids);
    rule_(inner);
    axes.base = g.id_of.at(n.node.outputs[0]);
    axes.first = 0, axes.scale = 1;
    g.id_of.erase(n.node.outputs[0]);
    const Shape& shape = g[axes.base].shape;
    axes.width = shape.empty() ? 0 : shape.back().factor;
    return give(std::move(axes));
  }
  bool is_along_last(const View& v) const {
    return !v.dims.empty() && is_whole(g, v, v.dims.size() - 1, g[v.base].shape.size() - 1);
  }
  bool one_input() const {
    if (!is(0, Special::view) || !in({"Relu", "Gelu", "Silu", "Tanh", "Sigmoid", "Erf", "Exp", "Log", "Sqrt", "Neg",
                                      "Abs", "Clip", "Cast", "HardSwish", "Softplus", "Reciprocal", "Sin", "Cos"}))
      return false;
    std::vector<int> ids = n.ids;
    ids[0] = base(view());
    return lift(view(), ids);
  }
  bool along_last() const {
    if (!is(0, Special::view) || !in({"LayerNormalization", "RMSNormalization", "Softmax", "LogSoftmax"}) ||
        n.axis(n.whole("axis", -1), n.rank(0)) + 1 != n.rank(0))
      return false;
    if (!is_along_last(view())) return along_heads(view());
    ReadNode node = n.node;
    set(node, "axis", {-1});
    std::vector<int> ids = n.ids;
    ids[0] = base(view());
    return lift(view(), ids, &node);
  }
  /// Along the last axis of a view that is the inner part of one of its base, the features of a head.
  bool along_heads(View v) const {
    const std::size_t back = g[v.base].shape.size() - 1;
    const Pieces features = v.dims.empty() ? Pieces() : v.dims.back();
    if (!rule_ || features.size() != 1 || features[0].axis != back || features[0].inner != 1 ||
        !features[0].extent.is_number())
      return false;
    v = of_all(n, v);
    const Shape all = g[v.base].shape;
    Shape cut = all;
    cut.back() = Extent(v.width / features[0].extent.factor), cut.push_back(features[0].extent);
    NodeView inner(g, n.node, n.scope);
    inner.ids[0] = reshaped(n, v.base, cut);
    rule_(inner);
    v.base = g.id_of.at(n.node.outputs[0]);
    g.id_of.erase(n.node.outputs[0]);
    v.base = reshaped(n, v.base, all);
    return give(std::move(v));
  }
  bool over_axes() const {
    if (!is(0, Special::view) || !in({"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"})) return false;
    View v = view();
    const std::vector<long> axes = n.plain_numbers("axes", 1);
    if (axes.size() != 1) return false;
    const std::size_t dim = n.axis(axes[0], v.dims.size());
    const auto axis = base_axis(v, dim);
    if (!axis) return false;
    ReadNode node = n.node;
    set(node, "axes", {long(*axis)});
    node.inputs.resize(1);
    const int from = base(v);
    if (n.whole("keepdims", 1)) v.dims[dim].clear();
    else {
      v.dims.erase(v.dims.begin() + long(dim));
      v = without_axis(v, *axis);
    }
    return lift(v, {from}, &node);
  }
  bool two_inputs() const {
    if (!in({"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Equal", "Less", "Greater", "LessOrEqual",
             "GreaterOrEqual"}) ||
        n.ids.size() != 2)
      return false;
    const std::size_t k = is(0, Special::view) ? 0 : 1;
    View v = view(k);
    const Value& other = n.in(1 - k);
    std::vector<int> ids = n.ids;
    if (other.is_scalar() && other.call < 0) {
      if (op == "Mul" || (op == "Div" && k == 0)) {
        v.scale *= op == "Mul" ? other.scalar() : 1 / other.scalar();
        return give(std::move(v));
      }
    } else if (other.special == Special::view) {
      if (other.view->dims != v.dims || shape_of(*other.view) != shape_of(v) ||
          g[other.view->base].shape.size() != g[v.base].shape.size() || other.view->width != v.width)
        return false;
      ids[1 - k] = base(*other.view);
    } else if (other.tensor && other.shape.size() == v.dims.size() && other.call < 0) {
      ids[1 - k] = rearranged(v, *other.tensor);
      if (ids[1 - k] < 0) return false;
    } else if (!(other.is_constant() && other.shape.size() == 1 && is_along_last(v) &&
                 other.shape[0] == Extent(v.width)))
      return false;
    ids[k] = base(v);
    return lift(v, ids);
  }
  /// A constant with the axes of a view, [T, 1, C], with those of its base, [1, T, C]; -1 if its elements would move.
  int rearranged(const View& v, const ReadTensor& t) const {
    ReadTensor moved = t;
    moved.extents.assign(g[v.base].shape.size(), 1);
    std::size_t before = 0;
    for (std::size_t dim = 0; dim < v.dims.size(); ++dim) {
      if (t.extents[dim] == 1) continue;
      const auto axis = base_axis(v, dim);
      if (!axis || *axis < before) return -1;
      moved.extents[*axis] = t.extents[dim], before = *axis;
    }
    g.made.push_back(std::move(moved));
    const int id = g.add_value(n.node.name);
    describe_constant(g[id], g.made.back());
    return id;
  }
  bool product() const {
    if (!in({"MatMul", "Gemm"}) || !is(0, Special::view) || !n.has(1) || !n.in(1).tensor || n.whole("transA", 0))
      return false;
    View v = view();
    if (const Pieces pieces = flat(v); pieces.size() > 3 && pieces[0].axis == 0)
      return false;  // it has code of its own
    if (!is_along_last(v)) v = rebased(n, v);
    std::vector<int> ids = n.ids;
    ids[0] = base(v);
    const Value& weight = n.in(1);
    if (weight.shape.size() != 2) return false;
    v.dims.back() =
        joined({{g[v.base].shape.size() - 1, 1, weight.shape[op == "Gemm" && n.whole("transB", 0) ? 0 : 1]}});
    return lift(v, ids);
  }
  /// Rows of a table by ids that are a view.
  bool rows() const {
    if (op != "Gather" || !is(1, Special::view) || !n.in(0).tensor || n.whole("axis", 0) != 0 || n.rank(0) != 2)
      return false;
    View v = view(1);
    const int ids = base(v);
    v.dims.push_back(joined({{g[v.base].shape.size(), 1, n.shape(0)[1]}}));
    return lift(v, {n.id(0), ids});
  }

  NodeView& n;
  Graph& g;
  const std::string& op;
  void (*rule_)(const NodeView&);
};

}  // namespace importer
