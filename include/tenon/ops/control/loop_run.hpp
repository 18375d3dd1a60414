// The turns of a loop at run time, and the workspace of a kernel that runs them.
#pragma once
#include <vector>

#include <tenon/ops/control/loop.hpp>
#include <tenon/run/body_run.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::detail {

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
  bool counted = false;        // how many turns there were is at kept_at, and `turns` is the most
  const char* part = nullptr;  // of a condition: its name; null: turns

  BodyPart part_of(long turn) const { return part ? BodyPart{part} : BodyPart{"turn", turn}; }
  std::byte* value(const BodyValue& v, long n) const { return in[int(v.kind)] + v.place.bytes(n); }
  std::byte* slot(const BodyValue& v, long turn, long n) const { return kept_at + plan.begin(v, turn, n); }
};

/// True if each slice of a turn is one piece of the memory of all turns.
inline bool is_in_place(const ops::TurnRows& rows) { return rows.in_one_piece() && rows.bytes % alignment == 0; }

/// The addresses that a turn works with, in the workspace of a loop.
template <class Target>
class TurnMemory {
 public:
  TurnMemory(const LoopView& v, long n, int inputs, int outputs, Rooms& rooms) : n_(n) {
    in = rooms.own.list<const void*>(inputs);
    out = rooms.own.list<void*>(outputs);
    carried = rooms.own.list<std::byte*>(v.carried);
    for (std::byte**& two : pair_) two = rooms.own.list<std::byte*>(v.carried);
    slice_ = rooms.own.list<std::byte*>(inputs);
    random = rooms.values.list<std::uint64_t>(2);
    for (int i = 0; i < v.carried; ++i)
      for (std::byte** two : pair_) {
        std::byte* const made = rooms.values.take(v.input[i].type.bytes(n));
        if (two) two[i] = made;
      }
    long most = 0;
    for (int k = 0; k < v.outputs; ++k) most = most < v.output[k].type.bytes(n) ? v.output[k].type.bytes(n) : most;
    zeros = rooms.values.take(most), zero_bytes = most;
    for (int i = 0; i < v.inputs; ++i) give(i, v.input[i], rooms);
    if (inputs > v.inputs)
      for (int k = 0; k < v.outputs; ++k) give(inputs - v.outputs + k, v.output[k], rooms);
  }
  /// Memory for what is carried into the turn after `turn`.
  std::byte* next(int i, long turn) const { return pair_[turn & 1][i]; }
  /// The slice of a turn: a part of all turns if it is a piece of its own there, else a copy.
  const std::byte* slice(int i, const BodyValue& v, const std::byte* all, long turn, long turns) const {
    const ops::TurnRows rows(v.type, int(turns), n_);
    if (is_in_place(rows)) return all + turn * rows.bytes;
    rows.take<Moves<Target>>(slice_[i], all, turn);
    return slice_[i];
  }

  const void** in = nullptr;
  void** out = nullptr;
  std::byte** carried = nullptr;
  std::uint64_t* random = nullptr;
  std::byte* zeros = nullptr;
  long zero_bytes = 0;

 private:
  void give(int i, const BodyValue& v, Rooms& rooms) {
    std::byte* const made = v.role == BodyRole::sliced ? rooms.values.take(v.type.bytes(n_)) : nullptr;
    if (slice_) slice_[i] = made;
  }
  long n_;
  std::byte **pair_[2]{}, **slice_ = nullptr;
};

/// Where the slice of a turn goes: a piece of its own in the memory of all turns, or null.
inline std::byte* slice_in_place(const BodyValue& v, std::byte* all, long turn, long turns, long n) {
  const ops::TurnRows rows(v.type, int(turns), n);
  return all && is_in_place(rows) ? all + turn * rows.bytes : nullptr;
}

/// The turns of a loop.
template <class Target>
class LoopForward {
 public:
  LoopForward(const LoopView& v, const BodyProgram& body, long n, Rooms& rooms)
      : v_(v), n_(n), body_(body, n, rooms), memory_(v, n, v.inputs, v.outputs + v.inner, rooms) {}
  long workspace_bytes() const { return body_.workspace_bytes(); }
  void set_workspace(std::byte* begin) { body_.begin(begin); }

  void run() {
    begin();
    for (long t = 0; t < v_.turns; ++t) turn(t, t + 1 == v_.turns);
  }

