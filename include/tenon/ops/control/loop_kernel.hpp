// The kernels of Loop and LoopGrad: they run the graph of the body turn by turn.
#pragma once
#include <tenon/core/random/philox.hpp>
#include <tenon/core/simd/simd.hpp>
#include <tenon/ops/control/loop.hpp>
#include <tenon/run/body_run.hpp>

TENON_EXACT_BEGIN
TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

namespace detail {

/// The state of the random operators of a turn: another step, so that turns draw different numbers. `state`: seed and
/// step outside of the loop.
inline void write_turn_state(std::uint64_t* to, const std::uint64_t* state, long turn) {
  to[0] = state[0];
  to[1] = hash_number(std::uint64_t(turn) + 1, state[1]);
}

/// The tables of a loop, as its kernels read them.
struct LoopView {
  const BodyValue *input, *output, *kept;
  const KeptPlan& plan;
  int inputs, outputs, inner, carried;
  long turns;
  std::byte* in[ops::bundle_kinds]{};     // bundles of operands
  std::byte* out[ops::bundle_kinds]{};    // bundles of results; null: nothing reads them
  std::byte* kept_at = nullptr;           // null: nothing is kept
  std::byte* given[ops::result_kinds]{};  // bundles of gradients of results
  bool several[ops::bundle_kinds]{};      // are there several values in the bundle of operands?
  const short* gradient_input = nullptr;  // of each output of the graph backward
  int gradients = 0;

  std::byte* value(const BodyValue& v, long n) const { return in[int(v.kind)] + v.place.bytes(n); }
  std::byte* slot(const BodyValue& v, long turn, long n) const { return kept_at + plan.begin(v, turn, n); }
};

/// The addresses that a turn works with, in the workspace of a loop.
class TurnMemory {
 public:
  TurnMemory(const LoopView& v, long n, int inputs, int outputs, Room& room) : n_(n) {
    in = room.list<const void*>(inputs);
    out = room.list<void*>(outputs);
    carried = room.list<std::byte*>(v.carried);
    for (std::byte**& two : pair_) two = room.list<std::byte*>(v.carried);
    slice_ = room.list<std::byte*>(inputs);
    random = room.list<std::uint64_t>(2);
    for (int i = 0; i < v.carried; ++i)
      for (std::byte** two : pair_) {
        std::byte* const made = room.take(v.input[i].type.bytes(n));
        if (two) two[i] = made;
      }
    long most = 0;
    for (int k = 0; k < v.outputs; ++k) most = most < v.output[k].type.bytes(n) ? v.output[k].type.bytes(n) : most;
    zeros = room.take(most), zero_bytes = most;
    for (int i = 0; i < v.inputs; ++i) give(i, v.input[i], room);
    if (inputs > v.inputs)
      for (int k = 0; k < v.outputs; ++k) give(inputs - v.outputs + k, v.output[k], room);
  }
  /// Memory for what is carried into the turn after `turn`.
  std::byte* next(int i, long turn) const { return pair_[turn & 1][i]; }
  /// The slice of a turn: a part of all turns if it is a piece of its own there, else a copy.
  const std::byte* slice(int i, const BodyValue& v, const std::byte* all, long turn, long turns) const {
    const ops::TurnRows rows(v.type, int(turns), n_);
    if (is_in_place(rows)) return all + turn * rows.bytes;
    rows.take(slice_[i], all, turn);
    return slice_[i];
  }
  static bool is_in_place(const ops::TurnRows& rows) { return rows.in_one_piece() && rows.bytes % alignment == 0; }

  const void** in = nullptr;
  void** out = nullptr;
  std::byte** carried = nullptr;
  std::uint64_t* random = nullptr;
  std::byte* zeros = nullptr;
  long zero_bytes = 0;

