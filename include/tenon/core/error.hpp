// Errors that a program can catch: one base, the kinds with the names that MindSpore users know.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/config.hpp>
#include <tenon/core/math/min_max.hpp>
#if TENON_DEFINES
#include <charconv>
#endif

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
/// Memory that could not be had. The message says how much and for what, how much is free, and, where a network asked
/// for it, the largest owners, and which batch size fits. What the request was a part of has not happened; a smaller
/// one can follow.
struct OutOfMemory : RuntimeError {
  using RuntimeError::RuntimeError;
  OutOfMemory(const std::string& message, std::size_t end) : RuntimeError(message), details_end(end) {}
  /// Where in the message more can be said, before what to do next.
  std::size_t details_end = std::string::npos;
};

namespace detail {
/// What an argument of text() is: 3 bits each, so that a call has one number for all of them. 0 is after the last one.
enum class TextKind : unsigned { end, literal, string, chars, whole, natural, single, real };
template <class T>
constexpr TextKind text_kind_of() {
  if constexpr (requires(const T& part) { std::string_view(part); }) return TextKind::chars;
  else if constexpr (std::is_same_v<T, float> || requires(const T& part) { part.operator float(); })
    return TextKind::single;
  else if constexpr (std::is_floating_point_v<T>) return TextKind::real;
  else return std::is_unsigned_v<T> ? TextKind::natural : TextKind::whole;
}
template <class T>
inline constexpr TextKind text_kind = text_kind_of<T>();
template <>
inline constexpr TextKind text_kind<std::string> = TextKind::string;
template <>
inline constexpr TextKind text_kind<const char*> = TextKind::literal;
template <std::size_t N>
inline constexpr TextKind text_kind<char[N]> = TextKind::literal;

/// An argument of text(), of a kind that the call knows: a place that throws stores one word for a literal.
union TextPart {
  const char* literal;
  const std::string* string;
  std::string_view chars;
  long long whole;
  unsigned long long natural;
  float single;
  double real;
  // These two before the template, so that no literal's length makes another instance.
  TextPart(const char* part) : literal(part) {}
  TextPart(const std::string& part) : string(&part) {}
  template <class T>
  TextPart(const T& part) {
    if constexpr (text_kind<T> == TextKind::chars) chars = std::string_view(part);
    else if constexpr (text_kind<T> == TextKind::single) single = part;
    else if constexpr (text_kind<T> == TextKind::real) real = double(part);
    else if constexpr (text_kind<T> == TextKind::natural) natural = part;
    else whole = static_cast<long long>(part);
  }
};
/// Their kinds in one number, the first one in the lowest bits.
constexpr std::uint64_t packed(const TextKind* kinds, std::size_t count) {
  std::uint64_t all = 0;
  while (count > 0) all = all << 3 | std::uint64_t(kinds[--count]);
  return all;
}
/// This many fit into the number.
inline constexpr std::size_t most_kinds = 21;
template <class... Parts>
inline constexpr TextKind kinds_of[]{text_kind<Parts>...};
/// The kinds of the parts, if they fit. A variable: a function would be compiled for each list of parts, although
/// nothing calls it.
template <class... Parts>
inline constexpr std::uint64_t text_kinds = packed(kinds_of<Parts...>, sizeof...(Parts));
// One function for all messages, off the hot path: a template here would be compiled once per list of literal lengths.
[[gnu::cold]] std::string join(const TextPart* part, std::uint64_t kinds);
}  // namespace detail

/// Joins its arguments (texts and numbers) to one string: `text("batch ", n, " of ", total)`. Reals have the fewest
/// digits that read back as the same number of their type.
template <class... Parts>
[[gnu::always_inline]] inline std::string text(const Parts&... parts) {
  if constexpr (sizeof...(parts) == 0) return {};
  else {
    const detail::TextPart part[]{parts...};
    if constexpr (sizeof...(parts) <= detail::most_kinds) return detail::join(part, detail::text_kinds<Parts...>);
    else {
      std::string joined;
      for (std::size_t first = 0; first < sizeof...(parts); first += detail::most_kinds)
        joined += detail::join(part + first, detail::packed(detail::kinds_of<Parts...> + first,
                                                            math::min(sizeof...(parts) - first, detail::most_kinds)));
      return joined;
    }
  }
}

namespace detail {
template <class E>
[[noreturn, gnu::cold, gnu::noinline]] void throw_joined(const TextPart* part, std::uint64_t kinds) {
  throw E(join(part, kinds));
}
}  // namespace detail

