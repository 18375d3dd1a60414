// Walks the table of a compiled graph. This code exists once per program, whatever the number of models.
#pragma once
#include <cstring>
#include <vector>

#include <tenon/core/aligned_bytes.hpp>
#include <tenon/core/any_tensor.hpp>
#include <tenon/core/context.hpp>
#include <tenon/core/storage.hpp>
#include <tenon/graph/guard.hpp>
#include <tenon/graph/indices.hpp>
#include <tenon/graph/program.hpp>
#if TENON_DEFINES
#include <tenon/core/simd.hpp>
#endif

namespace tenon::inline TENON_ABI {

/// Sees every kernel call; the default sees nothing and costs nothing. `before(node)` and `after(node, arguments)`.
struct NoPolicy {
  void before(const Node&) const {}
  void after(const Node&, const Arguments&) const {}
};

/// Runs one Program. Pointers are resolved once per batch size; after the first call with the largest batch, calls
/// allocate nothing.
class Executor {
 public:
  explicit Executor(const Program& program) : program_(&program), resolved_(std::size_t(program.instructions)) {}

  const Program& program() const { return *program_; }
  /// Base addresses of parameters and states.
  void bind(std::byte* parameters, std::byte* state) {
    if (parameters == base_[int(Region::parameters)] && state == base_[int(Region::state)]) return;
    base_[int(Region::parameters)] = parameters;
    base_[int(Region::state)] = state;
    n_ = -1;
  }
  /// Says which parameters are frozen, one flag per entry, or null for none. Takes effect with the next run. `version`
  /// is for the caller, to know what he said last.
  void freeze(const bool* frozen, unsigned version = 0) {
    choose_active(frozen);
    freeze_version_ = version;
    n_ = -1;
  }
  unsigned freeze_version() const { return freeze_version_; }

  /// Runs the graph on a batch of n. `inputs` has an address per Input node, which must stay valid until output() was
  /// read; kernels of an input that is null are left out (an update without a gradient). Throws ValueError where a
  /// value that is to be an index is out of range: then the instructions from this one on have not run, updates among
  /// them. So does a batch that is too small for one of the instructions, before any has run.
  template <class Policy = NoPolicy>
  void run(const void* const* inputs, long n, const Policy& policy = {}) {
    const FlushDenormals flush;
    const int threads = ThreadPool::instance().threads();
    if (n != n_ || threads != threads_) resolve(n, threads);
    input_ = inputs;
    for (std::size_t i = 0; i < resolved_.size();) {
      Resolved& r = resolved_[i];
      if (r.group_end) {
        run_tiles_of(i, r.group_end, policy);
        i = r.group_end;
        continue;
      }
      ++i;
      if (!ready(r)) continue;
      policy.before(program_->node[r.instruction->node]);
      run_items(r, r.arguments, r.items);
      policy.after(program_->node[r.instruction->node], r.arguments);
    }
  }

  /// Address of output k of the last run.
  void* output(int k) const { return address(program_->place[program_->output[k]], program_->samples(n_)); }
  const TensorType& output_type(int k) const { return program_->node[program_->output[k]].type; }
  AnyTensor output_view(int k) const { return AnyTensor(output_type(k), n_, output(k)); }
  /// Bytes of scratch memory held.
  long bytes() const { return capacity_; }

 private:
  using Kernel = void(const Arguments&, long begin, long end);
  struct Resolved {
    const Instruction* instruction = nullptr;
    Kernel* kernel = nullptr;
    Arguments arguments;
    long items = 0, cost = 1;
    bool active = true, conditional = false;
    // In a group, items are those of a tile.
    bool runs = true;
    std::size_t group_end = 0;  // of the first instruction of a group: the instruction behind its last one
    long last_items = 0;        // of the last tile
    long step[max_operands + 1]{}, own[max_operands + 1]{};  // bytes from tile to tile, from thread to thread
    // of a sum: its size, where it is in the parts of sums, and in the scratch of a thread
    long sum_bytes = 0, partial = 0, sum_part = 0;
  };

  bool ready(Resolved& r) const { return r.active && (!r.conditional || conditions_hold(r)); }
  // False if an input that the instruction reads is missing, or what it guards must not happen.
  bool conditions_hold(Resolved& r) const {
    if (r.instruction->guarded && *reinterpret_cast<const std::int32_t*>(base_[int(Region::state)] + overflow_state))
      return false;
    for (int k = 0; k < r.instruction->buffers; ++k)
      if (r.instruction->buffer[k].region == Region::input &&
          !(r.arguments.buffer[k] = const_cast<void*>(input_[r.instruction->buffer[k].offset])))
        return false;
    if (r.instruction->kernel->indices) look_at_indices(r);
    return true;
  }
  // Throws ValueError if there is one that the kernel must not use.
  void look_at_indices(const Resolved& r) const;
  void* address(const BufferPlace& place, long n) const {
    if (place.region == Region::input) return const_cast<void*>(input_[place.offset]);
    if (place.region == Region::constant) return const_cast<std::uint64_t*>(program_->constant) + place.offset / 8;
    if (place.region == Region::tile) return base_[int(place.region)] + place.offset * tile_of(n);
    return base_[int(place.region)] +
           (place.region == Region::sample ? place.offset * n : place.offset + long(place.lift) * n);
  }
  [[gnu::cold]] void reserve(long n, int threads);
  [[noreturn, gnu::cold]] static void throw_no_scratch(double bytes, long n);
  [[gnu::cold]] void resolve(long n, int threads);
  // From the last instruction of a group to the first.
  [[gnu::cold]] void resolve_in_group(std::size_t i, long n);

