// A table of a network's cells, output shapes, parameters, multiply-adds, and memory.
#pragma once
#include <tenon/core/elsewhere.hpp>
#include <tenon/nn/cell.hpp>
#if TENON_DEFINES
#include <algorithm>
#include <array>

#include <tenon/ops/conv2d.hpp>
#include <tenon/ops/matmul.hpp>
#endif

namespace tenon::inline TENON_ABI {

template <class... A>
inline constexpr bool detail::is_included<detail::Header::summary, A...> = true;
namespace detail {

/// What summary_text prints: a trace in which every cell has left nodes, and totals.
struct SummarySource {
  const ParameterList& parameters;
  const std::vector<Node>& nodes;
  long n = 1;
  struct Memory {
    std::string what;
    long bytes = 0;
  };
  std::vector<Memory> memory{};  // lines under the table; their sum is the peak
};

std::string summary_text(const SummarySource& source);

/// The forward pass as training runs it, in which Dropout and batch statistics have nodes.
template <class Net, class... Keys>
struct SummaryTrace {
  static constexpr Builder trace() {
    Builder b;
    b.entries = Structure<Net>::table.entry;
    b.entry_count = Structure<Net>::count;
    b.training = true;
    Forward<Net, Keys...>::trace_arguments(b, std::index_sequence_for<Keys...>{});
    return b;
  }
  static std::vector<Node> nodes() {
    static constexpr auto captured = [] {
      constexpr int count = int(trace().nodes.size());
      Graph<count> graph;
      const Builder b = trace();
      for (int id = 0; id < count; ++id) graph[id] = b.nodes[std::size_t(id)];
      graph.count = count;
      return graph;
    }();
    return std::vector<Node>(captured.node, captured.node + captured.count);
  }
};

}  // namespace detail

namespace nn {

/// A table of a network for inputs of given types: `std::puts(nn::summary(net, x).c_str());`
///
/// One row per cell, including its sub-cells: the shape of the output for this batch, the number of parameters, and the
/// multiply-adds of products and convolutions. Below it totals, and the memory of a call in evaluation: parameters, and
/// scratch as the plan of the compiled graph has it for the context's threads. Nothing runs, so the values of x do not
/// matter; a shape mistake is a compile error, as in a call.
template <class Net, class... X>
std::string summary(const Net& net, const X&... x) {
  using Graph = Compiled<tenon::detail::Forward<Net, typename tenon::detail::KeyFor<X>::type...>>;
  if constexpr (!Graph::ok) return report<Graph>();
  else {
    const ParameterList parameters(net);
    const std::vector<Node> nodes =
        tenon::detail::SummaryTrace<Net, typename tenon::detail::KeyFor<X>::type...>::nodes();
    const long n = tenon::detail::common_batch_size("summary", x...);
    const int threads = get_context().num_threads;
    return tenon::detail::summary_text(
        {parameters,
         nodes,
         n,
         {{"parameters", parameters.bytes()}, {"scratch of an evaluation", Graph::program.bytes(n, threads)}}});
  }
}

}  // namespace nn
#if TENON_DEFINES
namespace detail {
/// One row of the table: a cell and everything below it.
struct SummaryRow {
  std::string name;
  int output = -1;  // node of the last value that the cell computed
  long parameters = 0, trained = 0, multiply_adds = 0;
};

/// Multiplications with an addition in products and convolutions; everything else counts as none.
inline long multiply_adds(const Node& node, const std::vector<Node>& nodes, long n) {
  const auto operand = [&](int k) -> const TensorType& { return nodes[std::size_t(node.operand[k])].type; };
  if (is<ops::Conv2d>(node)) return node.type.count(n) * operand(1).span(1, 4);
  if (!is<ops::MatMul>(node)) return 0;
  const TensorType& a = operand(0);
  return node.type.count(n) *
         a.size(a.rank - (ops::MatMul::first(unpack<ops::MatMul::Config>(node.attributes)) ? 2 : 1), n);
}

inline std::string with_commas(long value) {
  const std::string digits = std::to_string(value);
  std::string result;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i && (digits.size() - i) % 3 == 0) result += ',';
    result += digits[i];
  }
  return result;
}
inline std::string bytes_text(long bytes) {
  constexpr const char* units[]{"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  long tenths = bytes * 10;
  for (; tenths >= 10240 && unit < 4; ++unit) tenths = (tenths + 512) / 1024;
  return unit ? text(tenths / 10, ".", tenths % 10, " ", units[unit]) : text(bytes, " B");
}
inline std::string padded(const std::string& s, std::size_t width, bool right) {
  const std::string blanks(width > s.size() ? width - s.size() : 0, ' ');
  return right ? blanks + s : s + blanks;
}

/// Rows by entry; those of parameters stay empty.
inline std::vector<SummaryRow> summary_rows(const SummarySource& source) {
  const Entry* const table = source.parameters.table();
  std::vector<SummaryRow> rows(std::size_t(source.parameters.entries()));
  const auto for_cells_of = [&](int entry, const auto& f) {
    for (; entry >= 0; entry = table[entry].parent)
      if (!table[entry].parameter) f(rows[std::size_t(entry)]);
  };
  for (int e = 0, level = 0; e < source.parameters.entries(); ++e, level = 0) {
    if (table[e].parameter) {
      const long count = table[e].setting ? 0 : table[e].dims.count(1);
      const bool trained = table[e].trainable && source.parameters.handle(e).requires_grad();
      for_cells_of(e, [&](SummaryRow& row) { row.parameters += count, row.trained += trained ? count : 0; });
      continue;
    }
    for (int up = table[e].parent; up >= 0; up = table[up].parent) ++level;
    const std::string name = table[e].index >= 0 ? std::to_string(table[e].index) : std::string(table[e].name);
    const std::string indent(std::size_t(2 * level), ' ');
    rows[std::size_t(e)].name =
        indent + name + (table[e].class_name.empty() ? "" : " (" + std::string(table[e].class_name) + ")");
  }
  for (std::size_t id = 0; id < source.nodes.size(); ++id) {
    const Node& node = source.nodes[id];
    if (node.op->leaf || node.op->effect) continue;
    const long cost = multiply_adds(node, source.nodes, source.n);
    for_cells_of(node.scope, [&](SummaryRow& row) { row.output = int(id), row.multiply_adds += cost; });
  }
  return rows;
}

TENON_INLINE std::string summary_text(const SummarySource& source) {
  std::vector<std::array<std::string, 4>> cells{{"Cell", "Output", "Parameters", "Multiply-adds"}};
  const std::vector<SummaryRow> rows = summary_rows(source);
  for (const SummaryRow& row : rows) {
    if (row.name.empty()) continue;
    std::string shape = "-";
    if (row.output >= 0)
      shape = shape_text(AnyTensor(source.nodes[std::size_t(row.output)].type, source.n, nullptr).shape());
    cells.push_back({row.name, shape, with_commas(row.parameters), with_commas(row.multiply_adds)});
  }
  std::size_t width[4]{}, line = 6;
  for (const auto& row : cells)
    for (std::size_t k = 0; k < 4; ++k) width[k] = std::max(width[k], row[k].size());
  for (std::size_t w : width) line += w;
  const std::string rule = std::string(line, '-') + "\n";
  std::string result;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    for (std::size_t k = 0; k < 4; ++k) result.append(k ? "  " : "").append(padded(cells[i][k], width[k], k > 1));
    result.append("\n").append(i ? "" : rule);
  }
  const SummaryRow& all = rows[0];
  result += rule + text("Parameters: ", with_commas(all.parameters), ", trained ", with_commas(all.trained),
                        ", not trained ", with_commas(all.parameters - all.trained), "\n");
  result += text("Multiply-adds: ", with_commas(all.multiply_adds), " for a batch of ", source.n, "\n");
  long peak = 0;
  for (const SummarySource::Memory& m : source.memory) {
    result += text("Memory, ", m.what, ": ", bytes_text(m.bytes), "\n");
    peak += m.bytes;
  }
  return result + text("Memory, peak: ", bytes_text(peak), "\n");
}
}  // namespace detail
#endif  // TENON_DEFINES

}  // namespace tenon
