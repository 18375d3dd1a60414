// Elements along an axis by number: gather_elements, and the sum of elements with one number.
#pragma once
#include <tenon/ops/compare.hpp>
#include <tenon/ops/div.hpp>
#include <tenon/ops/full_like.hpp>
#include <tenon/ops/mul.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
/// Settings of operators on lines along an axis: `extent` is that of the tensor in which numbers are places.
struct LineConfig {
  int axis = 0, extent = 0;
};
constexpr IndexRange line_numbers(int operand, int among, int extent) {
  return {.operand = operand,
          .low = -extent,
          .high = extent,
          .among = among,
          .have = "places along the axis of",
          .advice = "give that axis more elements"};
}
constexpr bool is_index(Dtype d) { return d == Dtype::int32 || d == Dtype::int64; }
/// What is wrong with numbers of places along an axis of x.
constexpr void check_line_numbers(const char* who, const TensorType& x, const TensorType& numbers, int given,
                                  Sentence& error) {
  const int axis = normalized_axis(given, x.rank);
  bool fit = numbers.rank == x.rank;
  for (int k = 0; fit && k < x.rank; ++k) fit = k == axis || numbers[k] == x[k];
  if (!is_index(numbers.dtype))
    error << who << " needs numbers of int32 or int64, got " << tenon::name(numbers.dtype) << " " << numbers;
  else if (axis < 0) error << who << " got the axis " << given << " for " << x << " of rank " << x.rank;
  else if (x[axis] < 0) error << who << " of " << x << " along axis 0, which depends on n: it needs a fixed extent";
  else if (!fit)
    error << who << " of " << x << " by " << numbers << ": they need the same extents on all axes but axis " << axis;
}
}  // namespace detail

struct GatherElements;

/// Sums elements by their number along an axis: result[.., numbers[.., j, ..], ..] += values[.., j, ..]. Operands:
/// numbers, values. Not for users.
///
/// order       in ascending order of j, in float64, rounded once (backend/order.hpp)
struct ScatterElements : Operator<ScatterElements, "ScatterElements"> {
  using Config = detail::LineConfig;
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    TensorType y = in[1];
    y.extent[c.axis] = c.extent;
    if (!in[0].same_shape(in[1]))
      error << "TensorScatterElements got numbers " << in[0] << " for elements " << in[1] << ": one each";
    else detail::check_line_numbers("TensorScatterElements", y, in[0], c.axis, error);
    return y;
  }
  static constexpr IndexRange indices(const OperandTypes&, const Config& c) {
    return detail::line_numbers(0, IndexRange::the_result, c.extent);
  }
  static constexpr void derivative(Derivative& d);
};

/// Elements along an axis by number:  y[i, j, k] = x[i, numbers[i, j, k], k] for the axis 1
///
/// x           any shape of rank 1 or more; any dtype; the extent along the axis is fixed
/// numbers     int32 or int64, with the extents of x on all other axes. Negative ones count from the end. Throws
///             ValueError for a number outside of the axis, with its position
/// result      shape of numbers, dtype of x
/// derivative  dy is added up where it came from; none to the numbers
/// source      MindSpore's gather_elements (GatherD); torch.gather, which also takes fewer numbers on the other axes
struct GatherElements : Operator<GatherElements, "GatherD"> {
  struct Config {
    int axis = 0;
  };
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    detail::check_line_numbers("GatherElements", in[0], in[1], c.axis, error);
    return in[1].with(in[0].dtype);
  }
  static constexpr IndexRange indices(const OperandTypes& in, const Config& c) {
    return detail::line_numbers(1, 0, in[0][normalized_axis(c.axis, in[0].rank)]);
  }
  static constexpr void derivative(Derivative& d) {
    const int axis = normalized_axis(d.config<GatherElements>().axis, d.type(0).rank);
    d.flows_to(0, d.call_with<ScatterElements>({axis, d.type(0)[axis]}, d.operand(1), d.gradient()));
  }
};

constexpr void ScatterElements::derivative(Derivative& d) {
  d.flows_to(1, d.call_with<GatherElements>({d.config<ScatterElements>().axis}, d.gradient(), d.operand(0)));
}

/// How elements for one place are combined with the element that is there.
enum class ScatterReduction : int { none, add, max, min, mul };

