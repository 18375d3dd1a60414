// Runs the graph of a body, as often as its node asks for, with memory that the node's kernel has.
#pragma once
#include <tenon/graph/ir/index/indices.hpp>
#include <tenon/lowering/compiled.hpp>
#include <tenon/run/graph_observer.hpp>
#include <tenon/run/launch.hpp>
#include <tenon/target/moves.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::detail {

/// Memory that is handed out piece by piece. Without memory it only counts.
class Room {
 public:
  explicit Room(std::byte* begin) : begin_(begin) {}
  std::byte* take(long bytes) {
    const long at = used_;
    used_ += aligned(bytes);
    return begin_ ? begin_ + at : nullptr;
  }
  template <class T>
  T* list(long count) {
    return reinterpret_cast<T*>(take(count * long(sizeof(T))));
  }
  long used() const { return used_; }

 private:
  std::byte* begin_;
  long used_ = 0;
};

/// Of each node of a graph, the first output with whose memory it shares; -1: with none.
template <int N>
struct OutputNodes {
  short of[N + 1]{};
};
template <int N>
constexpr OutputNodes<N> output_nodes(const Graph<N>& graph) {
  OutputNodes<N> made;
  const Buffers<N> buffers = buffers_of(graph);
  short first[N + 1]{};
  for (int k = graph.outputs; k-- > 0;) first[buffers.owner[graph.output[k]]] = short(k + 1);
  for (int id = 0; id < graph.count; ++id) {
    const int owner = buffers.owner[id];
    made.of[id] = short(graph[owner].op->leaf ? -1 : first[owner] - 1);
  }
  return made;
}

/// A body as data.
struct BodyProgram {
  const Program& program;
  const short* output_of;  // OutputNodes
};

/// Memory that a kernel works with: for itself, and for the kernels that it runs.
struct Rooms {
  Room own, values;
};

/// A graph that runs many times on the same batch size. Its inputs and outputs may be elsewhere each time.
template <class Target>
class BodyRun {
 public:
  BodyRun(const BodyProgram& body, long n, Rooms& rooms)
      : program_(body.program), output_of_(body.output_of), n_(n), threads_(Moves<Target>::threads()) {
    runs_ = rooms.own.list<KernelRun>(program_.instructions);
    scratch_ = rooms.values.take(program_.scratch(n));
    workspace_bytes_ = program_.workspace(n);
    if constexpr (!Moves<Target>::on_host) constants_ = rooms.values.take(constant_bytes());
    else constants_ = reinterpret_cast<std::byte*>(const_cast<std::uint64_t*>(program_.constant));
    if (!runs_) return;
    for (int i = 0; i < program_.instructions; ++i) {
      const KernelEntry& kernel = *program_.instruction[i].kernel;
      const KernelWork work = kernel.work(n);
      runs_[i] = {kernel.run, work.items, work.cost, kernel.rows};
    }
  }
  /// Bytes of workspace that each thread needs, after all memory of the room.
  long workspace_bytes() const { return workspace_bytes_; }
  /// Before the first run.
  void begin(std::byte* workspace) {
    workspace_ = workspace;
    for (int i = 0; i < program_.instructions; ++i) {
      const KernelEntry& kernel = *program_.instruction[i].kernel;
      if (kernel.least_batch && n_ < kernel.least_batch->n) refuse_batch(*kernel.least_batch, n_);
      if (kernel.indices && !Moves<Target>::on_host)
        throw_error<RuntimeError>("A body of a loop or a condition calls ",
                                  program_.node[program_.instruction[i].node].op->name, " with indices, which ",
                                  Target::name, " cannot look at there: compute it outside.");
    }
    if constexpr (!Moves<Target>::on_host)
      for (long at = 0; at < constant_bytes(); at += 8) Moves<Target>::put(constants_ + at, program_.constant[at / 8]);
  }

  /// Runs it. An output for which `out` has no address stays in the body's own memory, until the next run. `part`: what
  /// observers are told of; they see what is computed in their thread, on the CPU.
  void run(const void* const* in, void* const* out, [[maybe_unused]] BodyPart part) {
    in_ = in, out_ = out;
    if constexpr (observable && std::is_same_v<Target, Cpu>)
      if (Observation* const innermost = observation())
        return run_all(GraphObserver(*innermost, program_, nullptr, n_, part));
    run_all(NoPolicy());
  }
  /// Where output k is after a run.
  void* output(int k) const { return address(program_.output[k]); }
  /// Brings output k to where `out` says.
  void settle(int k) const {
    if (void* const from = output(k); out_[k] && from != out_[k])
      Moves<Target>::copy(out_[k], from, program_.node[program_.output[k]].type.bytes(n_));
  }

 private:
  template <class Policy>
  void run_all(const Policy& policy) {
    for (int i = 0; i < program_.instructions; ++i) {
      const Instruction& r = program_.instruction[i];
      const Node& node = program_.node[r.node];
      Arguments a;
      a.n = n_;
      a.immediate = node.op->host_effect ? Arguments::immediate_of(program_.texts + node.immediate) : node.immediate;
      a.workspace = workspace_;
      for (int k = 0; k < r.buffers; ++k) a.buffer[k] = r.value[k] < 0 ? nullptr : address(r.value[k]);
      if (r.kernel->indices) look_at_indices(r, a);
      policy.before(node, a);
      start_kernel(runs_[i], a, runs_[i].parts(threads_), workspace_bytes_);
      policy.after(node, a);
    }
  }
  void* address(int id) const {
    if (const int k = output_of_[id]; k >= 0 && out_[k]) return out_[k];
    const BufferPlace& place = program_.place[id];
    switch (place.region) {
      case Region::input: return const_cast<void*>(in_[place.offset]);
      case Region::constant: return constants_ + place.offset;
      case Region::sample: return scratch_ + program_.floor + place.offset * n_;
      default: return scratch_ + place.offset + place.lift * n_;
    }
  }
  long constant_bytes() const {
    long bytes = 0;
    for (int id = 0; id < program_.nodes; ++id)
      if (const BufferPlace& p = program_.place[id]; p.region == Region::constant && p.offset + 8 > bytes)
        bytes = p.offset + 8;
    return bytes;
  }
  void look_at_indices(const Instruction& r, const Arguments& a) const {
    const Node& node = program_.node[r.node];
    const IndexRange& range = *r.kernel->indices;
    const auto type = [&](int k) -> const TensorType& { return program_.node[node.operand[k]].type; };
    check_indices(node.op->name, range, type(range.operand), range.among_result() ? node.type : type(range.among),
                  a.buffer[Arguments::operand_at(range.operand)], n_);
  }

  const Program& program_;
  const short* output_of_;
  const long n_;
  const int threads_;
  KernelRun* runs_ = nullptr;
  std::byte *scratch_ = nullptr, *workspace_ = nullptr, *constants_ = nullptr;
  long workspace_bytes_ = 0;
  const void* const* in_ = nullptr;
  void* const* out_ = nullptr;
};

/// The graph that Source describes, with the passes of the graph around it that a body can have: not those that work
/// on tiles of samples.
template <class Source, class Around>
struct CompiledBody {
  static constexpr Passes passes = [] {
    Passes p = Around::passes;
    p.layout = p.tile = p.keep = false;
    return p;
  }();
  using Graph = Compiled<Source, passes, typename Around::target_type>;
  static constexpr auto outputs = output_nodes(Graph::graph);
  static constexpr BodyProgram program{Graph::program, outputs.of};
};

}  // namespace tenon::detail
TENON_INT_SIZES_END
