// Rotary positions as PyTorch's networks write them: x cos + turned(x) sin, where the halves of a head change places.
#pragma once
#include "attention.hpp"
#include "patterns.hpp"

namespace importer {

/// The nodes that end such a group, by their output.
inline std::map<std::string, Matcher::Values> rotary_groups(const ReadGraph& graph) {
  const Matcher matcher(graph.nodes, graph.initializers);
  std::map<std::string, Matcher::Values> groups;
  for (const ReadNode& node : graph.nodes) {
    Matcher::Values values = matcher.match(node, "Add(Mul(x,c),Mul(Concat(Neg(b),a),s))");
    if (!values.empty() && !node.outputs.empty()) groups[node.outputs[0]] = std::move(values);
  }
  return groups;
}

/// One such group.
class RotarySearch {
 public:
  RotarySearch(const NodeView& node, const Matcher::Values& group) : n(node), g(node.g), group_(group) {}

  /// Whether the node became a rotary_embedding.
  bool run() const {
    for (const auto& [letter, name] : group_)
      if (id(letter) < 0) return false;
    View x = features_last(view('x'));
    const Shape shape = g[x.base].shape;
    const HeadsOf heads(g, x, false);
    if (!heads.found || x.scale != 1 || shape.size() != 3 || !shape[1].is_number() || !is_half('a', false) ||
        !is_half('b', true))
      return false;
    const auto angles = table(shape[1].factor, heads.features);
    if (!angles) return false;
    x = of_all(n, x);
    const Shape all = g[x.base].shape;
    x.base = add_call(n, "rotary_embedding($0, $1)", {x.base, parameter(*angles)}, all);
    g.needs_more = true;
    give_view(n, 0, std::move(x));
    return true;
  }

 private:
  int id(char letter) const {
    const auto found = g.id_of.find(group_.at(letter));
    return found == g.id_of.end() ? -1 : found->second;
  }
  View view(char letter) const {
    const Value& v = g[id(letter)];
    return v.view && v.special == Special::view ? *v.view : plain_view(g, id(letter));
  }
  /// A view of [n, T, heads, D] that a reshape made of [n, T, heads D], as one of the latter.
  View features_last(View v) const {
    const Shape& base = g[v.base].shape;
    if (base.size() != 4 || !base[3].is_number() || v.first != 0 || !(base[3] == Extent(v.width))) return v;
    const int before = before_reshape(n, v.base);
    const Shape wanted{base[0], base[1], base[2] * base[3]};
    if (!(g[before].shape == wanted) || !wanted[2].is_number()) return v;
    for (Pieces& pieces : v.dims) {
      for (Piece& p : pieces)
        if (p.axis >= 2) p.inner *= p.axis == 2 ? v.width : 1, p.axis = 2;
      pieces = joined(pieces);
    }
    v.base = before, v.width = wanted[2].factor;
    return v;
  }
  /// Whether a value is a half of the last axis of x.
  bool is_half(char letter, bool is_second) const {
    const View half = view(letter), all = view('x');
    const long width = all.width / 2;
    Shape shape = shape_of(all);
    shape.back() = Extent(width);
    const bool is_whole = all.first == 0 && Extent(all.width) == g[all.base].shape.back();
    if (!is_whole || !(shape_of(half) == shape)) return false;
    const bool is_beside = std::equal(half.dims.begin(), half.dims.end() - 1, all.dims.begin(), all.dims.end() - 1);
    return half.base == all.base && half.width == width && half.first == (is_second ? width : 0) && half.scale == 1 &&
           is_beside;
  }
  /// The elements of a constant [T, D] whose halves are equal, the first half of each row.
  std::optional<std::vector<float>> half_rows(char letter, long rows, long features) const {
    const int from = id(letter);
    if (from < 0 || !g[from].is_constant() || g[from].type != 1) return std::nullopt;
    const auto& repeated = g[from].repeated;
    if (repeated ? !repeated->slope.empty() : !array_of(g[from]) || !array_of(g[from])->dynamic.empty())
      return std::nullopt;
    const ReadTensor& t = repeated ? repeated->one : tensor_of(n, from);
    const std::vector<double> all = elements_of(t);
    if (t.extents.size() < 2 || t.extents.back() != features || t.extents.end()[-2] != rows ||
        long(all.size()) != rows * features)
      return std::nullopt;
    std::vector<float> half;
    for (long row = 0; row < rows; ++row)
      for (long k = 0; k < features / 2; ++k) {
        const double element = all[std::size_t(row * features + k)];
        if (element != all[std::size_t(row * features + k + features / 2)]) return std::nullopt;
        half.push_back(float(element));
      }
    return half;
  }
  /// The table of rotary_embedding, [T, D]: cosines, then sines.
  std::optional<std::vector<float>> table(long rows, long features) const {
    if (features % 2 != 0) return std::nullopt;
    const auto cosines = half_rows('c', rows, features), sines = half_rows('s', rows, features);
    if (!cosines || !sines) return std::nullopt;
    std::vector<float> all;
    for (long row = 0; row < rows; ++row)
      for (const auto* const half : {&*cosines, &*sines})
        all.insert(all.end(), half->begin() + row * features / 2, half->begin() + (row + 1) * features / 2);
    return all;
  }
  /// The table as a parameter of the module, which is not trained.
  int parameter(const std::vector<float>& all) const {
    int& made = g.tables[{id('c'), text("rotary ", id('s'), " ", n.scope)}];
    if (made != 0) return made;
    const std::int64_t rows = g[id('c')].shape.end()[-2].factor;
    g.made.push_back({"/rotary", 1, {rows, std::int64_t(all.size()) / rows}, {}});
    ReadTensor& t = g.made.back();
    t.bytes.assign(reinterpret_cast<const char*>(all.data()), all.size() * sizeof(float));
    made = g.add_value(t.name);
    describe_constant(g[made], t);
    const Shape shape = g[made].shape;
    give_parameter(n, t, shape, n.scope, made);
    g.calls.back().member->kind = "rotary";
    return made;
  }

  const NodeView& n;
  Graph& g;
  const Matcher::Values& group_;
};

/// Whether the node became a rotary_embedding.
inline bool is_rotary(const NodeView& n) {
  const auto group = n.g.rotary_groups.find(n.node.outputs[0]);
  return group != n.g.rotary_groups.end() && RotarySearch(n, group->second).run();
}

}  // namespace importer