/// x with other elements by number along an axis, in ascending order along the axis: the last of those for one place,
/// or the largest, smallest, or product of them and of the element of x. Operands: numbers, elements, x.
///
/// x, numbers  as in GatherElements; elements have the shape of numbers and the dtype of x
/// result      as x
/// derivative  of none: dy to the elements that were given, also where a later one has replaced them, as in MindSpore
///             and PyTorch; 0 to what was replaced. Of max and min: equal shares to all that are equal to the result.
///             Of mul: dy y / factor, hence NaN where a factor is 0
/// source      MindSpore's TensorScatterElements, PyTorch's scatter and scatter_reduce
struct UpdateElements : Operator<UpdateElements, "TensorScatterElements"> {
  struct Config {
    int axis = 0, update = 0;  // 0 replaces, 1 takes the larger, 2 the smaller, 3 multiplies
  };
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    detail::check_line_numbers("TensorScatterElements", in[2], in[0], c.axis, error);
    if (error.empty() && !(in[0].with(in[2].dtype) == in[1]))
      error << "TensorScatterElements of " << tenon::name(in[2].dtype) << " " << in[2] << " by numbers " << in[0]
            << " got elements " << tenon::name(in[1].dtype) << " " << in[1];
    return in[2];
  }
  static constexpr IndexRange indices(const OperandTypes& in, const Config& c) {
    return detail::line_numbers(0, 2, in[2][normalized_axis(c.axis, in[2].rank)]);
  }
  static constexpr void derivative(Derivative& d) {
    const Config c = d.config<UpdateElements>();
    const int numbers = d.operand(0), elements = d.operand(1), x = d.operand(2), y = d.result(), dy = d.gradient();
    const auto at_numbers = [&](int of) { return d.call_with<GatherElements>({c.axis}, of, numbers); };
    if (c.update == 0) {
      d.flows_to(1, at_numbers(dy));
      d.flows_to(2, d.call_with<UpdateElements>(c, numbers, d.call<FullLike>(elements), dy));
    } else if (c.update == 3) {
      const int whole = d.call<Mul>(dy, y);
      d.flows_to(1, d.call<Div>(at_numbers(whole), elements));
      d.flows_to(2, d.call<Div>(whole, x));
    } else {
      const auto as_number = [&](int flag) { return d.call_with<Cast>({d.type(2).dtype}, flag); };
      const int axis = normalized_axis(c.axis, d.type(2).rank), kept = as_number(d.call<Equal>(x, y)),
                given = as_number(d.call<Equal>(elements, at_numbers(y))),
                equal = d.call<Add>(kept, d.call_with<ScatterElements>({axis, d.type(2)[axis]}, numbers, given)),
                share = d.call<Div>(dy, equal);
      d.flows_to(1, d.call<Mul>(at_numbers(share), given));
      d.flows_to(2, d.call<Mul>(share, kept));
    }
  }
};

namespace detail {
constexpr int element_update(ScatterReduction r) { return r > ScatterReduction::add ? int(r) - 1 : 0; }
}  // namespace detail

/// Elements along an axis by number: `gather_elements<1>(x, numbers)`.
template <int axis>
constexpr auto gather_elements(const Operand auto& x, const Operand auto& numbers,
                               std::source_location at = std::source_location::current()) {
  return apply<GatherElements, GatherElements::Config{axis}>(at, x, numbers);
}

/// x with other elements by number along an axis, or combined with these elements: `tensor_scatter_elements<1>(x,
/// numbers, elements)`, `tensor_scatter_elements<1, ScatterReduction::add>(x, numbers, elements)`. PyTorch's scatter,
/// scatter_add, and scatter_reduce.
template <int axis, ScatterReduction reduction = ScatterReduction::none, Operand X>
constexpr auto tensor_scatter_elements(const X& x, const Operand auto& numbers, const Operand auto& elements,
                                       std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else if constexpr (constexpr int along = normalized_axis(axis, X::dims.rank);
                     reduction != ScatterReduction::add || along < 0 || X::dims.extent[along < 0 ? 0 : along] < 0)
    return apply<UpdateElements, UpdateElements::Config{axis, detail::element_update(reduction)}>(at, numbers, elements,
                                                                                                  x);
  else
    return apply<Add>(at, x,
                      apply<ScatterElements, detail::LineConfig{along, X::dims.extent[along]}>(at, numbers, elements));
}

}  // namespace tenon::ops