  // Calls the kernel for all its items, on more threads if that pays.
  void run_items(const Resolved& r, const Arguments& arguments, long items) const {
    const long parts = threads_ == 1 ? 1
                                     : std::clamp<long>(items * r.cost / cost_per_thread, 1,
                                                        std::min<long>(threads_, std::max<long>(items, 1)));
    if (parts > 1) run_parts(r.kernel, arguments, items, parts);
    else if (items) r.kernel(arguments, 0, items);
  }
  void run_parts(Kernel* kernel, const Arguments& arguments, long items, long parts) const;

  // The instructions begin .. end - 1 for one tile of samples after the other. A policy sees one instruction of one
  // tile at a time.
  template <class Policy>
  void run_tiles_of(std::size_t begin, std::size_t end, const Policy& policy) {
    const TileShares shares = share(begin, end);
    if constexpr (std::is_same_v<Policy, NoPolicy>) {
      run_shares(begin, end, shares);
    } else {
      for (long tile = 0; tile < shares.tiles; ++tile)
        for (std::size_t i = begin; i < end; ++i)
          if (const Resolved& r = resolved_[i]; r.runs) {
            policy.before(program_->node[r.instruction->node]);
            run_tiles(i, i + 1, tile, tile + 1, 0, true);
            policy.after(program_->node[r.instruction->node], arguments_of(r, tile, 0));
          }
    }
  }
  TileShares share(std::size_t begin, std::size_t end);
  void run_shares(std::size_t begin, std::size_t end, const TileShares& shares);
  // Some tiles: by thread `part`, or by all threads together.
  void run_tiles(std::size_t begin, std::size_t end, long tile, long stop, int part, bool together) const;
  // What an instruction is called with for a tile, by thread `part`.
  Arguments arguments_of(const Resolved& r, long tile, int part) const;
  // Where the sum of a tile of another thread than the first stands, behind those of chains.
  std::byte* partial(const Resolved& r, long number) const {
    return chain(r, Program::chain_levels(TileShares(n_, threads_).tiles) + number);
  }
  std::byte* chain(const Resolved& r, long level) const {
    return base_[int(Region::tile)] + thread_bytes_ * threads_ + sums_ * level + r.partial;
  }
  // Adds the sum of a tile to that of the tiles before it.
  void add(const Resolved& r, const void* from, long tile) const;
  // to += from
  static void join(const void* from_floats, void* to_floats, long count);
  // An instruction runs if an output or an effect on a parameter that is not frozen needs it.
  [[gnu::cold]] void choose_active(const bool* frozen);

