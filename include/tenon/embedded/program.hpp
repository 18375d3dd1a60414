// A compiled graph for one sample as a table in read-only memory, and the loop that runs it.
#pragma once
#include <tenon/core/float/denormals.hpp>
#include <tenon/graph/ir/index/indices.hpp>
#include <tenon/lowering/compiled.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::embedded {

/// The passes for one sample: no layouts for many samples, no tiles of them, no copies of parameters.
inline constexpr Passes passes{.layout = false, .tile = false, .keep = false};

/// The address of a value: where its region begins, and bytes from there; of an input its number.
struct Place {
  std::uint32_t word = 0;
  enum Base : std::uint32_t { scratch, parameters, state, constants, input, nowhere };
  static constexpr int shift = 29;
  constexpr Place() : word(std::uint32_t(nowhere) << shift) {}
  constexpr Place(Base base, long offset) : word(std::uint32_t(base) << shift | std::uint32_t(offset)) {}
  constexpr Base base() const { return Base(word >> shift); }
  constexpr std::uint32_t offset() const { return word & ((1u << shift) - 1); }
};
/// Where a value of a plan is, for one sample.
template <class P>
constexpr Place place_of(const P& plan, int id) {
  const BufferPlace& at = plan.at[id];
  switch (at.region) {
    case Region::sample: return {Place::scratch, plan.floor + at.offset};
    case Region::fixed: return {Place::scratch, at.offset + at.lift};
    case Region::parameters: return {Place::parameters, at.offset};
    case Region::state: return {Place::state, at.offset};
    case Region::constant: return {Place::constants, at.offset};
    case Region::input: return {Place::input, at.offset};
    default: return {};
  }
}

/// An operand whose elements are places in another tensor: below `high`, 0 or more.
struct Indices {
  short buffer = -1;  // of the call; -1: it has none
  bool wide = false;  // of int64
  long low = 0, high = 0, count = 0;
  const char* number = nullptr;

  bool fit(const void* numbers) const {
    for (long i = 0; i < count; ++i) {
      const long long v =
          wide ? static_cast<const std::int64_t*>(numbers)[i] : static_cast<const std::int32_t*>(numbers)[i];
      if (v < low || v >= high) return false;
    }
    return true;
  }
};

/// One call of a kernel.
struct Row {
  void (*run)(const Arguments&, long begin, long end) = nullptr;
  long n = 1, items = 0, buffers = 0;
  std::uint64_t immediate = 0;
  Place place[max_buffers]{};
  Indices indices{};
};

/// Where the regions of a program begin.
struct Memory {
  std::byte *scratch, *parameters, *state;
  const void* const* inputs;

  std::byte* at(Place place, const std::uint64_t* constants) const {
    const std::uint32_t offset = place.offset();
    switch (place.base()) {
      case Place::scratch: return scratch + offset;
      case Place::parameters: return parameters + offset;
      case Place::state: return state + offset;
      case Place::constants: return reinterpret_cast<std::byte*>(const_cast<std::uint64_t*>(constants)) + offset;
      case Place::input: return static_cast<std::byte*>(const_cast<void*>(inputs[offset]));
      default: return nullptr;
    }
  }
};

/// Whether the indices among the inputs are in their ranges.
[[gnu::noinline]] inline bool inputs_fit(const Row* rows, int count, const Memory& m) {
  for (int r = 0; r < count; ++r)
    if (const Indices& own = rows[r].indices; own.buffer >= 0)
      if (const Place at = rows[r].place[own.buffer]; at.base() == Place::input && !own.fit(m.inputs[at.offset()]))
        return false;
  return true;
}
/// Runs a table. An index outside of its range ends in refuse(), before the call that would use it; one among the
/// inputs before all calls.
[[gnu::noinline]] inline void run_rows(const Row* rows, int count, const std::uint64_t* constants, const Memory& m,
                                       std::byte* workspace) {
  if (!inputs_fit(rows, count, m))
    throw_error<ValueError>("An index among the inputs, such as a label, is outside of its range.");
  for (int r = 0; r < count; ++r) {
    const Row& row = rows[r];
    Arguments a;
    for (int k = 0; k < row.buffers; ++k) a.buffer[k] = m.at(row.place[k], constants);
    a.n = row.n, a.immediate = row.immediate, a.workspace = workspace;
    if (row.indices.buffer >= 0 && !row.indices.fit(a.buffer[row.indices.buffer]))
      throw_error<ValueError>("An index that the network computed is outside of its range.");
    if (row.items) row.run(a, 0, row.items);
  }
}

