// Walks the table of a compiled graph. This code exists once per program, whatever the number of models.
#pragma once
#include <memory>
#include <vector>

#include <tenon/core/any_tensor.hpp>
#include <tenon/core/context.hpp>
#include <tenon/graph/guard.hpp>
#include <tenon/graph/kernel_entry.hpp>
#include <tenon/graph/plan.hpp>

namespace tenon::inline TENON_ABI {

/// One kernel call of a compiled graph: where its result and operands are.
struct Row {
  const KernelEntry* kernel = nullptr;
  int node = 0, buffers = 0;
  bool blocks = false;   // images are in blocks of samples if the batch fills them
  bool guarded = false;  // left out if the training state's overflow flag is set
  std::uint64_t immediate = 0;
  Place buffer[max_operands + 1]{};

  constexpr KernelWork work(long n) const { return blocks && in_blocks(n) ? kernel->block_work(n) : kernel->work(n); }
};

/// A compiled graph as data; everything points to constants.
struct Program {
  const Row* row = nullptr;
  int rows = 0;
  const Node* node = nullptr;
  int nodes = 0;
  const Place* place = nullptr;  // of each node
  long floor = 0;                // bytes of scratch below region sample
  const ScratchSize* need = nullptr;
  int needs = 0;
  const std::uint64_t* constant = nullptr;
  const int* output = nullptr;
  int outputs = 0;
  const Entry* entries = nullptr;
  bool blocks = false;  // some rows are for blocks of samples

  /// Samples for which there is memory.
  constexpr long samples(long n) const { return blocks && in_blocks(n) ? whole_blocks(n) : n; }
  /// Bytes of scratch that a call with a batch of n on `threads` threads takes.
  constexpr long bytes(long n, int threads) const { return scratch(n) + workspace(n) * threads; }
  /// The part of it that holds values.
  constexpr long scratch(long n) const {
    long most = 0;
    for (int i = 0; i < needs; ++i) most = need[i].bytes(samples(n)) > most ? need[i].bytes(samples(n)) : most;
    return most;
  }
  constexpr long workspace(long n) const {
    long most = 0;
    for (int i = 0; i < rows; ++i)
      if (const long w = row[i].work(n).workspace; w > most) most = w;
    return most;
  }
};

/// Sees every kernel call; the default sees nothing and costs nothing. `before(node)` and `after(node, arguments)`.
struct NoPolicy {
  void before(const Node&) const {}
  void after(const Node&, const Arguments&) const {}
};

/// Runs one Program. Pointers are resolved once per batch size; after the first call with the largest batch, calls
/// allocate nothing.
class Executor {
 public:
  explicit Executor(const Program& program) : program_(&program), resolved_(std::size_t(program.rows)) {}

  const Program& program() const { return *program_; }
  /// Base addresses of parameters and states.
  void bind(std::byte* parameters, std::byte* state) {
    if (parameters == base_[int(Region::parameters)] && state == base_[int(Region::state)]) return;
    base_[int(Region::parameters)] = parameters;
    base_[int(Region::state)] = state;
    n_ = -1;
  }
  /// Says which parameters are frozen, one flag per entry, or null for none. Takes effect with the next run. `version` is
  /// for the caller, to know what he said last.
  void freeze(const bool* frozen, unsigned version = 0) {
    choose_active(frozen);
    freeze_version_ = version;
    n_ = -1;
  }
  unsigned freeze_version() const { return freeze_version_; }

  /// Runs the graph on a batch of n. `inputs` has an address per Input node, which must stay valid until output() was
  /// read; kernels of an input that is null are left out (an update without a gradient).
  template <class Policy = NoPolicy>
  void run(const void* const* inputs, long n, const Policy& policy = {}) {
    const FlushDenormals flush;
    const int threads = ThreadPool::instance().threads();
    if (n != n_ || threads != threads_) resolve(n, threads);
    input_ = inputs;
    for (Resolved& r : resolved_) {
      if (!r.active || (r.conditional && !ready(r))) continue;
      policy.before(program_->node[r.row->node]);
      run_row(r);
      policy.after(program_->node[r.row->node], r.arguments);
    }
  }

  /// Address of output k of the last run.
  void* output(int k) const { return address(program_->place[program_->output[k]], program_->samples(n_)); }
  const TensorType& output_type(int k) const { return program_->node[program_->output[k]].type; }
  AnyTensor output_view(int k) const { return AnyTensor(output_type(k), n_, output(k)); }
  /// Bytes of scratch memory held.
  long bytes() const { return capacity_; }

 private:
  struct Resolved {
    const Row* row = nullptr;
    void (*kernel)(const Arguments&, long begin, long end) = nullptr;
    Arguments arguments;
    long items = 0, parts = 1;
    bool active = true, conditional = false;
  };

