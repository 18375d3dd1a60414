// Each rank sends a part to each other: all_to_all.
#pragma once
#include <cstring>

#include <tenon/ops/collective/collective.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
/// Copies `outer` rows of each of `parts` parts from lines that have one row of each part to whole parts, or back.
inline void copy_parts(std::byte* whole, std::byte* lines, long outer, int parts, std::size_t row, bool to_lines) {
  for (long o = 0; o < outer; ++o)
    for (int part = 0; part < parts; ++part) {
      std::byte* const in_part = whole + std::size_t(part * outer + o) * row;
      std::byte* const in_line = lines + std::size_t(o * parts + part) * row;
      std::memcpy(to_lines ? in_line : in_part, to_lines ? in_part : in_line, row);
    }
}
}  // namespace detail

/// Cuts x along one axis into a part for each rank, and joins the parts from all ranks along another.
///
/// x           any shape of rank 1 or more, the same on all ranks, whose extent along split_axis is a multiple of
///             `ranks`; any dtype
/// result      as x, with that extent divided by `ranks`, and that along concat_axis times it
/// derivative  dy with both axes exchanged
/// source      MindSpore's AlltoAll
template <FixedString group>
struct AllToAll : Collective<AllToAll<group>, "AllToAll", group> {
  struct Config {
    int ranks = 1, split_axis = 0, concat_axis = 0;
  };
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    TensorType y = in[0];
    if (c.split_axis < 0 || c.split_axis >= y.rank || c.concat_axis < 0 || c.concat_axis >= y.rank)
      error << "AllToAll got the axes " << c.split_axis << " and " << c.concat_axis << " for " << y << " of rank "
            << y.rank;
    else if (y.extent[c.split_axis] % c.ranks != 0)
      error << "AllToAll over " << c.ranks << " ranks needs an extent along axis " << c.split_axis
            << " that is a multiple of it, got " << y;
    else {
      y.extent[c.split_axis] /= c.ranks;
      y.extent[c.concat_axis] *= c.ranks;
    }
    return y;
  }
  static constexpr void derivative(Derivative& d) {
    const Config c = d.config<AllToAll>();
    d.flows_to(0, d.call_with<AllToAll>({c.ranks, c.concat_axis, c.split_axis}, d.gradient()));
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    constexpr Config c = Call::config();
    const auto x = std::as_bytes(AllToAll::template operand<Call>(a));
    const auto y = std::as_writable_bytes(AllToAll::template result<Call>(a));
    const auto room = dist::detail::scratch(2 * x.size());
    const auto sent = room.first(x.size()), received = room.subspan(x.size());
    const auto rows = [&](const TensorType& t, int axis) {  // before the axis
      long outer = 1;
      for (int i = 0; i < axis; ++i) outer *= t.size(i, a.n);
      return outer;
    };
    const auto copy = [&](std::byte* whole, std::byte* lines, long outer, bool to_lines) {
      if (outer == 0) return;
      detail::copy_parts(whole, lines, outer, c.ranks, x.size() / std::size_t(outer * c.ranks), to_lines);
    };
    // operands are only read
    copy(sent.data(), const_cast<std::byte*>(x.data()), rows(Call::operand(0), c.split_axis), false);
    dist::all_to_all(AllToAll::ranks(c.ranks), sent, received);
    copy(received.data(), y.data(), rows(Call::result, c.concat_axis), true);
  }
};

/// `all_to_all<4>(x)` among 4 ranks along the first axis; `all_to_all<4, 1, 0>(x)` splits axis 1 and joins axis 0.
template <int ranks, int split_axis = 0, int concat_axis = 0, FixedString group = "world">
constexpr auto all_to_all(const Operand auto& x, std::source_location at = std::source_location::current()) {
  static_assert(ranks > 0, "all_to_all<ranks> needs 1 rank or more");
  return apply<AllToAll<group>, typename AllToAll<group>::Config{ranks, split_axis, concat_axis}>(at, x);
}

}  // namespace tenon::ops
