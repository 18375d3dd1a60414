// to_string: a tensor as text, in the forms of MindSpore's Print operator, of repr(), and of str().
#pragma once
#include <iosfwd>
#include <string>

#include <tenon/core/math/libm.hpp>
#include <tenon/core/tensor.hpp>
#if TENON_DEFINES
#include <charconv>

#include <tenon/core/tensor/text.hpp>
#endif

namespace tenon::inline TENON_ABI {

/// print   Tensor(shape=[2, 1], dtype=Int32, value=\n[[1]\n [2]])    the Print operator; floats in scientific form
/// repr    Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  2.00000000e+00])
/// str     [1. 2.]    as NumPy: shortest digits, aligned, lines up to 75 columns
///
/// With several axes, print and repr show the first and last three of an axis longer than 6; with one axis, of more
/// than 1000 elements. str does so above 1000 elements in all.
/// Departures from MindSpore 2.10, where it prints what is hard to read: print names shape and dtype of a number
/// without axes too, a line of exactly 12 or 24 words is not followed by an empty one, and str shows the short digits
/// of bfloat16.
enum class TensorForm { print, repr, str };

/// The tensor as text. A view without elements in this process (no data, or on a GPU) says so instead of values.
std::string to_string(const AnyTensor& x, TensorForm form = TensorForm::print);
template <Element T, class S>
std::string to_string(const Tensor<T, S>& x, TensorForm form = TensorForm::print) {
  return to_string(x.view(), form);
}

/// The shape of a tensor, also in PyNative mode in construct: `shape_text(x.shape())` is "[2, 3]".
template <class Self>
std::string shape_text(const ops::detail::Extents<Self>& shape) {
  std::int64_t extents[max_rank];
  for (int axis = 0; axis < shape.size(); ++axis) extents[axis] = shape[axis];
  return shape_text({extents, std::size_t(shape.size())});
}

/// Writes to_string(x) to a standard stream. (The stream is a template argument, so that <ostream> is the caller's
/// choice.)
template <class Traits, Element T, class S>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const Tensor<T, S>& x) {
  return out << to_string(x);
}
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const AnyTensor& x) {
  return out << to_string(x);
}

#if TENON_DEFINES
namespace detail {

/// An element as MindSpore's formatter writes it (core/ir/tensor.cc): fixed widths, no search for short digits.
inline std::string fixed_text(const AnyTensor& x, std::int64_t i) {
  if (!is_floating(x.dtype)) return integer_text(x, i);
  const double value = floating_element(x, i);
  const bool half = x.dtype == Dtype::float16, general = x.rank == 0 || x.dtype == Dtype::bfloat16;
  std::string s = non_finite_text(value);
  if (detail::libm::finite(value)) {
    char chars[64];
    char* const end =
        general ? std::to_chars(chars, chars + sizeof chars, value, std::chars_format::general, 6).ptr
                : std::to_chars(chars, chars + sizeof chars, value, std::chars_format::scientific, half ? 4 : 8).ptr;
    s.assign(chars, end);
  }
  if (!general) pad_left(s, half ? 11 : 15);
  return s;
}

inline std::string fixed_array_text(const AnyTensor& x, bool comma) {
  if (x.rank == 0) return fixed_text(x, 0);
  if (x.count() == 0) return "";
  const bool integer = !is_floating(x.dtype) && x.dtype != Dtype::bool_;
  ArrayWriter writer(x, {.comma = comma,
                         .blank_lines = false,
                         .wrap_at = 0,
                         .feed = integer || x.dtype == Dtype::bfloat16 ? 24 : 12,
                         .elide_by_axis = true,
                         .elide_above = x.rank > 1 ? 6 : 1000});
  std::vector<std::string> words;
  words.reserve(writer.shown().size());
  for (std::int64_t i : writer.shown()) words.push_back(fixed_text(x, i));
  align_right(words, x.dtype == Dtype::bool_ ? 5 : 0);
  return writer.text(std::move(words));
}

}  // namespace detail

TENON_INLINE std::string to_string(const AnyTensor& x, TensorForm form) {
  const bool here = x.data && x.device.kind == DeviceKind::cpu;
  if (here && form == TensorForm::str) return detail::array_text(x);
  std::string s = text("Tensor(shape=", shape_text(x.shape()), ", dtype=", title(x.dtype));
  if (!here)
    return s + (x.device.kind == DeviceKind::cpu ? ", no elements)"
                                                 : text(", device=", name(x.device.kind), ":", int(x.device.id), ")"));
  s += x.rank > 1 ? ", value=\n" : form == TensorForm::repr ? ", value= " : ", value=";
  return s + detail::fixed_array_text(x, form == TensorForm::repr) + ")";
}
#endif  // TENON_DEFINES

}  // namespace tenon