namespace detail {
template <int rows>
struct Rows {
  Row row[rows ? rows : 1]{};
  int count = 0;
  long workspace = 0;
};
template <class Graph>
constexpr Indices indices_of_row(const KernelEntry& kernel, int id) {
  Indices own;
  if (!kernel.has_indices) return own;
  const Node& node = Graph::graph[id];
  const IndexRange& range = *kernel.indices;
  const TensorType& type = Graph::graph[node.operand[range.operand]].type;
  own.buffer = short(Arguments::operand_at(range.operand));
  own.wide = type.dtype == Dtype::int64;
  own.low = range.low, own.high = range.high, own.count = type.count(1), own.number = range.number;
  return own;
}
template <class Graph>
constexpr auto make_rows() {
  Rows<Graph::instructions> made;
  for (int id = 0; id < Graph::graph.count; ++id) {
    if (Graph::kernels.of[id] < 0) continue;
    const Node& node = Graph::graph[id];
    const KernelEntry& kernel = *kernel_entries<Graph>.entry[Graph::kernels.of[id]];
    const KernelWork work = kernel.work(1);
    Row& row = made.row[made.count++];
    row.run = kernel.run, row.n = kernel.rows, row.items = work.items, row.immediate = node.immediate;
    row.place[row.buffers++] = place_of(Graph::plan, id);
    for (int k = 0; k < node.operands; ++k) row.place[row.buffers++] = place_of(Graph::plan, node.operand[k]);
    each_part(Graph::graph, id, [&](int part, int k) {
      const int at = node.operands + k;
      row.place[at] = place_of(Graph::plan, part);
      if (at >= row.buffers) row.buffers = at + 1;
    });
    row.indices = indices_of_row<Graph>(kernel, id);
    if (aligned(work.workspace) > made.workspace) made.workspace = aligned(work.workspace);
  }
  return made;
}
template <class Graph>
constexpr bool runs_here() {
  for (int id = 0; id < Graph::graph.count; ++id)
    if (Graph::graph[id].op->host_effect || is<ops::Guard>(Graph::graph[id])) return false;
  return true;
}
}  // namespace detail

#if defined(TENON_EMBEDDED) || TENON_DEFINES
inline constexpr bool has_kernels = true;
#else
inline constexpr bool has_kernels = false;
#endif

/// A Compiled graph for one sample. Its memory is the caller's.
template <class Graph>
struct Table {
  static_assert(has_kernels || !Graph::graph.count,
                "embedded.hpp plans memory with the kernels of the headers: compile this program without Tenon's "
                "compiled part (-DTENON_HEADER_ONLY=ON)");
  static_assert(detail::runs_here<Graph>(),
                "on a microcontroller a graph has no effects on the host, and no updates that may be left out");
  static constexpr auto rows = detail::make_rows<Graph>();
  /// Bytes of values, then of the kernels' workspace.
  static constexpr long values = Graph::plan.bytes(1), bytes = values + rows.workspace;

  static bool fits(const Memory& m) { return inputs_fit(rows.row, rows.count, m); }
  static void run(const Memory& m) {
    const FlushDenormals flush;
    run_rows(rows.row, rows.count, Graph::constants.bytes, m, m.scratch + values);
  }
  /// Output k of the last run.
  template <int k = 0>
  static const void* output(const Memory& m) {
    return m.at(place_of(Graph::plan, Graph::graph.output[k]), Graph::constants.bytes);
  }
};

}  // namespace tenon::embedded
TENON_INT_SIZES_END
