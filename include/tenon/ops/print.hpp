// print: shows texts and tensors from inside of construct. tenon.hpp does not include this header.
#pragma once
#include <atomic>
#include <cstddef>

#include <tenon/ops/host_effect.hpp>
#if TENON_DEFINES
#include <cstdio>
#include <string>

#include <tenon/core/context.hpp>
#include <tenon/core/tensor/print.hpp>
#endif

namespace tenon::inline TENON_ABI::ops {

/// Where prints go while the context has a print_file_path: set by <tenon/debug/print_file.hpp>. False: to the screen,
/// for a reason that it has told.
using PrintSink = bool(std::span<const TextOrTensor> values);
inline constinit std::atomic<PrintSink*> print_sink{nullptr};

/// Writes each text and each tensor on a separate line. Not for users: see print().
struct Print : HostEffect<Print, "Print"> {
  static void tell(std::span<const TextOrTensor> values);
};

namespace detail {
/// A text among the arguments of print, with the place of the call.
struct TextAt {
  std::string_view text;
  std::source_location at;
  template <class Text>
  requires std::is_convertible_v<const Text&, std::string_view>
  constexpr TextAt(const Text& begin, std::source_location call = std::source_location::current())
      : text(begin), at(call) {}
};

template <class V>
inline constexpr bool is_text = std::is_convertible_v<const V&, std::string_view>;

/// The first argument that a mode can be told from.
template <class V, class... More>
constexpr const auto& context_among(const V& v, const More&... more) {
  if constexpr (tenon::detail::is_traced<V> || tenon::detail::is_tensor<V> || is_broken<V> || sizeof...(More) == 0)
    return v;
  else return context_among(more...);
}

/// One call for each tensor, with the texts before it; the last call also has the remaining texts.
template <class... V>
constexpr void print_all(const std::source_location& at, const V&... values) {
  static_assert(((is_text<V> || Operand<V>) && ...), "print takes texts and tensors; write a number into a text");
  constexpr bool any = ((tenon::detail::is_traced<V> || tenon::detail::is_tensor<V> || is_broken<V>) || ...);
  static_assert(any,
                "print needs a tensor among its arguments, or it has no place in a graph: print(\"here\", x); bring a "
                "parameter in by value_in(x, parameter)");
  if constexpr (any && !(is_broken<V> || ...)) {
    const auto& context = context_among(values...);
    HostText text;
    int place = 0, last = -1;  // of the tensors
    ((last = is_text<V> ? last : place, ++place), ...);
    const auto add_behind = [&](const auto& value) {
      if constexpr (is_text<std::remove_cvref_t<decltype(value)>>)
        if (place > last) text.text(value);
      ++place;
    };
    const auto print_one = [&](const auto& value) {
      if constexpr (!is_text<std::remove_cvref_t<decltype(value)>>) {
        text.operand();
        const int here = place;
        if (here == last) place = 0, (add_behind(values), ...);
        call_on_host<Print>(at, context, text, value);
        place = here, text = {};
      } else if (place < last) {
        text.text(value);
      }
      ++place;
    };
    place = 0;
    (print_one(values), ...);
  }
}
}  // namespace detail

/// Prints texts and tensors, each on a separate line, when the program reaches the call: `print("conv1", a);` as a
/// statement of construct, in both modes, in training and evaluation.
///
/// arguments   texts and tensors in any order, and at least one tensor, through which a graph records the call; also
///             parameters. Texts are known when a graph is traced: literals, or what constant evaluation makes of them
/// result      none; gradients, values, and weights do not change
/// dtypes      all; a tensor as in to_string(x, TensorForm::print)
/// where       standard output, or the file of the context's print_file_path (debug/print_file.hpp)
/// order       that of the source. A graph prints a whole batch where the source does, also where it runs tile by tile
/// source      MindSpore's Print of 1.1. The format is that of MindSpore's graph mode, here in both modes (in PyNative
///             MindSpore prints as Python does): elements are separated by spaces. A scalar is printed with shape and
///             dtype; empty tensors and bfloat16 are also printed, unlike in 2.10. A call with only texts is an error
template <class... V>
constexpr void print(const detail::TextAt& first, const V&... more) {
  detail::print_all(first.at, first.text, more...);
}
template <Operand X, class... V>
constexpr void print(const X& first, const V&... more) {
  detail::print_all({}, first, more...);
}

#if TENON_DEFINES
[[gnu::noinline, gnu::cold]] TENON_INLINE void Print::tell(std::span<const TextOrTensor> values) {
  // without a sink set_context has said that the path does nothing
  if (PrintSink* const sink = print_sink.load(std::memory_order_acquire))
    if (!get_context().print_file_path.empty() && sink(values)) return;
  std::string lines;
  for (const TextOrTensor& value : values) {
    if (value.is_tensor) lines += to_string(value.tensor);
    else lines += value.text;
    lines += '\n';
  }
  std::fwrite(lines.data(), 1, lines.size(), stdout);
  std::fflush(stdout);
}
#endif

}  // namespace tenon::ops