 private:
  void give(int i, const BodyValue& v, Room& room) {
    std::byte* const made = v.role == BodyRole::sliced ? room.take(v.type.bytes(n_)) : nullptr;
    if (slice_) slice_[i] = made;
  }
  long n_;
  std::byte **pair_[2]{}, **slice_ = nullptr;
};

/// Where the slice of a turn goes: a piece of its own in the memory of all turns, or null.
inline std::byte* slice_in_place(const BodyValue& v, std::byte* all, long turn, long turns, long n) {
  const ops::TurnRows rows(v.type, int(turns), n);
  return all && TurnMemory::is_in_place(rows) ? all + turn * rows.bytes : nullptr;
}

/// The turns of a loop.
class LoopForward {
 public:
  LoopForward(const LoopView& v, const BodyProgram& body, long n, int threads, Room& room)
      : v_(v), n_(n), body_(body, n, threads, room), memory_(v, n, v.inputs, v.outputs + v.inner, room) {}
  BodyRun& body() { return body_; }

  void run() {
    body_.check_batch();
    begin();
    for (long turn = 0; turn < v_.turns; ++turn) {
      set_inputs(turn);
      set_outputs(turn, turn + 1 == v_.turns);
      body_.run(memory_.in, memory_.out);
      take_outputs(turn);
    }
  }

 private:
  bool keeps(const BodyValue& value) const { return v_.kept_at && value.kept; }
  void begin() {
    for (int i = 0; i < v_.inputs; ++i) {
      const BodyValue& value = v_.input[i];
      if (value.role == BodyRole::sliced || value.role == BodyRole::random) continue;
      std::byte* from = v_.value(value, n_);
      if (keeps(value)) {
        std::byte* const to = v_.slot(value, 0, n_);
        std::memcpy(to, from, std::size_t(value.type.bytes(n_)));
        from = to;
      }
      memory_.in[i] = from;
      if (i < v_.carried) memory_.carried[i] = from;
    }
  }
  void set_inputs(long turn) {
    for (int i = 0; i < v_.inputs; ++i) {
      const BodyValue& value = v_.input[i];
      if (value.role == BodyRole::carried) memory_.in[i] = memory_.carried[i];
      else if (value.role == BodyRole::random) {
        write_turn_state(memory_.random, reinterpret_cast<const std::uint64_t*>(v_.value(value, n_)), turn);
        memory_.in[i] = memory_.random;
      } else if (value.role == BodyRole::sliced) {
        const std::byte* const all = v_.value(value, n_);
        if (keeps(value)) {
          std::byte* const to = v_.slot(value, turn, n_);
          ops::TurnRows(value.type, int(v_.turns), n_).take(to, all, turn);
          memory_.in[i] = to;
        } else memory_.in[i] = memory_.slice(i, value, all, turn, v_.turns);
      }
    }
  }
  void set_outputs(long turn, bool last) {
    for (int k = 0; k < v_.outputs; ++k) {
      const BodyValue& value = v_.output[k];
      std::byte* const bundle = v_.out[int(value.kind)];
      std::byte* const at = bundle ? bundle + value.place.bytes(n_) : nullptr;
      if (value.role == BodyRole::sliced) memory_.out[k] = slice_in_place(value, at, turn, v_.turns, n_);
      else if (last) memory_.out[k] = at;
      else memory_.out[k] = keeps(v_.input[k]) ? v_.slot(v_.input[k], turn + 1, n_) : memory_.next(k, turn);
    }
    for (int k = 0; k < v_.inner; ++k) memory_.out[v_.outputs + k] = v_.slot(v_.kept[k], turn, n_);
  }
  void take_outputs(long turn) {
    for (int k = 0; k < v_.outputs + v_.inner; ++k) body_.settle(k);
    for (int k = 0; k < v_.outputs; ++k) {
      const BodyValue& value = v_.output[k];
      std::byte* const bundle = v_.out[int(value.kind)];
      if (value.role == BodyRole::carried) memory_.carried[k] = static_cast<std::byte*>(memory_.out[k]);
      else if (bundle && !memory_.out[k])
        ops::TurnRows(value.type, int(v_.turns), n_)
            .put(bundle + value.place.bytes(n_), static_cast<const std::byte*>(body_.output(k)), turn);
    }
  }