  // False if an input that the row reads is missing, or what it guards must not happen.
  bool ready(Resolved& r) const {
    if (r.row->guarded && *reinterpret_cast<const std::int32_t*>(base_[int(Region::state)] + overflow_state)) return false;
    for (int k = 0; k < r.row->buffers; ++k)
      if (r.row->buffer[k].region == Region::input && !(r.arguments.buffer[k] = const_cast<void*>(input_[r.row->buffer[k].offset]))) return false;
    return true;
  }
  void* address(const Place& place, long n) const {
    if (place.region == Region::input) return const_cast<void*>(input_[place.offset]);
    if (place.region == Region::constant) return const_cast<std::uint64_t*>(program_->constant) + place.offset / 8;
    return base_[int(place.region)] + (place.region == Region::sample ? place.offset * n : place.offset + place.lift * n);
  }
  void reserve(long n, int threads) {
    const long needed = program_->bytes(n, threads);
    if (needed > capacity_) {
      scratch_.reset(static_cast<std::byte*>(::operator new(std::size_t(needed), std::align_val_t(alignment))));
      capacity_ = needed;
    }
    base_[int(Region::sample)] = scratch_.get() + program_->floor;
    base_[int(Region::fixed)] = scratch_.get();
  }
  void resolve(long n, int threads) {
    reserve(n, threads);
    n_ = n;
    threads_ = threads;
    workspace_ = program_->workspace(n);
    std::byte* const workspace = scratch_.get() + program_->scratch(n);
    for (std::size_t i = 0; i < resolved_.size(); ++i) {
      Resolved& r = resolved_[i];
      r.row = &program_->row[i];
      r.arguments.n = n;
      r.arguments.immediate = r.row->immediate;
      r.arguments.workspace = workspace;
      r.conditional = r.row->guarded;
      for (int k = 0; k < r.row->buffers; ++k)
        if (r.row->buffer[k].region == Region::input) r.conditional = true;
        else r.arguments.buffer[k] = address(r.row->buffer[k], program_->samples(n));
      const KernelWork work = r.row->work(n);
      r.kernel = r.row->blocks && in_blocks(n) ? r.row->kernel->run_blocks : r.row->kernel->run;
      r.items = work.items;
      r.parts = std::clamp<long>(work.items * work.cost / cost_per_thread, 1, std::min<long>(threads, std::max<long>(r.items, 1)));
    }
  }
  void run_row(const Resolved& r) {
    if (r.parts > 1) run_parts(r);
    else if (r.items) r.kernel(r.arguments, 0, r.items);
  }
  [[gnu::noinline]] void run_parts(const Resolved& r) {
    struct Job {
      const Resolved* row;
      long workspace;
    } job{&r, workspace_};
    ThreadPool::instance().run(
        int(r.parts),
        [](void* context, int part) {
          const auto& [row, workspace] = *static_cast<Job*>(context);
          Arguments own = row->arguments;
          own.workspace += workspace * part;
          row->kernel(own, row->items * part / row->parts, row->items * (part + 1) / row->parts);
        },
        &job);
  }
  // A row runs if an output or an effect on a parameter that is not frozen needs it.
  void choose_active(const bool* frozen) {
    std::vector<char> needed(std::size_t(program_->nodes), 0);
    for (int k = 0; k < program_->outputs; ++k) needed[std::size_t(program_->output[k])] = 1;
    for (int id = program_->nodes; id-- > 0;) {
      const Node& node = program_->node[id];
      if (node.op->effect) {
        const Node* target = &program_->node[node.operand[0]];
        while (target->op->view || target->op->effect) target = &program_->node[target->operand[0]];
        // A look at a gradient is no reason to compute it: the updates, which stand behind, have said by now which are needed.
        needed[std::size_t(id)] =
            is_overflow_flag(*target) ? needed[std::size_t(node.operand[1])] : !(frozen && is<ops::ParameterLeaf>(*target) && frozen[target->immediate]);
      }
      if (needed[std::size_t(id)])
        for (int k = 0; k < node.operands; ++k) needed[std::size_t(node.operand[k])] = 1;
    }
    for (std::size_t i = 0; i < resolved_.size(); ++i) resolved_[i].active = needed[std::size_t(program_->row[i].node)];
  }

  struct FreeAligned {
    void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t(alignment)); }
  };
  const Program* program_;
  std::vector<Resolved> resolved_;
  std::unique_ptr<std::byte, FreeAligned> scratch_;
  std::byte* base_[regions]{};
  const void* const* input_ = nullptr;
  long n_ = -1, capacity_ = 0, workspace_ = 0;
  int threads_ = 0;
  unsigned freeze_version_ = 0;
};

}  // namespace tenon
