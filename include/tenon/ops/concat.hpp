// Joins tensors along an axis.
#pragma once
#include <tuple>

#include <tenon/ops/reshape.hpp>
#include <tenon/ops/slice.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Joins tensors along an axis that exists.
///
/// a, b        and so on: operands of any dtype, the same for all, with equal extents but along the axis
/// result      the extents along the axis add up; along a leading extent that depends on n, all of them must
/// derivative  to each operand its part of dy
/// source      MindSpore's Concat, PyTorch's cat and stack
struct Concat : Operator<Concat, "Concat"> {
  struct Config {
    int axis = 0;
  };
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    TensorType y = in[0];
    const int joined = normalized_axis(c.axis, y.rank);
    if (joined < 0) error << "Concat got the axis " << c.axis << " for " << y << " of rank " << y.rank;
    for (int k = 1; k < in.count && error.empty(); ++k) {
      bool agree = in[k].rank == y.rank && (in[k][joined] < 0) == (y[joined] < 0);
      for (int axis = 0; axis < y.rank && agree; ++axis) agree = axis == joined || in[k][axis] == y[axis];
      if (in[k].dtype != y.dtype)
        error << "Concat of " << tenon::name(y.dtype) << " " << in[0] << " and " << tenon::name(in[k].dtype) << " "
              << in[k] << ": cast one of them, dtypes must agree";
      else if (!agree)
        error << "Concat along axis " << joined << " of " << in[0] << " and " << in[k]
              << ": the other extents must agree";
      else y.extent[joined] += in[k][joined];
    }
    return y;
  }
  static constexpr void derivative(Derivative& d) {
    const int operands = d.operands(), joined = normalized_axis(d.config<Concat>().axis, d.result_type().rank);
    for (int k = 0, first = 0; k < operands; first += d.type(k++)[joined]) {
      SliceWindow w = SliceWindow::all(d.type(k), joined);
      w.first[SliceWindow::axes - 1] = first;
      d.flows_to(k, d.call_with<Slice>(w, d.gradient()));
    }
  }
};

/// Joins 2 to 6 tensors along an axis: `concat<1>(a, b, c)`.
template <int axis, Operand A, Operand B>
constexpr auto concat(const A& a, const B& b, std::source_location at = std::source_location::current()) {
  return apply<Concat, Concat::Config{axis}>(at, a, b);
}
template <int axis, Operand A, Operand B, Operand C>
constexpr auto concat(const A& a, const B& b, const C& c, std::source_location at = std::source_location::current()) {
  return apply<Concat, Concat::Config{axis}>(at, a, b, c);
}
template <int axis, Operand A, Operand B, Operand C, Operand D>
constexpr auto concat(const A& a, const B& b, const C& c, const D& d,
                      std::source_location at = std::source_location::current()) {
  return apply<Concat, Concat::Config{axis}>(at, a, b, c, d);
}
template <int axis, Operand A, Operand B, Operand C, Operand D, Operand E>
constexpr auto concat(const A& a, const B& b, const C& c, const D& d, const E& e,
                      std::source_location at = std::source_location::current()) {
  return apply<Concat, Concat::Config{axis}>(at, a, b, c, d, e);
}
template <int axis, Operand A, Operand B, Operand C, Operand D, Operand E, Operand F>
constexpr auto concat(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f,
                      std::source_location at = std::source_location::current()) {
  return apply<Concat, Concat::Config{axis}>(at, a, b, c, d, e, f);
}

namespace detail {
/// How a call of more tensors than a kernel takes becomes several: how many tensors each operand of the last one joins.
/// As few elements as possible are copied twice.
struct ConcatShares {
  std::size_t count[max_operands]{}, begin[max_operands]{}, parts = max_operands;
};
constexpr ConcatShares concat_shares(std::size_t tensors) {
  ConcatShares s;
  if (tensors < s.parts) s.parts = tensors;
  const std::size_t most = s.parts * s.parts;  // below it only some operands join others
  for (std::size_t i = 0, left = tensors; i < s.parts; ++i) {
    const std::size_t others = s.parts - 1 - i, even = (left + others) / (others + 1), few = left - others;
    s.begin[i] = tensors - left;
    s.count[i] = tensors > most ? even : few < s.parts ? few : s.parts;
    left -= s.count[i];
  }
  return s;
}
/// The tensors first .. first + count - 1 of a tuple; one alone as it is, because parameters are not copied.
template <int axis, std::size_t first, std::size_t count, class Tensors>
constexpr decltype(auto) concat_tensors(const std::source_location& at, const Tensors& all) {
  if constexpr (count == 1) return (std::get<first>(all));
  else {
    constexpr ConcatShares share = concat_shares(count);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return apply<Concat, Concat::Config{axis}>(
          at, concat_tensors<axis, first + share.begin[I], share.count[I]>(at, all)...);
    }(std::make_index_sequence<share.parts>{});
  }
}
}  // namespace detail

/// Joins any number of tensors along an axis. More than 6 are joined in groups first, so that some of their elements
/// are copied twice.
template <int axis, Operand A, Operand B, Operand C, Operand D, Operand E, Operand F, Operand G, Operand... More>
constexpr auto concat(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, const G& g,
                      const More&... more) {
  return detail::concat_tensors<axis, 0, 7 + sizeof...(More)>(std::source_location::current(),
                                                              std::tie(a, b, c, d, e, f, g, more...));
}

/// Joins tensors of one shape along a new axis: `stack<0>(a, b)`.
template <int axis, Operand A, Operand B>
constexpr auto stack(const A& a, const B& b, std::source_location at = std::source_location::current()) {
  return concat<axis>(expand_dims<axis>(a, at), expand_dims<axis>(b, at), at);
}
template <int axis, Operand A, Operand B, Operand C, Operand... More>
constexpr auto stack(const A& a, const B& b, const C& c, const More&... more) {
  return concat<axis>(expand_dims<axis>(a), expand_dims<axis>(b), expand_dims<axis>(c), expand_dims<axis>(more)...);
}

}  // namespace tenon::ops
