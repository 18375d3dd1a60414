// Walks the table of a compiled graph. This code exists once per program, whatever the number of models.
#pragma once
#include <cstring>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/math/min_max.hpp>
#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/core/memory/growing.hpp>
#include <tenon/core/memory/storage.hpp>
#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/graph/ir/index/indices.hpp>
#include <tenon/lowering/active.hpp>
#include <tenon/lowering/kept_operand.hpp>
#include <tenon/run/graph_observer.hpp>
#include <tenon/run/launch.hpp>
#include <tenon/run/refuse_scratch.hpp>
#include <tenon/run/there/program.hpp>
#include <tenon/run/tile_sums.hpp>
#include <tenon/run/tile_times.hpp>

namespace tenon::inline TENON_ABI {

/// Runs one Program. Pointers are resolved once per batch size; after the first call with the largest batch, calls
/// allocate nothing.
class Executor {
 public:
  explicit Executor(const Program& program) : program_(&program) { resolved_.fill(std::size_t(program.instructions)); }

  const Program& program() const { return *program_; }
  /// Base addresses of parameters and states. `values`: ParameterArena::values, 0 if the values can change without
  /// notice.
  void bind(std::byte* parameters, std::byte* state, std::uint64_t values = 0) {
    kept_.meet(values);
    if (parameters == base_[int(Region::parameters)] && state == base_[int(Region::state)]) return;
    base_[int(Region::parameters)] = parameters;
    base_[int(Region::state)] = state;
    kept_.forget();
    n_ = -1;
  }
  /// Says which parameters are frozen, one flag per entry, or null for none. Takes effect with the next run. `version`
  /// is for the caller, to know what he said last. `elsewhere`: as in active_nodes().
  void freeze(const bool* frozen, unsigned version = 0, const bool* elsewhere = nullptr) {
    const std::vector<int> active = detail::active_nodes(*program_, frozen, elsewhere);
    for (Resolved& r : resolved_) r.active = active[std::size_t(program_->instruction[&r - resolved_.begin()].node)];
    freeze_version_ = version;
    n_ = -1;
  }
  unsigned freeze_version() const { return freeze_version_; }

  /// Takes the scratch memory of another executor on the CPU, whose outputs are then gone: of programs that run in
  /// turns only one needs it.
  void take_scratch(Executor& other) {
    if (other.capacity_ <= capacity_) other.scratch_ = {};
    else scratch_ = std::move(other.scratch_), capacity_ = other.capacity_;
    other.scratch_ = {};
    other.capacity_ = 0;
    n_ = other.n_ = -1;
  }

  /// Runs the graph on a batch of n. `inputs` has an address per Input node, which must stay valid until output() was
  /// read; kernels of an input that is null are left out (an update without a gradient). Throws ValueError where a
  /// value that is to be an index is out of range: then the instructions from this one on have not run, updates among
  /// them. So does a batch that is too small for one of the instructions, before any has run.
  template <class Policy = NoPolicy>
  void run(const void* const* inputs, long n, const Policy& policy = {}) {
    const FlushDenormals flush;
    prepare(inputs, n);
    if constexpr (observable && is_unseen<Policy>)
      if (detail::Observation* const innermost = detail::observation())
        return run_all(detail::GraphObserver(*innermost, *program_, base_[int(Region::parameters)], n));
    run_all(policy);
  }
  /// The same for a program of the CPU that is not observed. Calls passed(count) after instructions: the first `count`
  /// of the program have run, or are left out in this run.
  template <class Passed>
  void run_in_steps(const void* const* inputs, long n, const Passed& passed) {
    const FlushDenormals flush;
    prepare(inputs, n);
    for (std::size_t i = 0; i < resolved_.size();) passed(long(i = walk(i, i + 1, NoPolicy())));
  }

  /// Address of output k of the last run, for the host.
  void* output(int k) const {
    if constexpr (several_targets)
      if (const AnyTensor named = output_view(k); named.count() > 0)
        detail::home(static_cast<std::byte*>(named.data), named.bytes(), detail::Look::read);
    return output_address(k);
  }
  const TensorType& output_type(int k) const { return program_->node[program_->output[k]].type; }
  /// The output, which a second target has until detail::home() brings it back.
  AnyTensor output_view(int k) const { return AnyTensor(output_type(k), n_, output_address(k)); }
#if defined(TENON_TARGET)
  /// Where the last run of a program of another target computed.
  TargetId target() const { return there_.target; }
  /// The training state that it was bound to.
  std::byte* state() const { return base_[int(Region::state)]; }
  /// From now on, if the target can, it looks itself at indices that the network computes, and one that is out of range
  /// keeps back all that follows, until the caller finds the flag and calls report_index().
  void look_late() { there_.may_look_late = true; }
  /// An int32, other than 0 after an index that was out of range; null if the last run has looked at each at once.
  std::byte* index_flag() const { return there_.looks_late ? there_.flags.address() : nullptr; }
  /// Waits for the flag. Throws ValueError if it is set, and resets it.
  [[gnu::cold]] void report_index();
#endif
  /// True if the last run computed with operands that were kept.
  bool keeps() const { return kept_.made(); }
  /// Bytes of scratch memory held.
  long bytes() const { return capacity_; }