  const Program* program_;
  std::vector<Resolved> resolved_;
  AlignedBytes scratch_;
  std::byte* base_[regions]{};
  const void* const* input_ = nullptr;
  long n_ = -1, capacity_ = 0, thread_bytes_ = 0, sums_ = 0, sums_of_group_ = 0;
  int threads_ = 0;
  unsigned freeze_version_ = 0;
};

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE void Executor::look_at_indices(const Resolved& r) const {
  const IndexRange& range = *r.instruction->kernel->indices;
  const Node& node = program_->node[r.instruction->node];
  const auto type = [&](int k) -> const TensorType& {
    return k < 0 ? node.type : program_->node[node.operand[k]].type;
  };
  detail::check_indices(node.op->name, range, type(range.operand), type(range.among),
                        r.arguments.buffer[range.operand + 1], n_);
}
TENON_INLINE void Executor::reserve(long n, int threads) {
  const double about = program_->many_bytes(n, threads);
  if (about > double(Storage::max_bytes)) throw_no_scratch(about, n);
  const long needed = program_->bytes(n, threads);
  if (needed > capacity_ || !scratch_.data()) try {
      scratch_ = AlignedBytes(std::size_t(needed));  // an address also where nothing is needed, as for a batch of 0
      capacity_ = needed;
    } catch (const OutOfMemory&) {
      throw_no_scratch(double(needed), n);
    }
  base_[int(Region::sample)] = scratch_.data() + program_->floor;
  base_[int(Region::fixed)] = scratch_.data();
  base_[int(Region::tile)] = scratch_.data() + program_->scratch(n);
}
[[gnu::noinline]] TENON_INLINE void Executor::throw_no_scratch(double bytes, long n) {
  detail::throw_out_of_memory(bytes, text("the values between the operators of a graph for a batch of ", n));
}
[[gnu::noinline]] TENON_INLINE void Executor::resolve(long n, int threads) {
  n_ = -1;
  for (std::size_t i = 0; i < resolved_.size(); ++i)
    if (const LeastBatch* least = program_->instruction[i].kernel->least_batch;
        least && n < least->n && resolved_[i].active)
      detail::refuse_batch(*least, n);
  reserve(n, threads);
  n_ = n;
  threads_ = threads;
  thread_bytes_ = program_->thread_bytes(n);
  std::byte* const workspace = base_[int(Region::tile)] + program_->tile_bytes(n);
  sums_ = 0;
  for (std::size_t i = resolved_.size(); i-- > 0;) {
    Resolved& r = resolved_[i];
    const Instruction& instruction = program_->instruction[i];
    r.instruction = &instruction;
    r.arguments.n = n;
    r.arguments.immediate = instruction.immediate;
    r.arguments.workspace = workspace;
    r.conditional = instruction.guarded || instruction.kernel->indices;
    for (int k = 0; k < instruction.buffers; ++k)
      if (instruction.buffer[k].region == Region::input) r.conditional = true;
      else r.arguments.buffer[k] = address(instruction.buffer[k], program_->samples(n));
    const KernelWork work = instruction.work(instruction.group ? tile_of(n) : n, n);
    r.kernel = instruction.nchw16n && in_nchw16n(n) ? instruction.kernel->run_nchw16n : instruction.kernel->run;
    r.items = work.items, r.cost = work.cost;
    if (instruction.group) resolve_in_group(i, n);
  }
}
[[gnu::noinline]] TENON_INLINE void Executor::resolve_in_group(std::size_t i, long n) {
  Resolved& r = resolved_[i];
  const Instruction& instruction = *r.instruction;
  const auto in_group = [&](std::size_t other) {
    return other < resolved_.size() && program_->instruction[other].group == instruction.group;
  };
  if (!in_group(i + 1)) sums_of_group_ = 0;
  r.group_end = 0;
  if (!i || !in_group(i - 1))
    for (r.group_end = i; in_group(r.group_end);) ++r.group_end;
  r.last_items = n > block_samples && n % block_samples ? instruction.work(n % block_samples, n).items : r.items;
  const Node& node = program_->node[instruction.node];
  for (int k = 0; k < instruction.buffers; ++k) {
    const TensorType& type = k ? program_->node[node.operand[k - 1]].type : node.type;
    const bool own = instruction.buffer[k].region == Region::tile;
    r.step[k] = type.batched() && !own ? type.bytes(block_samples) : 0;
    r.own[k] = own ? thread_bytes_ : 0;
  }
  if (!instruction.sums) return;
  r.sum_bytes = program_->sum_bytes(instruction);
  r.sum_part = program_->workspace_of(instruction, n);
  r.partial = sums_of_group_;
  sums_of_group_ += r.sum_bytes;
  sums_ = std::max(sums_, sums_of_group_);
}
[[gnu::noinline]] TENON_INLINE void Executor::run_parts(Kernel* kernel, const Arguments& arguments, long items,
                                                        long parts) const {
  struct Job {
    Kernel* kernel;
    const Arguments& arguments;
    long items, parts, workspace;
  } job{kernel, arguments, items, parts, thread_bytes_};
  ThreadPool::instance().run(
      int(parts),
      [](void* context, int part) {
        const Job& all = *static_cast<Job*>(context);
        Arguments own = all.arguments;
        own.workspace += all.workspace * part;
        all.kernel(own, all.items * part / all.parts, all.items * (part + 1) / all.parts);
      },
      &job);
}
[[gnu::noinline]] TENON_INLINE TileShares Executor::share(std::size_t begin, std::size_t end) {
  long cost = 0;
  for (std::size_t i = begin; i < end; ++i) {
    Resolved& r = resolved_[i];
    r.runs = ready(r);
    if (r.runs) cost += r.items * r.cost;
  }
  const TileShares shares(n_, threads_);
  return cost * shares.tiles >= 2 * cost_per_thread ? shares : TileShares(n_, 1);
}
[[gnu::noinline]] TENON_INLINE void Executor::run_shares(std::size_t begin, std::size_t end, const TileShares& shares) {
  struct Job {
    const Executor& executor;
    std::size_t begin, end;
    const TileShares& shares;
  } job{*this, begin, end, shares};
  if (shares.parts > 1) {
    ThreadPool::instance().run(
        int(shares.parts),
        [](void* context, int part) {
          const Job& all = *static_cast<Job*>(context);
          all.executor.run_tiles(all.begin, all.end, all.shares.begin(part), all.shares.begin(part + 1), part, false);
        },
        &job);
    for (std::size_t i = begin; i < end; ++i)
      if (const Resolved& r = resolved_[i]; r.runs && r.sum_bytes)
        for (long tile = shares.begin(1); tile < shares.shared; ++tile)
          add(r, partial(r, tile - shares.begin(1)), tile);
  } else {
    run_tiles(begin, end, 0, shares.shared, 0, false);
  }
  run_tiles(begin, end, shares.shared, shares.tiles, 0, true);
}
[[gnu::noinline]] TENON_INLINE void Executor::run_tiles(std::size_t begin, std::size_t end, long tile, long stop,
                                                        int part, bool together) const {
  for (const long first = TileShares(n_, threads_).begin(1); tile < stop; ++tile)
    for (std::size_t i = begin; i < end; ++i) {
      const Resolved& r = resolved_[i];
      if (!r.runs) continue;
      Arguments own = arguments_of(r, tile, part);
      if (r.sum_bytes && tile) own.buffer[0] = part ? partial(r, tile - first) : own.workspace + r.sum_part;
      const long items = (tile + 1) * block_samples < n_ ? r.items : r.last_items;
      if (together) run_items(r, own, items);
      else r.kernel(own, 0, items);
      if (r.sum_bytes && tile && !part) add(r, own.buffer[0], tile);
    }
}
[[gnu::noinline]] TENON_INLINE Arguments Executor::arguments_of(const Resolved& r, long tile, int part) const {
  Arguments own = r.arguments;
  own.n = std::min<long>(block_samples, n_ - tile * block_samples);
  own.workspace += thread_bytes_ * part;
  for (int k = 0; k < r.instruction->buffers; ++k)
    own.buffer[k] = static_cast<std::byte*>(own.buffer[k]) + r.step[k] * tile + r.own[k] * part;
  return own;
}
[[gnu::noinline]] TENON_INLINE void Executor::add(const Resolved& r, const void* from, long tile) const {
  void* const to = r.arguments.buffer[0];
  const long count = program_->node[r.instruction->node].type.count(1);
  const bool chains = program_->node[r.instruction->node].op->tile_chains;
  if (chains && tile % block_chain == 0) {  // a chain is complete: its sum goes as far up as others wait
    const long before = tile / block_chain - 1;
    int level = 0;
    for (; before >> level & 1; ++level) join(chain(r, level), to, count);
    std::memcpy(chain(r, level), to, std::size_t(count) * sizeof(float));
    std::memcpy(to, from, std::size_t(count) * sizeof(float));
  } else {
    join(from, to, count);
  }
  if (!chains || (tile + 1) * block_samples < n_) return;
  for (long level = 0, complete = tile / block_chain; complete >> level; ++level)
    if (complete >> level & 1) join(chain(r, level), to, count);
  for (long i = 0; i < count; ++i) static_cast<float*>(to)[i] += 0;  // no -0, as LongSum
}
TENON_INLINE void Executor::join(const void* from_floats, void* to_floats, long count) {
  float* const to = static_cast<float*>(to_floats);
  const float* const from = static_cast<const float*>(from_floats);
  using V = Simd<float>;
  long i = 0;
  for (; i + V::width <= count; i += V::width) (V::load(from + i) + V::load(to + i)).store(to + i);
  for (; i < count; ++i) to[i] = from[i] + to[i];
}
[[gnu::noinline]] TENON_INLINE void Executor::choose_active(const bool* frozen) {
  std::vector<char> needed(std::size_t(program_->nodes), 0);
  for (int k = 0; k < program_->outputs; ++k) needed[std::size_t(program_->output[k])] = 1;
  for (int id = program_->nodes; id-- > 0;) {
    const Node& node = program_->node[id];
    if (node.op->effect) {
      const Node* target = &program_->node[node.operand[0]];
      while (target->op->view || target->op->effect) target = &program_->node[target->operand[0]];
      // A look at a gradient is no reason to compute it: the updates, which stand behind, have said by now which are
      // needed.
      needed[std::size_t(id)] = is_overflow_flag(*target)
                                    ? needed[std::size_t(node.operand[1])]
                                    : !(frozen && is<ops::ParameterLeaf>(*target) && frozen[target->immediate]);
    }
    if (needed[std::size_t(id)])
      for (int k = 0; k < node.operands; ++k) needed[std::size_t(node.operand[k])] = 1;
  }
  for (std::size_t i = 0; i < resolved_.size(); ++i)
    resolved_[i].active = needed[std::size_t(program_->instruction[i].node)];
}
#else
extern template void Executor::run(const void* const*, long, const NoPolicy&);
#endif  // TENON_DEFINES

}  // namespace tenon