  const LoopView& v_;
  const long n_;
  BodyRun body_;
  TurnMemory memory_;
};

template <class T>
void add_elements(T* sum, const T* term, long count) {
  long i = 0;
  if constexpr (sizeof(T) > 2)
    for (; i + simd_width<T> <= count; i += simd_width<T>)
      (Simd<T>::load(sum + i) + Simd<T>::load(term + i)).store(sum + i);
  for (; i < count; ++i) {
    if constexpr (sizeof(T) == 2) sum[i] = T(float(sum[i]) + float(term[i]));
    else sum[i] += term[i];
  }
}
/// Adds up, each sum rounded to the dtype.
inline void add_to(Dtype dtype, std::byte* sum, const std::byte* term, long count) {
  const auto add = [&]<class T>(std::type_identity<T>) {
    add_elements(reinterpret_cast<T*>(sum), reinterpret_cast<const T*>(term), count);
  };
  switch (dtype) {
    case Dtype::float64: return add(std::type_identity<double>());
    case Dtype::float16: return add(std::type_identity<float16>());
    case Dtype::bfloat16: return add(std::type_identity<bfloat16>());
    default: return add(std::type_identity<float>());
  }
}

/// The turns backward.
class LoopBackward {
 public:
  static constexpr long segment = 256;

  LoopBackward(const LoopView& v, const BodyProgram& body, long n, int threads, Room& room)
      : v_(v),
        n_(n),
        body_(body, n, threads, room),
        memory_(v, n, v.inputs + v.inner + v.outputs, v.gradients, room),
        segment_(room.list<std::byte*>(v.inputs)) {
    for (int i = 0; v.turns > segment && i < v.inputs; ++i) {
      std::byte* const made = v.input[i].role == BodyRole::captured ? room.take(v.input[i].type.bytes(n)) : nullptr;
      if (segment_) segment_[i] = made;
    }
  }
  BodyRun& body() { return body_; }

  void run() {
    begin();
    for (long turn = v_.turns; turn-- > 0;) {
      set_inputs(turn);
      for (int g = 0; g < v_.gradients; ++g) memory_.out[g] = place_of(g, turn);
      body_.run(memory_.in, memory_.out);
      for (int g = 0; g < v_.gradients; ++g) body_.settle(g);
      for (int i = 0; i < v_.carried; ++i) memory_.carried[i] = memory_.zeros;
      for (int g = 0; g < v_.gradients; ++g) take(g, turn);
    }
  }

