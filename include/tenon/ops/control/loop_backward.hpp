// The turns of a loop backward at run time, for the gradients.
#pragma once
#include <tenon/ops/control/loop_run.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::detail {

/// The turns backward.
template <class Target>
class LoopBackward {
 public:
  static constexpr long segment = 256;

  LoopBackward(const LoopView& v, const BodyProgram& body, long n, Rooms& rooms)
      : v_(v),
        n_(n),
        body_(body, n, rooms),
        memory_(v, n, v.inputs + v.inner + v.outputs, v.gradients, rooms),
        segment_(rooms.own.list<std::byte*>(v.inputs)) {
    if constexpr (!Moves<Target>::on_host)
      if (v.counted) {
        given_ = rooms.own.list<const std::byte*>(v.carried);
        flags_ = rooms.values.list<std::int32_t>(4 * (v.turns + 1));
      }
    for (int i = 0; v.turns > segment && i < v.inputs; ++i) {
      std::byte* const made =
          v.input[i].role == BodyRole::captured ? rooms.values.take(v.input[i].type.bytes(n)) : nullptr;
      if (segment_) segment_[i] = made;
    }
  }
  long workspace_bytes() const { return body_.workspace_bytes(); }
  void set_workspace(std::byte* begin) { body_.begin(begin); }

  void run() {
    begin();
    if constexpr (!Moves<Target>::on_host)
      if (v_.counted) return run_counted();
    if (v_.turns == 0) return pass();
    for (long turn = v_.turns; turn-- > 0;) {
      set_inputs(turn);
      for (int g = 0; g < v_.gradients; ++g) memory_.out[g] = place_of(g, turn);
      body_.run(memory_.in, memory_.out, v_.part_of(turn));
      for (int g = 0; g < v_.gradients; ++g) body_.settle(g);
      for (int i = 0; i < v_.carried; ++i) memory_.carried[i] = memory_.zeros;
      for (int g = 0; g < v_.gradients; ++g) take(g, turn);
    }
  }

 private:
  // On a device that alone knows how many turns there were: all are started, and it keeps back those that were not.
  // Flags of a turn: it is not the last one, no turn before that, none of the turns.
  void run_counted() {
    enum { last, earlier, any };
    using On = Moves<Target>;
    if (v_.turns > segment)
      throw_error<RuntimeError>("while_loop: its derivative on ", Target::name, " has at most ", segment,
                                " turns, this loop ", v_.turns, ": use scan for more.");
    const auto flags_of = [&](long turn) {
      std::int32_t* const flags = flags_ + 4 * (turn + 1);
      On::turn_flags(flags, v_.kept_at, turn);
      return flags;
    };
    for (int i = 0; i < v_.carried; ++i) given_[i] = memory_.carried[i];
    On::unless(flags_of(-1) + last, [&] { pass(); });
    for (long turn = v_.turns; turn-- > 0;) {
      const std::int32_t* const flags = flags_of(turn);
      for (int i = 0; i < v_.carried; ++i) {
        const long bytes = v_.input[i].type.bytes(n_);
        std::byte* const to = memory_.carried[i] = memory_.next(i, turn + 1);
        On::unless(flags + last, [&] { On::copy(to, given_[i], bytes); });
        if (!has_gradient(i)) On::unless(flags + earlier, [&] { On::clear(to, bytes); });
      }
      set_inputs(turn);
      for (int g = 0; g < v_.gradients; ++g)
        memory_.out[g] = input_of(g).role == BodyRole::carried ? place_of(g, turn) : nullptr;
      On::unless(flags + any, [&] {
        body_.run(memory_.in, memory_.out, v_.part_of(turn));
        for (int g = 0; g < v_.gradients; ++g) body_.settle(g);
      });
      for (int g = 0; g < v_.gradients; ++g) {
        const BodyValue& value = input_of(g);
        std::byte* const sum = value.role == BodyRole::carried ? nullptr : target(value);
        if (!sum) continue;
        On::unless(flags + last, [&] { On::copy(sum, body_.output(g), value.type.bytes(n_)); });
        On::unless(flags + earlier, [&] { On::add(value.type.dtype, sum, body_.output(g), value.type.count(n_)); });
      }
    }
  }
  bool has_gradient(int input) const {
    for (int g = 0; g < v_.gradients; ++g)
      if (v_.gradient_input[g] == input) return true;
    return false;
  }
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
      if (end > begin) Moves<Target>::clear(to + begin, end - begin);
    }
  }
  void begin() {
    clear_results();
    if (memory_.zero_bytes) Moves<Target>::clear(memory_.zeros, memory_.zero_bytes);
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
        Moves<Target>::turn_state(memory_.random, v_.value(value, n_), turn);
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
      else if (value.role == BodyRole::captured) memory_.in[at] = bundle + value.place.bytes(n_);
      else memory_.in[at] = memory_.slice(at, value, bundle + value.place.bytes(n_), turn, v_.turns);
    }
  }
  // Without a turn the gradients of what is carried are those of the results.
  void pass() {
    for (int i = 0; i < v_.inputs; ++i)
      if (const BodyValue& value = v_.input[i]; is_floating(value.type.dtype))
        if (std::byte* const to = target(value)) {
          if (i < v_.carried) Moves<Target>::copy(to, memory_.carried[i], value.type.bytes(n_));
          else Moves<Target>::clear(to, value.type.bytes(n_));
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
      if (!memory_.out[g]) ops::TurnRows(value.type, int(v_.turns), n_).template put<Moves<Target>>(to, made, turn);
    } else {
      std::byte* const sum = sum_of(g, turn);
      if (in_segment(turn)) Moves<Target>::add(value.type.dtype, sum, made, value.type.count(n_));
      if (sum != to && (turn == 0 || in_segment(turn) == segment - 1))
        Moves<Target>::add(value.type.dtype, to, sum, value.type.count(n_));
    }
  }

  const LoopView& v_;
  const long n_;
  BodyRun<Target> body_;
  TurnMemory<Target> memory_;
  std::byte** segment_;
  const std::byte** given_ = nullptr;
  std::int32_t* flags_ = nullptr;
};

}  // namespace tenon::detail
TENON_INT_SIZES_END