  void begin() {
    for (int i = 0; i < v_.inputs; ++i) {
      const BodyValue& value = v_.input[i];
      if (value.role == BodyRole::sliced || value.role == BodyRole::random) continue;
      std::byte* from = v_.value(value, n_);
      if (keeps(value)) {
        std::byte* const to = v_.slot(value, 0, n_);
        Moves<Target>::copy(to, from, value.type.bytes(n_));
        from = to;
      }
      memory_.in[i] = from;
      if (i < v_.carried) memory_.carried[i] = from;
    }
  }
  /// `ends`: what is carried goes to the results.
  void turn(long turn, bool ends) {
    set_inputs(turn);
    set_outputs(turn, ends);
    body_.run(memory_.in, memory_.out, v_.part_of(turn));
    take_outputs(turn);
  }
  /// What is carried, if no turn knew that it was the last one.
  void end() {
    for (int k = 0; k < v_.carried; ++k)
      if (std::byte* const bundle = v_.out[int(v_.output[k].kind)])
        Moves<Target>::copy(bundle + v_.output[k].place.bytes(n_), memory_.carried[k], v_.output[k].type.bytes(n_));
  }
  std::byte* carried(int k) const { return memory_.carried[k]; }

 private:
  bool keeps(const BodyValue& value) const { return v_.kept_at && value.kept; }
  void set_inputs(long turn) {
    for (int i = 0; i < v_.inputs; ++i) {
      const BodyValue& value = v_.input[i];
      if (value.role == BodyRole::carried) memory_.in[i] = memory_.carried[i];
      else if (value.role == BodyRole::random) {
        Moves<Target>::turn_state(memory_.random, v_.value(value, n_), turn);
        memory_.in[i] = memory_.random;
      } else if (value.role == BodyRole::sliced) {
        const std::byte* const all = v_.value(value, n_);
        if (keeps(value)) {
          std::byte* const to = v_.slot(value, turn, n_);
          ops::TurnRows(value.type, int(v_.turns), n_).template take<Moves<Target>>(to, all, turn);
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
      else if (keeps(v_.input[k]) && turn + 1 < v_.turns) memory_.out[k] = v_.slot(v_.input[k], turn + 1, n_);
      else memory_.out[k] = memory_.next(k, turn);
    }
    for (int k = 0; k < v_.inner; ++k) memory_.out[v_.outputs + k] = v_.slot(v_.kept[k], turn, n_);
  }
  void take_outputs(long turn) {
    for (int k = 0; k < v_.outputs + v_.inner; ++k) body_.settle(k);
    for (int k = 0; k < v_.outputs; ++k) {
      const BodyValue& value = v_.output[k];
      std::byte* const bundle = v_.out[int(value.kind)];
      if (value.role == BodyRole::carried) memory_.carried[k] = static_cast<std::byte*>(memory_.out[k]);
      else if (value.role == BodyRole::sliced && bundle && !memory_.out[k])
        ops::TurnRows(value.type, int(v_.turns), n_)
            .template put<Moves<Target>>(bundle + value.place.bytes(n_), static_cast<const std::byte*>(body_.output(k)),
                                         turn);
    }
  }

  const LoopView& v_;
  const long n_;
  BodyRun<Target> body_;
  TurnMemory<Target> memory_;
};

/// Runs a loop in a kernel's workspace.
template <class Target, class Run, class Body>
[[gnu::noinline]] void run_loop(const LoopView& v, const Body& body, const Arguments& a) {
  Rooms counted{Room(nullptr), Room(nullptr)};
  static_cast<void>(Run(v, body, a.n, counted));
  std::byte* values = a.workspace;
  const auto run = [&](std::byte* own) {
    Rooms rooms{Room(own), Room(values)};
    Run loop(v, body, a.n, rooms);
    loop.set_workspace(values + rooms.values.used());
    loop.run();
  };
  if constexpr (Moves<Target>::on_host) {
    values += counted.own.used();
    run(a.workspace);
  } else run(std::vector<std::byte>(std::size_t(counted.own.used())).data());
}
template <class Target, class Run, class Body>
[[gnu::noinline]] long loop_workspace(const LoopView& v, const Body& body, long n) {
  Rooms rooms{Room(nullptr), Room(nullptr)};
  const Run run(v, body, n, rooms);
  return rooms.values.used() + (Moves<Target>::on_host ? rooms.own.used() : 0) + run.workspace_bytes();
}

}  // namespace tenon::detail
TENON_INT_SIZES_END
