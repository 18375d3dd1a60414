// Summary operators: record values from inside of construct. tenon.hpp does not include this header.
#pragma once
#include <source_location>
#include <span>
#include <string_view>

#include <tenon/ops/host_effect.hpp>
#include <tenon/ops/summary_sink.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
inline void tell_summary(std::string_view plugin, std::span<const TextOrTensor> values) {
  if (SummarySink* const sink = summary_sink.load(std::memory_order_acquire))
    sink(plugin, values[0].text, values[1].tensor);
}
constexpr TensorType some_axes(std::string_view name, const TensorType& x, Sentence& error) {
  if (x.rank == 0) error << name << " got a number without axes; record it by scalar_summary";
  return x;
}
}  // namespace detail

/// The operators of the functions below. Not for users.
struct ScalarSummary : HostEffect<ScalarSummary, "ScalarSummary"> {
  static constexpr TensorType shape(const OperandTypes& in, const auto&, Sentence& error) {
    for (int axis = 0; axis < in[0].rank; ++axis)
      if (in[0].extent[axis] != 1) {
        error << "ScalarSummary got " << in[0] << ", it needs a tensor of one element: reduce_mean(x)";
        break;
      }
    return in[0];
  }
  static void tell(std::span<const TextOrTensor> values) { detail::tell_summary("scalar", values); }
};
struct ImageSummary : HostEffect<ImageSummary, "ImageSummary"> {
  static constexpr TensorType shape(const OperandTypes& in, const auto&, Sentence& error) {
    if (in[0].rank != 4 || (in[0].extent[1] != 1 && in[0].extent[1] != 3))
      error << "ImageSummary got " << in[0] << ", it needs images [n,C,H,W] with 1 or 3 channels";
    return in[0];
  }
  static void tell(std::span<const TextOrTensor> values) { detail::tell_summary("image", values); }
};
struct TensorSummary : HostEffect<TensorSummary, "TensorSummary"> {
  static constexpr TensorType shape(const OperandTypes& in, const auto&, Sentence& error) {
    return detail::some_axes("TensorSummary", in[0], error);
  }
  static void tell(std::span<const TextOrTensor> values) { detail::tell_summary("tensor", values); }
};
struct HistogramSummary : HostEffect<HistogramSummary, "HistogramSummary"> {
  static constexpr TensorType shape(const OperandTypes& in, const auto&, Sentence& error) {
    return detail::some_axes("HistogramSummary", in[0], error);
  }
  static void tell(std::span<const TextOrTensor> values) { detail::tell_summary("histogram", values); }
};

namespace detail {
template <class Op, class X>
constexpr void summarize(const std::source_location& at, std::string_view name, const X& x) {
  constexpr bool has_place = tenon::detail::is_traced<X> || tenon::detail::is_tensor<X> || is_broken<X>;
  static_assert(has_place, "a summary of a parameter needs a value beside it, or it has no place in a graph: "
                           "histogram_summary(\"weight\", value_in(x, weight))");
  if constexpr (has_place && !is_broken<X>) {
    using I = tenon::detail::Inference<Op, typename Op::Config{}, typename tenon::detail::KeyFor<X>::type>;
    if constexpr (I::ok) call_on_host<Op>(at, x, HostText().text(name).operand(), x);
    else if constexpr (tenon::detail::is_traced<X>) x.builder->fail(I::sentence);
    else {
      using Wrong = Mistake<I>;
      static_cast<void>(Wrong::corrected);
    }
  }
}
}  // namespace detail

/// Records a value whenever the program reaches the call: `scalar_summary("mean", reduce_mean(a));` as a statement of
/// construct, in both modes. The most recent open SummaryRecord receives it, in mode "train"; its next record() writes
/// the last value of each name. A SummaryCollector records the values of the steps that it records. Without both
/// nothing happens.
///
/// name        known when a graph is traced: a literal
/// x           scalar_summary: one element; image_summary: [n, C, H, W], C 1 or 3; tensor_summary, histogram_summary:
///             at least one axis. All dtypes; a parameter by value_in(x, parameter)
/// result      none; gradients, values, and weights do not change
/// source      MindSpore's ScalarSummary, ImageSummary, TensorSummary, HistogramSummary, which work only in graph mode
///             there
constexpr void scalar_summary(std::string_view name, const Operand auto& x,
                              std::source_location at = std::source_location::current()) {
  detail::summarize<ScalarSummary>(at, name, x);
}
constexpr void image_summary(std::string_view name, const Operand auto& x,
                             std::source_location at = std::source_location::current()) {
  detail::summarize<ImageSummary>(at, name, x);
}
constexpr void tensor_summary(std::string_view name, const Operand auto& x,
                              std::source_location at = std::source_location::current()) {
  detail::summarize<TensorSummary>(at, name, x);
}
constexpr void histogram_summary(std::string_view name, const Operand auto& x,
                                 std::source_location at = std::source_location::current()) {
  detail::summarize<HistogramSummary>(at, name, x);
}

}  // namespace tenon::ops