 private:
  const BodyValue& input_of(int g) const { return v_.input[v_.gradient_input[g]]; }
  std::byte* target(const BodyValue& value) const {
    std::byte* const bundle = v_.out[int(value.kind)];
    return bundle ? bundle + value.place.bytes(n_) : nullptr;
  }
  // Values without a gradient, and the bytes between values, are zero.
  void clear_results() {
    for (int i = 0; i < v_.inputs; ++i) {
      const BodyValue& value = v_.input[i];
      std::byte* const to = is_floating(value.type.dtype) ? target(value) : nullptr;
      if (!to) continue;
      const TensorType all =
          value.role == BodyRole::sliced ? ops::detail::with_turns(value.type, int(v_.turns)) : value.type;
      const long bytes = all.bytes(n_), whole = aligned(all.bytes(1)) * (all.batched() ? n_ : 1);
      bool is_written = false;
      for (int g = 0; g < v_.gradients; ++g) is_written |= v_.gradient_input[g] == i;
      const long begin = is_written ? bytes : 0, end = v_.several[int(value.kind)] ? whole : bytes;
      std::memset(to + begin, 0, std::size_t(end - begin));
    }
  }
  void begin() {
    clear_results();
    std::memset(memory_.zeros, 0, std::size_t(memory_.zero_bytes));
    for (int i = 0; i < v_.inputs; ++i) {
      const BodyValue& value = v_.input[i];
      if (value.role != BodyRole::captured) continue;
      if (value.kept) memory_.in[i] = v_.slot(value, 0, n_);
      else if (v_.in[int(value.kind)]) memory_.in[i] = v_.value(value, n_);
    }
    for (int k = 0; k < v_.carried; ++k) {
      std::byte* const bundle = v_.given[int(v_.output[k].kind)];
      memory_.carried[k] = bundle ? bundle + v_.output[k].place.bytes(n_) : memory_.zeros;
    }
  }
  void set_inputs(long turn) {
    for (int i = 0; i < v_.inputs; ++i) {
      const BodyValue& value = v_.input[i];
      if (value.role == BodyRole::captured) continue;
      if (value.role == BodyRole::random) {
        write_turn_state(memory_.random, reinterpret_cast<const std::uint64_t*>(v_.value(value, n_)), turn);
        memory_.in[i] = memory_.random;
      } else if (value.kept) memory_.in[i] = v_.slot(value, turn, n_);
      else if (value.role == BodyRole::sliced && v_.in[int(value.kind)])
        memory_.in[i] = memory_.slice(i, value, v_.value(value, n_), turn, v_.turns);
    }
    for (int k = 0; k < v_.inner; ++k) memory_.in[v_.inputs + k] = v_.slot(v_.kept[k], turn, n_);
    for (int k = 0; k < v_.outputs; ++k) {
      const BodyValue& value = v_.output[k];
      std::byte* const bundle = v_.given[int(value.kind)];
      const int at = v_.inputs + v_.inner + k;
      if (value.role == BodyRole::carried) memory_.in[at] = memory_.carried[k];
      else if (!bundle) memory_.in[at] = memory_.zeros;
      else memory_.in[at] = memory_.slice(at, value, bundle + value.place.bytes(n_), turn, v_.turns);
    }
  }
  // The number of this turn among those of its segment, and whether the segment is the first.
  long in_segment(long turn) const { return (v_.turns - 1 - turn) % segment; }
  bool is_first(long turn) const { return v_.turns - 1 - turn < segment; }
  std::byte* sum_of(int g, long turn) const {
    return is_first(turn) ? target(input_of(g)) : segment_[v_.gradient_input[g]];
  }
  std::byte* place_of(int g, long turn) const {
    const BodyValue& value = input_of(g);
    std::byte* const to = target(value);
    if (value.role == BodyRole::carried) return turn ? memory_.next(v_.gradient_input[g], turn) : to;
    if (!to) return nullptr;
    if (value.role == BodyRole::sliced) return slice_in_place(value, to, turn, v_.turns, n_);
    return in_segment(turn) ? nullptr : sum_of(g, turn);
  }
  void take(int g, long turn) {
    const BodyValue& value = input_of(g);
    std::byte* const to = target(value);
    const auto* const made = static_cast<const std::byte*>(body_.output(g));
    if (value.role == BodyRole::carried) {
      memory_.carried[v_.gradient_input[g]] = static_cast<std::byte*>(memory_.out[g]);
    } else if (!to) {
      return;
    } else if (value.role == BodyRole::sliced) {
      if (!memory_.out[g]) ops::TurnRows(value.type, int(v_.turns), n_).put(to, made, turn);
    } else {
      std::byte* const sum = sum_of(g, turn);
      if (in_segment(turn)) add_to(value.type.dtype, sum, made, value.type.count(n_));
      if (sum != to && (turn == 0 || in_segment(turn) == segment - 1))
        add_to(value.type.dtype, to, sum, value.type.count(n_));
    }
  }