 private:
  struct Resolved {
    const Instruction* instruction = nullptr;
    Arguments arguments;
    KernelRun whole, last;  // of the batch; in a group of a tile, and of the last tile
    KernelRun half[3];      // of a tile, then the two of the last tile
    bool active = true, conditional = false;
    bool looks = false, runs = true;  // are there indices that can be out of range; in a group
    std::size_t group_end = 0;        // of the first instruction of a group: the instruction after its last one
    long step[max_buffers]{}, own[max_buffers]{};  // bytes from tile to tile, from thread to thread
    // of a sum: its size, where it is in the parts of sums, and in the scratch of a thread
    long sum_bytes = 0, partial = 0, sum_part = 0;
  };

  // Whether the program is one of another target than the CPU.
  bool is_there() const {
    if constexpr (several_targets) return program_->target != TargetId::cpu;
    else return false;
  }
  void prepare(const void* const* inputs, long n) {
    const int threads = is_there() ? 1 : ThreadPool::instance().threads();
    if (n != n_ || threads != threads_) resolve(n, threads);
    input_ = inputs;
    if (!is_there())  // what another program may have taken to its target
      for (const Region region : {Region::parameters, Region::state}) detail::home(base_[int(region)]);
    if (program_->kept_operands && !kept_.fits()) keep();
  }
  // Another target gets the kernel calls of all instructions at once, also of those before one that throws.
  template <class Policy>
  [[gnu::always_inline]] void run_all(const Policy& policy) {
    if constexpr (several_targets)
      if (is_there()) {
        begin_there(is_unseen<Policy>);
        try {
          walk(0, resolved_.size(), policy);
        } catch (...) {
          submit_there(true);
          throw;
        }
        return submit_there(true);
      }
    walk(0, resolved_.size(), policy);
  }
  // The instructions i to end - 1, and all of a group that one of them begins. Returns the next one.
  template <class Policy>
  [[gnu::noinline]] std::size_t walk(std::size_t i, std::size_t end, const Policy& policy) {
    while (i < end) {
      Resolved& r = resolved_[i];
      if (r.group_end) {
        run_tiles_of(i, r.group_end, policy);
        i = r.group_end;
        continue;
      }
      if constexpr (several_targets && is_unseen<Policy>)
        if (is_there() && list_samples(i)) continue;
      ++i;
      if (!ready(r)) continue;
      settle<Policy>();
      policy.before(program_->node[r.instruction->node], r.arguments);
      start(r);
      settle<Policy>();
      policy.after(program_->node[r.instruction->node], r.arguments);
    }
    return i;
  }
  void start(Resolved& r) {
    if constexpr (several_targets)
      if (is_there()) return list_there(r);
    run_items(r.whole, r.arguments);
  }
  // Who looks at an instruction sees what all before it have made, and when it has run.
  template <class Policy>
  void settle() {
    if constexpr (several_targets && !is_unseen<Policy>)
      if (is_there()) submit_there(), detail::wait_there();
  }
  // Of a program of another target (run/there/executor.hpp).
  void copy_constants(), begin_there(bool unseen), list_there(Resolved& r), submit_there(bool ends = false);
  void list_look(const Resolved& r);
  bool is_computed(const Resolved& r) const;
  std::byte *joined_flags(), *flag_of(const Resolved& r);
  bool inputs_there(Resolved& r), list_samples(std::size_t& i);
  void bring_there(const Resolved& r, Arguments& a);
  // Of buffer k.
  long bytes_of(const Resolved& r, int k) const { return program_->type_of(*r.instruction, k).bytes(n_); }
  void* output_address(int k) const { return address(program_->place[program_->output[k]], program_->samples(n_)); }
  bool ready(Resolved& r) { return r.active && (!r.conditional || conditions_hold(r)); }
  // False if an input that the instruction reads is missing, or what it guards must not happen.
  bool conditions_hold(Resolved& r) {
    if constexpr (several_targets)
      if (is_there()) return inputs_there(r);
    if (r.instruction->guarded &&
        *reinterpret_cast<const std::int32_t*>(detail::home(base_[int(Region::state)] + overflow_state, 4)))
      return false;
    for (int k = 0; k < r.instruction->buffers; ++k)
      if (const BufferPlace place = program_->place_of(*r.instruction, k);
          place.region == Region::input && !(r.arguments.buffer[k] = input(place.offset)))
        return false;
    if (r.looks) look_at_indices(r);
    return true;
  }
  // Throws ValueError if there is one that the kernel must not use.
  void look_at_indices(const Resolved& r) const;
  void* input(long column) const {
    void* const data = const_cast<void*>(input_[column]);
    if constexpr (several_targets)
      if (!is_there()) detail::home(static_cast<std::byte*>(data));
    return data;
  }
  void* address(const BufferPlace& place, long n) const {
    if (place.region == Region::input) return input(place.offset);
    if (place.region == Region::constant) return constants() + place.offset;
    if (place.region == Region::tile) return base_[int(place.region)] + place.offset * tile_of(n);
    return base_[int(place.region)] +
           (place.region == Region::sample ? place.offset * n : place.offset + place.lift * n);
  }
  std::byte* constants() const {
#if defined(TENON_TARGET)
    if (there_.constants.address()) return there_.constants.address();
#endif
    return reinterpret_cast<std::byte*>(const_cast<std::uint64_t*>(program_->constant));
  }
  [[gnu::cold]] void reserve(long n, int threads);
  [[gnu::cold]] void resolve(long n, int threads);
  // Makes what is kept, if it is time for it, and tells the instructions.
  [[gnu::cold]] void keep();
  // From the last instruction of a group to the first.
  [[gnu::cold]] void resolve_in_group(std::size_t i, long n);

