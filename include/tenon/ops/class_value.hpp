// One element of each row, at the place that its class number says: what losses of class numbers read.
#pragma once
#include <tenon/ops/softmax_cross_entropy.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Rows that are 0 but for dy at the place of the class. Operands: labels, dy. Not for users.
struct ClassValueGrad : Operator<ClassValueGrad, "ClassValueGrad"> {
  static constexpr bool per_sample = true;
  struct Config {
    int classes = 0;
  };
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence&) {
    TensorType y = in[1];
    y.extent[y.rank++] = c.classes;
    return y;
  }
  // Asked here, too: a graph that wants the gradient alone reads no class.
  static constexpr IndexRange indices(const OperandTypes&, const Config& c) {
    return class_numbers(0, IndexRange::the_result, c.classes);
  }
  static constexpr void derivative(Derivative& d);
};

/// The element of each row at the place of its class:  y[i] = x[i, labels[i]]. Where several elements per row are
/// wanted, or another axis, gather_elements has them.
///
/// x           [..., C]; any dtype
/// labels      int32 or int64 [...], classes 0 .. C - 1. Others throw ValueError, also those that count from the end
/// result      [...]
/// derivative  dy where it came from, 0 elsewhere; none to the labels
/// source      PyTorch's nll_loss without its sign and its reduction
struct ClassValue : Operator<ClassValue, "ClassValue"> {
  static constexpr bool per_sample = true;
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence& error) {
    const TensorType &x = in[0], &labels = in[1];
    TensorType y = x;
    if (y.rank) y.extent[--y.rank] = 0;
    if (labels.dtype != Dtype::int32 && labels.dtype != Dtype::int64)
      error << "ClassValue needs labels of int32 or int64, got " << tenon::name(labels.dtype) << " " << labels;
    else if (x.rank == 0 || !labels.same_shape(y))
      error << "ClassValue of " << x << " got labels " << labels << ", which must be " << y;
    return y;
  }
  static constexpr IndexRange indices(const OperandTypes& in, const NoConfig&) {
    return class_numbers(1, 0, in[0].last());
  }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<ClassValueGrad>({d.type(0).last()}, d.operand(1), d.gradient()));
  }
};

constexpr void ClassValueGrad::derivative(Derivative& d) {
  d.flows_to(1, d.call<ClassValue>(d.gradient(), d.operand(0)));
}

/// The element of each row at the place of its class.
constexpr auto class_value(const Operand auto& x, const Operand auto& labels,
                           std::source_location at = std::source_location::current()) {
  return apply<ClassValue>(at, x, labels);
}

}  // namespace tenon::ops