  const LoopView& v_;
  const long n_;
  BodyRun body_;
  TurnMemory memory_;
  std::byte** segment_;
};

/// Runs a loop in a kernel's workspace. `threads` of them share the work of the kernels of the body.
template <class Run>
[[gnu::noinline]] void run_loop(const LoopView& v, const BodyProgram& body, const Arguments& a, int threads) {
  if (a.n == 0) return;
  Room room(a.workspace);
  Run run(v, body, a.n, threads, room);
  run.body().set_workspace(a.workspace + room.used());
  run.run();
}
template <class Run>
[[gnu::noinline]] long loop_workspace(const LoopView& v, const BodyProgram& body, long n) {
  Room room(nullptr);
  Run run(v, body, n, 1, room);
  return room.used() + run.body().workspace_bytes();
}

template <class Target>
int body_threads() {
  if constexpr (std::is_same_v<Target, Cpu>) return ThreadPool::instance().threads();
  else return 1;
}

/// The graph of a body.
template <class Around, int body, bool keeps>
struct ForwardSource {
  using Outer = typename Around::source_type;
  static constexpr const Entry* entries = Outer::entries;
  static constexpr Builder trace() { return forward_of_body(Outer::trace(), body, keeps); }
};
/// The tables of a loop. `keeps`: for its derivative.
template <class Around, int body, int turns, int carried, int sliced, bool keeps>
struct LoopTables {
  using Outer = typename Around::source_type;
  struct Counts {
    int inputs, outputs, inner;
  };
  static constexpr LoopShape shape{body, -1, turns, carried, sliced};
  static constexpr Counts count() {
    const Builder b = Outer::trace();
    const Body traced = body_of(b, body);
    Counts counts{traced.inputs(), traced.outputs, 0};
    if constexpr (keeps) counts.inner = int(differentiate(b, body).kept().size());
    return counts;
  }
  static constexpr Counts counts = count();
  static constexpr auto make() {
    LoopTable<counts.inputs, counts.outputs, counts.inner> table;
    const Builder b = Outer::trace();
    if constexpr (keeps) {
      const BodyGradient d = differentiate(b, body);
      describe_loop(b, shape, &d, table);
    } else describe_loop(b, shape, nullptr, table);
    return table;
  }
  static constexpr auto table = make();
  static LoopView view() {
    LoopView v{table.input,    table.output, table.kept, table.plan, counts.inputs,
               counts.outputs, counts.inner, carried,    turns};
    int members[ops::bundle_kinds]{};
    for (int i = 0; i < counts.inputs; ++i)
      v.several[int(table.input[i].kind)] = ++members[int(table.input[i].kind)] > 1;
    return v;
  }
};

/// The inputs of a body that have a gradient which something reads.
template <class Tables, class Config>
constexpr std::vector<int> wanted_gradients(const Config& config, unsigned parts) {
  const BodyGradient d = differentiate(Tables::Outer::trace(), config.body);
  std::vector<int> wanted;
  for (int i = 0; i < d.inputs; ++i) {
    const ops::BundleKind kind = Tables::table.input[i].kind;
    const int result = config.result_of(kind);
    const bool is_read = i < config.carried || result == 0 || (parts >> result & 1);
    if (d.gradient[std::size_t(i)] >= 0 && is_read) wanted.push_back(i);
  }
  return wanted;
}
template <class Tables, class Call>
struct BackwardSource {
  static constexpr const Entry* entries = Tables::Outer::entries;
  static constexpr Builder trace() {
    return backward_of_body(Tables::Outer::trace(), Call::config().body,
                            wanted_gradients<Tables>(Call::config(), unsigned(Call::parts)));
  }
};
template <int N>
struct GradientInputs {
  short of[N + 1]{};
};
}  // namespace detail

