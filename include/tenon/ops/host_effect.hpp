// Operators that compute nothing but pass values to the host: print, and the summary operators.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <tenon/call/apply.hpp>
#include <tenon/core/float/denormals.hpp>
#include <tenon/core/tensor/text_or_tensor.hpp>

namespace tenon::inline TENON_ABI {

/// The texts that an effect on the host is called with, and how they stand among its operands, as bytes that a graph
/// can keep: `HostText().text("loss").operand()`.
class HostText {
 public:
  /// A text, up to its first zero byte.
  constexpr HostText& text(std::string_view s) {
    bytes_.push_back('t');
    for (const char c : s.substr(0, s.find('\0'))) bytes_.push_back(c);
    bytes_.push_back(0);
    return *this;
  }
  /// The next operand of the call.
  constexpr HostText& operand() {
    bytes_.push_back('o');
    return *this;
  }
  /// All of it, with a zero byte after.
  constexpr std::vector<char> bytes() const {
    std::vector<char> all = bytes_;
    all.push_back(0);
    return all;
  }

 private:
  std::vector<char> bytes_;
};

namespace detail {
using HostListener = void(std::span<const TextOrTensor> values);
/// Calls `listener` with the texts in the bytes of a HostText and the operands of a kernel call.
void tell_host(HostListener* listener, const TensorType* types, const Arguments& a);
}  // namespace detail

namespace ops {
/// Base of operators with an effect on the host. A derived `Op` has
///
///     static void tell(std::span<const TextOrTensor> values);
///
/// which is called in each run, in both modes, in the order in which the source calls such operators, with the texts
/// and the operands of the call: whole batches, row-major, in memory of the host, valid until it returns. An exception
/// ends the run. It must not call operators. Call the operator by call_on_host().
///
/// No gradient flows, and no result changes: the same kernels run on the same values as without it, except that its
/// operands are stored and not fused.
template <class Op, FixedString Name>
struct HostEffect : Operator<Op, Name>, OnHost {
  static constexpr bool effect = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const auto&, Sentence&) { return in[0]; }
  template <class Call>
  static constexpr long items(long) {
    return 1;
  }
  template <class Call>
  static constexpr long cost(long) {
    return 1;
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    tenon::detail::tell_host(&Op::tell, Call::description.operand, a);
  }
};
}  // namespace ops

/// The host's for every target: it brings the operands home.
template <class Target, class Op>
requires(__is_base_of(OnHost, Op))
struct Kernel<Target, Op> : Op {};

/// Calls Op, which passes `text` and the operands to the host: adds a node to the traced graph, or passes them
/// immediately.
///
/// context    an operand that is no parameter: it determines which of both
/// operands   the number of operands in the text, at most 6: tensors of one batch, parameters
template <class Op, auto Config = typename Op::Config{}, class Context, class... V>
constexpr void call_on_host(const std::source_location& at, [[maybe_unused]] const Context& context,
                            const HostText& text, const V&... operands) {
  static_assert(__is_base_of(OnHost, Op) && sizeof...(V) > 0 && sizeof...(V) <= max_operands);
  if constexpr (!((is_broken<V> || ...) || is_broken<Context>)) {
    using I = detail::Inference<Op, Config, typename detail::KeyFor<V>::type...>;
    const std::vector<char> bytes = text.bytes();
    if constexpr (detail::is_traced<Context>) {
      Builder& b = *context.builder;
      const int operand[]{detail::lift(b, operands)...};
      const std::uint64_t begin = b.texts.size();
      for (const char c : bytes) b.texts.push_back(c);
      b.location = at;
      b.call(&info<Op>, operand, int(sizeof...(V)), I::attributes, I::result_type, begin);
    } else {
      detail::apply_eager<I>(at, Arguments::immediate_of(bytes.data()), operands...);
    }
  }
}

#if TENON_DEFINES
namespace detail {
[[gnu::noinline, gnu::cold]] TENON_INLINE void tell_host(HostListener* listener, const TensorType* types,
                                                         const Arguments& a) {
  std::vector<TextOrTensor> values;
  int operands = 0;
  for (const char* at = a.text(); *at;) {
    TextOrTensor value;
    value.is_tensor = *at++ == 'o';
    if (value.is_tensor) {
      value.tensor = AnyTensor(types[operands], a.n, a.buffer[Arguments::operand_at(operands)]);
      ++operands;
    } else {
      value.text = at;
      at += value.text.size() + 1;
    }
    values.push_back(value);
  }
  const KeepDenormals as_they_are;
  listener({values.data(), values.size()});
}
}  // namespace detail
#endif

}  // namespace tenon