  // On more threads if that pays.
  void run_items(const KernelRun& all, const Arguments& arguments) const {
    detail::start_kernel(all, arguments, all.parts(threads_), thread_bytes_);
  }
  static KernelRun run_of(const KernelEntry& kernel, bool in_blocks, long samples) {
    const KernelWork work = in_blocks ? kernel.nchw16n_work(samples) : kernel.work(samples);
    return {in_blocks ? kernel.run_nchw16n : kernel.run, work.items, work.cost, kernel.rows};
  }
  KernelRun run_of(const Instruction& instruction, long samples) const {
    return run_of(*instruction.kernel, instruction.in_blocks(samples, n_), samples);
  }

  // The instructions begin .. end - 1 for one tile of samples after the other. A policy sees one instruction of one
  // tile at a time, or, if times are all it wants, is told them afterwards: then threads share the tiles as always.
  template <class Policy>
  void run_tiles_of(std::size_t begin, std::size_t end, const Policy& policy);
  TileShares share(std::size_t begin, std::size_t end);
  void run_shares(std::size_t begin, std::size_t end, const TileShares& shares);
  void run_timed(std::size_t begin, std::size_t end, const TileShares& shares, const detail::GraphObserver& observer);
  template <class Times>
  void take_shares(std::size_t begin, std::size_t end, const TileShares& shares, Times times);
  // The part of one thread.
  template <class Times>
  void take_part(std::size_t begin, std::size_t end, const TileShares& shares, int part, Times times) const;
  // Half `half` of those that threads take.
  template <class Times>
  void take_half(std::size_t begin, std::size_t end, const TileShares& shares, long half, int part, Times times) const;
  // Adds up what threads have left.
  void add_sums(const Resolved& r, const TileShares& shares) const;
  // Some tiles: by thread `part`, or by all threads together.
  void run_tiles(std::size_t begin, std::size_t end, long tile, long stop, int part, bool together) const;
  template <class Times>
  void take_tiles(std::size_t begin, std::size_t end, long tile, long stop, int part, bool together, Times times) const;
  // What an instruction is called with for a tile, by thread `part`.
  Arguments arguments_of(const Resolved& r, long tile, int part) const;
  // Adds the sum of a tile to that of the tiles before it.
  void add(const Resolved& r, const void* from, long tile) const;