namespace kernel {
/// The kernel of Loop on a target whose kernels the caller of run() may call.
template <class Target>
struct LoopKernel {
  template <class Call>
  static constexpr long items(long) {
    return 1;
  }
  template <class Call>
  static constexpr bool keeps = Call::config().kept > 0 && (Call::config().kept_result() == 0 ||
                                                            (Call::parts >> Call::config().kept_result() & 1));
  template <class Call>
  using Tables = tenon::detail::LoopTables<typename Call::Graph, Call::config().body, Call::config().turns,
                                           Call::config().carried, Call::config().sliced, keeps<Call>>;
  template <class Call>
  using Body =
      tenon::detail::CompiledBody<tenon::detail::ForwardSource<typename Call::Graph, Call::config().body, keeps<Call>>,
                                  typename Call::Graph>;
  template <class Call>
  static constexpr long workspace(long n) {
    if constexpr (requires { typename Call::Graph; })
      return tenon::detail::loop_workspace<tenon::detail::LoopForward>(Tables<Call>::view(), Body<Call>::program, n);
    else return 1;
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    constexpr auto& c = Call::config();
    tenon::detail::LoopView v = Tables<Call>::view();
    const auto result = [&](int k) {
      void* const at = k < 0                  ? nullptr
                       : k == 0               ? a.buffer[Arguments::result_at]
                       : Call::parts >> k & 1 ? a.buffer[Arguments::further_at(Call::operands, k)]
                                              : nullptr;
      return static_cast<std::byte*>(at);
    };
    for (int k = 0; k < ops::bundle_kinds; ++k) {
      const auto kind = static_cast<ops::BundleKind>(k);
      if (c.has_operand(kind)) v.in[k] = static_cast<std::byte*>(a.buffer[Arguments::operand_at(c.operand_of(kind))]);
      if (k < ops::result_kinds && c.result[k]) v.out[k] = result(c.result_of(kind));
    }
    if constexpr (keeps<Call>) v.kept_at = result(c.kept_result());
    tenon::detail::run_loop<tenon::detail::LoopForward>(v, Body<Call>::program, a,
                                                        tenon::detail::body_threads<Target>());
  }
};
/// The same of LoopGrad.
template <class Target>
struct LoopGradKernel {
  template <class Call>
  static constexpr long items(long) {
    return 1;
  }
  template <class Call>
  using Tables = tenon::detail::LoopTables<typename Call::Graph, Call::config().body, Call::config().turns,
                                           Call::config().carried, Call::config().sliced, true>;
  template <class Call>
  using Body = tenon::detail::CompiledBody<tenon::detail::BackwardSource<Tables<Call>, Call>, typename Call::Graph>;
  template <class Call>
  static constexpr int gradients =
      int(tenon::detail::wanted_gradients<Tables<Call>>(Call::config(), unsigned(Call::parts)).size());
  template <class Call>
  static constexpr auto gradient_inputs() {
    tenon::detail::GradientInputs<gradients<Call>> made;
    int k = 0;
    for (const int i : tenon::detail::wanted_gradients<Tables<Call>>(Call::config(), unsigned(Call::parts)))
      made.of[k++] = short(i);
    return made;
  }
  template <class Call>
  static constexpr auto inputs = gradient_inputs<Call>();
  template <class Call>
  static tenon::detail::LoopView view() {
    tenon::detail::LoopView v = Tables<Call>::view();
    v.gradient_input = inputs<Call>.of, v.gradients = gradients<Call>;
    return v;
  }
  template <class Call>
  static constexpr long workspace(long n) {
    if constexpr (requires { typename Call::Graph; })
      return tenon::detail::loop_workspace<tenon::detail::LoopBackward>(view<Call>(), Body<Call>::program, n);
    else return 1;
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    constexpr auto& c = Call::config();
    tenon::detail::LoopView v = view<Call>();
    int operand = 0;
    const auto next = [&] { return static_cast<std::byte*>(a.buffer[Arguments::operand_at(operand++)]); };
    v.kept_at = next();
    for (const ops::BundleKind kind : {ops::BundleKind::fixed, ops::BundleKind::other})
      if (c.operands >> int(kind) & 1) v.in[int(kind)] = next();
    for (int k = 0; k < int(ops::BundleKind::other); ++k)
      if (c.given >> k & 1) v.given[k] = next();
    for (int k = 0; k < ops::bundle_kinds; ++k)
      if (c.elements[k]) {
        const int at = c.result_of(static_cast<ops::BundleKind>(k));
        void* const result = at == 0                 ? a.buffer[Arguments::result_at]
                             : Call::parts >> at & 1 ? a.buffer[Arguments::further_at(Call::operands, at)]
                                                     : nullptr;
        v.out[k] = static_cast<std::byte*>(result);
      }
    tenon::detail::run_loop<tenon::detail::LoopBackward>(v, Body<Call>::program, a,
                                                         tenon::detail::body_threads<Target>());
  }
};
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::Loop> : kernel::LoopKernel<Cpu> {};
template <>
struct Kernel<Cpu, ops::LoopGrad> : kernel::LoopGradKernel<Cpu> {};

}  // namespace tenon
TENON_INT_SIZES_END
TENON_EXACT_END
