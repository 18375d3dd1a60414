// The turns of a loop with a condition at run time.
#pragma once
#include <tenon/ops/control/loop_run.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::detail {

/// The body of a loop and its condition, which has tables of its own.
struct WhileBody {
  const BodyProgram& body;
  const BodyProgram& condition;
  const LoopView& asked;
  long most;  // turns; 0: any number
};

/// The turns of a loop as long as its condition holds.
template <class Target>
class WhileForward {
 public:
  WhileForward(const LoopView& v, const WhileBody& body, long n, Rooms& rooms)
      : v_(v),
        of_(body),
        n_(n),
        loop_(v, body.body, n, rooms),
        condition_(body.condition, n, rooms),
        in_(rooms.own.list<const void*>(body.asked.inputs)),
        out_(rooms.own.list<void*>(1)),
        random_(rooms.values.take(alignment)) {
    if constexpr (!Moves<Target>::on_host) flags_ = rooms.values.take(flag_bytes * body.most);
  }
  long workspace_bytes() const { return math::max(loop_.workspace_bytes(), condition_.workspace_bytes()); }
  void set_workspace(std::byte* begin) {
    if (!Moves<Target>::on_host && of_.most == 0)
      throw_error<RuntimeError>(
          "while_loop: in a graph ", Target::name,
          " starts all turns that there may be. Give it the most turns: while_loop<100>(condition, "
          "body, ...).");
    loop_.set_workspace(begin), condition_.begin(begin);
  }

  void run() {
    std::int64_t turn = 0;
    loop_.begin();
    if constexpr (Moves<Target>::on_host) {
      while ((of_.most == 0 || turn < of_.most) && *condition(turn)) loop_.turn(turn++, false);
      end_after(turn);
    } else {
      end_after(0);
      start(0);
    }
  }

 private:
  static constexpr long flag_bytes = 8;  // for Moves::either()

  void end_after(long turns) {
    loop_.end();
    if (v_.kept_at) Moves<Target>::put(v_.kept_at, std::uint64_t(turns));
  }
  // Starts a turn and all after it on a device, which keeps them back from the one on whose condition does not hold.
  void start(long turn) {
    if (turn == of_.most) return;
    Moves<Target>::either(
        flags_ + turn * flag_bytes, condition(turn),
        [&] {
          loop_.turn(turn, false);
          end_after(turn + 1);
          start(turn + 1);
        },
        [] {});
  }
  const bool* condition(long turn) {
    for (int i = 0; i < of_.asked.inputs; ++i) {
      const BodyValue& value = of_.asked.input[i];
      if (value.role == BodyRole::carried) in_[i] = loop_.carried(i);
      else if (value.role == BodyRole::random) {
        Moves<Target>::turn_state(random_, v_.value(value, n_), turn);
        in_[i] = random_;
      } else in_[i] = v_.value(value, n_);
    }
    out_[0] = nullptr;
    condition_.run(in_, out_, {"condition", turn});
    return static_cast<const bool*>(condition_.output(0));
  }

  const LoopView& v_;
  const WhileBody& of_;
  const long n_;
  LoopForward<Target> loop_;
  BodyRun<Target> condition_;
  const void** in_;
  void** out_;
  std::byte *random_, *flags_ = nullptr;
};

}  // namespace tenon::detail
TENON_INT_SIZES_END