#if defined(TENON_EMBEDDED)
namespace embedded {
/// Called with the first words of an error, where a hosted program throws it; set it to report them. What it returns to
/// stops the processor.
using ErrorHandler = void (*)(const char* words);
inline constinit ErrorHandler on_error = nullptr;
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse(const char* words) {
  if (on_error) on_error(words);
  __builtin_trap();
}
}  // namespace embedded
namespace detail {
constexpr const char* first_words() { return "An error without words."; }
template <class First, class... More>
constexpr const char* first_words(const First& first, const More&... more) {
  if constexpr (text_kind<First> == TextKind::literal) return first;
  else return first_words(more...);
}
}  // namespace detail
template <class E, class... Parts>
[[noreturn, gnu::always_inline]] inline void throw_error(const Parts&... parts) {
  embedded::refuse(detail::first_words(parts...));
}
#else
/// Throws an E whose message is the text of the parts: `throw_error<ValueError>("got ", n, ", the least is 1")`. What
/// remains at the place of the call is a list of the parts.
template <class E, class... Parts>
[[noreturn, gnu::always_inline]] inline void throw_error(const Parts&... parts) {
  if constexpr (sizeof...(parts) > detail::most_kinds) throw E(text(parts...));
  else {
    const detail::TextPart part[]{parts...};
    detail::throw_joined<E>(part, detail::text_kinds<Parts...>);
  }
}
#endif

namespace detail {
/// "12.3 GB": three digits and a unit, of a number of bytes that may be beyond all integers.
[[gnu::cold]] std::string memory_text(double bytes);
}  // namespace detail

/// Number of single-character edits that turn a into b (Levenshtein).
[[gnu::cold]] int edit_distance(std::string_view a, std::string_view b);

/// The ASCII letters of a text as small ones.
[[gnu::cold]] std::string lower_case(std::string_view s);

/// " Did you mean 'x'?" for the nearest of the known names, or "" when none is near. Capitals count as small letters.
[[gnu::cold]] std::string did_you_mean(std::string_view asked, const std::vector<std::string>& known);

namespace detail {
/// The words of a text: a list of what is legal is one literal then.
[[gnu::cold]] std::vector<std::string> words(std::string_view s);
}  // namespace detail

/// "'a', 'b', 'c'" for messages that list what is legal.
[[gnu::cold]] std::string quoted_list(const std::vector<std::string>& names);

#if TENON_DEFINES
namespace detail {
// The fewest digits that read back as x: 0.1, 100000, 1e-09.
template <class T>
[[gnu::cold, gnu::noinline]] std::string real_text(T x) {
  if (x != x) return "nan";  // x86 makes NaNs with a sign, which says nothing to a reader
  char digits[32];
  const T size = x < 0 ? -x : x;
  const bool plain = size == 0 || (size >= T(1e-4) && size < T(1e7));  // to_chars alone takes what is shorter: 1e+05
  const auto end = plain ? std::to_chars(digits, digits + sizeof digits, x, std::chars_format::fixed)
                         : std::to_chars(digits, digits + sizeof digits, x);
  return {digits, end.ptr};
}
[[gnu::noinline]] TENON_INLINE std::string join(const TextPart* part, std::uint64_t kinds) {
  std::string result;
  for (; kinds != 0; ++part, kinds >>= 3) switch (TextKind(kinds & 7)) {
      case TextKind::end: break;
      case TextKind::literal: result += part->literal; break;
      case TextKind::string: result += *part->string; break;
      case TextKind::chars: result += part->chars; break;
      case TextKind::whole: result += std::to_string(part->whole); break;
      case TextKind::natural: result += std::to_string(part->natural); break;
      case TextKind::single: result += real_text(part->single); break;
      case TextKind::real: result += real_text(part->real); break;
    }
  return result;
}
[[gnu::noinline]] TENON_INLINE std::string memory_text(double bytes) {
  constexpr const char* units[]{" bytes", " KB", " MB", " GB", " TB", " PB", " EB"};
  int unit = 0;
  for (; bytes >= 999.5 && unit < 6; ++unit) bytes /= 1000;
  const double rounds = unit == 0 || bytes >= 99.95 ? 1 : bytes >= 9.995 ? 10 : 100;
  return text(double(static_cast<long long>(bytes * rounds + 0.5)) / rounds, units[unit]);
}
}  // namespace detail

TENON_INLINE int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = int(j);
  for (std::size_t i = 0; i < a.size(); ++i) {
    int diagonal = row[0];
    row[0] = int(i) + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const int replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = math::min(replaced, math::min(row[j] + 1, row[j + 1] + 1));
    }
  }
  return row[b.size()];
}
TENON_INLINE std::string lower_case(std::string_view s) {
  std::string result(s);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  return result;
}
TENON_INLINE std::string did_you_mean(std::string_view asked, const std::vector<std::string>& known) {
  const std::string* best = nullptr;
  int distance = math::max(2, int(asked.size() / 3)) + 1;
  for (const std::string& name : known)
    if (const int d = edit_distance(lower_case(asked), lower_case(name)); d < distance) best = &name, distance = d;
  return best ? text(" Did you mean '", *best, "'?") : std::string();
}
namespace detail {
TENON_INLINE std::vector<std::string> words(std::string_view s) {
  std::vector<std::string> result;
  for (std::size_t end; !s.empty(); s.remove_prefix(math::min(end + 1, s.size()))) {
    end = math::min(s.find(' '), s.size());
    result.push_back(std::string(s.substr(0, end)));
  }
  return result;
}
}  // namespace detail

TENON_INLINE std::string quoted_list(const std::vector<std::string>& names) {
  std::string result;
  for (const std::string& name : names) result += text(result.empty() ? "'" : ", '", name, "'");
  return result;
}
#endif  // TENON_DEFINES

}  // namespace tenon
