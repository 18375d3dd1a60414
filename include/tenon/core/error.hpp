// Errors that a program can catch: one base, four kinds with the names that MindSpore users know.
#pragma once
#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI {

/// Base of all errors. The message says what was asked, what was found, where, and what to do next.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// A value outside its legal range.
struct ValueError : Error {
  using Error::Error;
};
/// A value of the wrong type or dtype.
struct TypeError : Error {
  using Error::Error;
};
/// A name that is not there.
struct KeyError : Error {
  using Error::Error;
};
/// A state in which the request cannot be served: a broken file, a failed system call, a missing backend.
struct RuntimeError : Error {
  using Error::Error;
};

namespace detail {
/// An argument of text(): what reads as a std::string_view, or a number.
struct TextPart {
  enum Kind { literal, string, chars, whole, natural, single, real } kind;
  union {  // a place that throws stores two words per part
    const char* literal_text;
    const std::string* string_text;
    std::string_view view;
    long long signed_value;
    unsigned long long unsigned_value;
    float single_value;
    double real_value;
  };
  // These two before the template, so that no literal's length makes another instance.
  TextPart(const char* part) : kind(literal), literal_text(part) {}
  TextPart(const std::string& part) : kind(string), string_text(&part) {}
  template <class T>
  TextPart(const T& part) {
    if constexpr (requires { std::string_view(part); }) kind = chars, view = std::string_view(part);
    else if constexpr (std::is_same_v<T, float> || requires { part.operator float(); }) kind = single, single_value = part;
    else if constexpr (std::is_floating_point_v<T>) kind = real, real_value = double(part);
    else if constexpr (std::is_unsigned_v<T>) kind = natural, unsigned_value = part;
    else kind = whole, signed_value = static_cast<long long>(part);
  }
};
// The fewest digits that read back as x: 0.1, 100000, 1e-09.
template <class T>
[[gnu::cold, gnu::noinline]] std::string real_text(T x) {
  if (x != x) return "nan";  // x86 makes NaNs with a sign, which says nothing to a reader
  char digits[32];
  const T size = x < 0 ? -x : x;
  const bool plain = size == 0 || (size >= T(1e-4) && size < T(1e7));  // to_chars alone takes what is shorter: 1e+05
  const auto end = plain ? std::to_chars(digits, digits + sizeof digits, x, std::chars_format::fixed) : std::to_chars(digits, digits + sizeof digits, x);
  return {digits, end.ptr};
}
// One function for all messages, off the hot path: a template here would be compiled once per list of literal lengths.
[[gnu::cold, gnu::noinline]] inline std::string join(const TextPart* part, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) switch (part[i].kind) {
      case TextPart::literal: result += part[i].literal_text; break;
      case TextPart::string: result += *part[i].string_text; break;
      case TextPart::chars: result += part[i].view; break;
      case TextPart::whole: result += std::to_string(part[i].signed_value); break;
      case TextPart::natural: result += std::to_string(part[i].unsigned_value); break;
      case TextPart::single: result += real_text(part[i].single_value); break;
      case TextPart::real: result += real_text(part[i].real_value); break;
    }
  return result;
}
}  // namespace detail

/// Joins its arguments (texts and numbers) to one string: `text("batch ", n, " of ", total)`. Reals have the fewest digits
/// that read back as the same number of their type.
template <class... Parts>
[[gnu::always_inline]] inline std::string text(const Parts&... parts) {
  if constexpr (sizeof...(parts) == 0) return {};
  else {
    const detail::TextPart part[]{parts...};
    return detail::join(part, sizeof...(parts));
  }
}

namespace detail {
template <class E>
[[noreturn, gnu::cold, gnu::noinline]] void throw_joined(const TextPart* part, std::size_t count) {
  throw E(join(part, count));
}
}  // namespace detail

/// Throws an E whose message is the text of the parts: `throw_error<ValueError>("got ", n, ", the least is 1")`. What remains at the
/// place of the call is a list of the parts.
template <class E, class... Parts>
[[noreturn, gnu::always_inline]] inline void throw_error(const Parts&... parts) {
  const detail::TextPart part[]{parts...};
  detail::throw_joined<E>(part, sizeof...(parts));
}

/// Number of single-character edits that turn a into b (Levenshtein).
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

/// The ASCII letters of a text as small ones.
inline std::string lower_case(std::string_view s) {
  std::string result(s);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  return result;
}

/// " Did you mean 'x'?" for the nearest of the known names, or "" when none is near. Capitals count as small letters.
inline std::string did_you_mean(std::string_view asked, const std::vector<std::string>& known) {
  const std::string* best = nullptr;
  std::size_t distance = std::max<std::size_t>(2, asked.size() / 3) + 1;
  for (const std::string& name : known)
    if (const std::size_t d = edit_distance(lower_case(asked), lower_case(name)); d < distance) best = &name, distance = d;
  return best ? text(" Did you mean '", *best, "'?") : std::string();
}

/// "'a', 'b', 'c'" for messages that list what is legal.
inline std::string quoted_list(const std::vector<std::string>& names) {
  std::string result;
  for (const std::string& name : names) result += text(result.empty() ? "'" : ", '", name, "'");
  return result;
}

}  // namespace tenon