  const Program* program_;
  detail::Growing<Resolved> resolved_;
  TargetBytes scratch_;
  std::byte* base_[regions]{};
  const void* const* input_ = nullptr;
  long n_ = -1, capacity_ = 0, thread_bytes_ = 0, sums_of_group_ = 0;
  TileShares shares_;
  TileSums sums_;
  int threads_ = 0;
  unsigned freeze_version_ = 0;
  KeptOperands kept_;
#if defined(TENON_TARGET)
  detail::ProgramThere there_;
#endif
};

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE void Executor::look_at_indices(const Resolved& r) const {
  const IndexRange& range = *r.instruction->kernel->indices;
  const Node& node = program_->node[r.instruction->node];
  const auto type = [&](int k) -> const TensorType& { return program_->node[node.operand[k]].type; };
  detail::check_indices(node.op->name, range, type(range.operand), range.among_result() ? node.type : type(range.among),
                        detail::home(r.arguments.buffer[Arguments::operand_at(range.operand)],
                                     std::size_t(type(range.operand).bytes(n_))),
                        n_);
}
TENON_INLINE void Executor::reserve(long n, int threads) {
  if (program_->many_bytes(n, threads) > double(Storage::max_bytes)) detail::refuse_scratch(*program_, n, threads);
  const long needed = program_->bytes(n, threads);
  for (bool again = true; needed > capacity_ || !scratch_.address(); again = false) try {
      // an address also where nothing is needed, as for a batch of 0
      scratch_ =
          TargetBytes(std::size_t(needed), "a buffer", is_there() ? detail::BlockOf::scratch : detail::BlockOf::values);
      capacity_ = needed;
    } catch (const OutOfMemory&) {
      if (!again) detail::refuse_scratch(*program_, n, threads);
      scratch_ = {};  // of a smaller batch
      capacity_ = 0;
      Storage::give_back_kept();
    }
  base_[int(Region::sample)] = scratch_.address() + program_->floor;
  base_[int(Region::fixed)] = scratch_.address();
  base_[int(Region::tile)] = scratch_.address() + program_->scratch(n);
}
[[gnu::noinline]] TENON_INLINE void Executor::resolve(long n, int threads) {
#if defined(TENON_TARGET)
  report_index();  // as long as values are at the places of the last run
#endif
  n_ = -1;
  for (std::size_t i = 0; i < resolved_.size(); ++i)
    if (const LeastBatch* least = program_->instruction[i].kernel->least_batch;
        least && n < least->n && resolved_[i].active)
      detail::refuse_batch(*least, n);
  reserve(n, threads);
  if constexpr (several_targets)
    if (is_there()) copy_constants();
  n_ = n;
  threads_ = threads;
  kept_.leave();
  shares_ = program_->shares(n, threads);
  thread_bytes_ = program_->thread_bytes(n);
  std::byte* const workspace = base_[int(Region::tile)] + program_->tile_bytes(n);
  sums_ = {base_[int(Region::tile)] + thread_bytes_ * threads_, 0, Program::chain_levels(shares_.tiles)};
  for (std::size_t i = resolved_.size(); i-- > 0;) {
    Resolved& r = resolved_[i];
    const Instruction& instruction = program_->instruction[i];
    r.instruction = &instruction;
    r.arguments.n = n;
    const Node& node = program_->node[instruction.node];
    r.arguments.immediate =
        node.op->host_effect ? Arguments::immediate_of(program_->texts + node.immediate) : node.immediate;
    r.arguments.workspace = workspace;
    const IndexRange* const indices = instruction.kernel->indices;
    r.looks = indices && !detail::are_inside(program_->node, node, *indices);
    r.conditional = instruction.guarded || r.looks;
    for (int k = 0; k < instruction.buffers; ++k)
      if (const BufferPlace place = program_->place_of(instruction, k); place.region == Region::input)
        r.conditional = true;
      else if (place.region != Region::none) r.arguments.buffer[k] = address(place, program_->samples(n));
    r.whole = run_of(instruction, instruction.group ? tile_of(n) : n);
    if (instruction.group) resolve_in_group(i, n);
  }
}
[[gnu::noinline]] TENON_INLINE void Executor::keep() {
  long all = 0;
  bool same = true;
  for (int k = 0; k < program_->kept_operands; ++k) {
    const KeptOperand& kept = program_->kept[k];
    const Instruction& instruction = program_->instruction[kept.instruction];
    all += kept.bytes(instruction, n_);
    same = same && kept.is_same(instruction, n_, kept_.batch());
  }
  std::byte* to = kept_.room(all, n_, same);
  for (int k = 0; k < program_->kept_operands; ++k) {
    const KeptOperand& kept = program_->kept[k];
    const Instruction& instruction = program_->instruction[kept.instruction];
    const long bytes = kept.bytes(instruction, n_);
    if (bytes == 0) continue;
    Resolved& r = resolved_[std::size_t(kept.instruction)];
    void*& operand = r.arguments.buffer[Arguments::operand_at(kept.entry->operand)];
    operand = address(program_->place_of(instruction, kept.entry->operand + 1), n_);
    if (to && !same) kept.entry->make(operand, n_, to);
    if (to) operand = to, to += bytes;
    const KernelWork work = to ? kept.entry->work(n_) : instruction.work(n_, n_);
    r.whole = r.last = {to ? kept.entry->run : instruction.kernel->run, work.items, work.cost,
                        to ? 1 : instruction.kernel->rows};
  }
}
#else
extern template void Executor::run(const void* const*, long, const NoPolicy&);
#endif  // TENON_DEFINES

}  // namespace tenon
#include <tenon/run/run_tiles.hpp>
#if defined(TENON_TARGET)
#include <tenon/run/there/executor.hpp>
#endif
