// Adaptive pools, which PyTorch's newer exporter writes as look-ups of all elements of their windows, masks, and sums:
// one node again.
#pragma once
#include "evaluate.hpp"
#include "patterns.hpp"

namespace importer {

/// Windows that cover an axis as evenly as possible: window i has the elements from first(i) to before end(i).
struct EvenWindows {
  long extent, count;
  long first(long i) const { return i * extent / count; }
  long end(long i) const { return ((i + 1) * extent + count - 1) / count; }
};

/// Finds out what the nodes behind such a look-up compute: by computing it of an example.
class AdaptivePoolSearch {
 public:
  AdaptivePoolSearch(const ReadModel& model, const Options& options)
      : g_{model, options}, matcher_(model.nodes, model.initializers) {
    for (const ReadTensor& t : model.initializers) constants_[t.name] = &t;
  }

  /// The number of the last node of the pool that begins at node `at`. The number of all nodes if no pool begins there.
  std::size_t end_of(std::size_t at) {
    const std::vector<ReadNode>& nodes = g_.model.nodes;
    if (!begins(nodes[at])) return nodes.size();
    example();
    std::set<std::string> known{nodes[at].inputs[0]};
    for (std::size_t k = at, steps = 0; k < nodes.size() && steps < 1000; ++k) {
      const ReadNode& node = nodes[k];
      if (!reads_one(node, known)) continue;
      ++steps;
      if (!computes(node)) return nodes.size();
      known.insert(node.outputs[0]);
      if (is_result(node.outputs[0])) return k;
    }
    return nodes.size();
  }
  const std::string& image() const { return image_; }
  std::vector<std::int64_t> size() const { return {rows_.count, columns_.count}; }

 private:
  /// Whether the node takes all windows of rows and columns of a transposed image.
  bool begins(const ReadNode& node) {
    if (node.operation != "GatherND" || node.inputs.size() != 2 || !constants_.count(node.inputs[1])) return false;
    const ReadNode* const moved = matcher_.maker(node.inputs[0]);
    const ReadTensor& table = *constants_.at(node.inputs[1]);
    if (!moved || moved->operation != "Transpose" || table.type != 7 || table.extents.size() != 5) return false;
    const auto* const order = moved->find("perm");
    if (!order || order->whole != std::vector<std::int64_t>{2, 3, 0, 1} || table.extents[4] != 2) return false;
    if (table.count() == 0 || table.count() > 1 << 20) return false;
    const std::vector<double> all = elements_of(table);
    std::array<double, 2> last{0, 0};
    for (std::size_t i = 0; i < all.size(); ++i) last[i % 2] = std::max(last[i % 2], all[i]);
    constexpr double most = 1 << 10;
    if (last[0] >= most || last[1] >= most) return false;
    image_ = moved->inputs[0];
    rows_ = {long(last[0]) + 1, long(table.extents[0])}, columns_ = {long(last[1]) + 1, long(table.extents[2])};
    return true;
  }
  /// An image of one channel, with its axes as the look-up has them.
  void example() {
    Array x(1, Extents{rows_.extent, columns_.extent, 1, 1});
    for (std::size_t i = 0; i < elements_in(x.extents); ++i)
      x.reals.push_back(double(float(std::sin(double(i * i + 1)))));
    example_ = x.reals;
    g_.made.push_back(*tensor_from(x, ""));
  }
  bool reads_one(const ReadNode& node, const std::set<std::string>& known) const {
    return node.outputs.size() == 1 && std::any_of(node.inputs.begin(), node.inputs.end(),
                                                   [&](const std::string& name) { return known.count(name) > 0; });
  }
  bool computes(const ReadNode& node) try {
    for (const std::string& input : node.inputs) {
      if (input.empty() || g_.id_of.count(input)) continue;
      const bool is_example = node.operation == "GatherND";
      if (!is_example && !constants_.count(input)) return false;
      const int id = g_.add_value(input);
      const bool is_table = constants_.count(input) > 0;
      describe_constant(g_[id], is_table ? *constants_.at(input) : g_.made.back());
      g_.id_of[input] = id;
    }
    g_.cell_weights.insert(node.outputs[0]);  // whatever it is computed of
    const NodeView n(g_, node, "");
    return evaluate(n);
  } catch (const ValueError&) {
    return false;
  }
  bool is_result(const std::string& name) const {
    const auto y = array_of(g_[g_.id_of.at(name)]);
    if (!y || y->type != 1 || y->has_samples() || y->extents != Extents{1, 1, rows_.count, columns_.count})
      return false;
    for (long i = 0; i < rows_.count; ++i)
      for (long k = 0; k < columns_.count; ++k)
        if (std::abs(mean(i, k) - y->reals[std::size_t(i * columns_.count + k)]) > 1e-5) return false;
    return true;
  }
  double mean(long i, long k) const {
    double all = 0;
    for (long row = rows_.first(i); row < rows_.end(i); ++row)
      for (long column = columns_.first(k); column < columns_.end(k); ++column)
        all += example_[std::size_t(row * columns_.extent + column)];
    return all / double((rows_.end(i) - rows_.first(i)) * (columns_.end(k) - columns_.first(k)));
  }

  Graph g_;
  Matcher matcher_;
  std::map<std::string, const ReadTensor*> constants_;
  std::string image_;
  EvenWindows rows_{}, columns_{};
  std::vector<double> example_;
};

inline void join_pools(ReadModel& model, const Options& options) {
  for (std::size_t k = 0; k < model.nodes.size(); ++k) {
    if (model.nodes[k].operation != "GatherND") continue;
    AdaptivePoolSearch search(model, options);
    const std::size_t end = search.end_of(k);
    if (end == model.nodes.size()) continue;
    ReadNode& node = model.nodes[end];
    node.operation = "AdaptiveAveragePool", node.inputs = {search.image()};
    node.attributes.clear(), node.attributes.resize(1);
    node.attributes[0].name = "size", node.attributes[0].whole = search.size();
  }
}
inline void adaptive_pool(const NodeView& n) {
  const std::vector<long> size = n.list("size", 2, 0);
  Shape shape = n.shape(0);
  if (shape.size() != 4 || !shape[2].is_number() || !shape[3].is_number() || std::min(size[0], size[1]) < 1)
    n.refuse("only images of a known size are in scope");
  shape[2] = Extent(size[0]), shape[3] = Extent(size[1]);
  n.g.needs_more = true;
  n.out(0, shape, n.in(0).type);
  n.call("adaptive_avg_pool2d<" + pair_text("Size", size[0], size[1]) + ">($0)", {n.id(0)});
}

}  // namespace importer
