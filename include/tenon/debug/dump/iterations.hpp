// Iterations: which steps of a network a dump is for, "0|5-8|100-120" of a configuration.
#pragma once
#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::debug {

/// A set of step numbers.
class Iterations {
 public:
  /// Every one.
  Iterations() = default;
  /// MindSpore 1.3 and newer: "all", or numbers and ranges with | between them; the first step has the number 0. Blanks
  /// around numbers are no mistake here: MindSpore's documents write them, its reader refuses them. Throws
  /// RuntimeError.
  [[gnu::cold]] explicit Iterations(std::string_view list);
  /// MindSpore 1.1 and 1.2: 0 is every step, n the n-th one; the first step has the number 1.
  [[gnu::cold]] explicit Iterations(long n) : first_(1) {
    if (n > 0) ranges_.push_back({n, n});
  }

  /// The number of the first step.
  long first() const { return first_; }
  bool contains(long number) const {
    if (ranges_.empty()) return true;
    for (const Range& range : ranges_)
      if (range.begin <= number && number <= range.last) return true;
    return false;
  }

 private:
  struct Range {
    long begin, last;
  };
  std::vector<Range> ranges_;  // none: all
  long first_ = 0;
};

namespace detail {
[[noreturn, gnu::cold]] inline void refuse_iterations(std::string_view list) {
  throw_error<RuntimeError>("Dump Json Parse Failed. iteration should be \"all\", or numbers and ranges such as "
                            "\"0|5-8|100-120\", but got ",
                            io::printable(list), ".");
}
[[gnu::cold]] inline std::string_view without_blanks(std::string_view s) {
  while (s.starts_with(' ')) s.remove_prefix(1);
  while (s.ends_with(' ')) s.remove_suffix(1);
  return s;
}
[[gnu::cold]] inline long iteration_of(std::string_view digits, std::string_view list) {
  digits = without_blanks(digits);
  long number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() || digits[0] == '-')
    refuse_iterations(list);
  return number;
}
}  // namespace detail

inline Iterations::Iterations(std::string_view list) {
  if (detail::without_blanks(list) == "all") return;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find('|', begin), list.size());
    const std::string_view part = list.substr(begin, end - begin);
    const std::size_t dash = part.find('-');
    const long from = detail::iteration_of(part.substr(0, dash), list);
    const long to = dash == part.npos ? from : detail::iteration_of(part.substr(dash + 1), list);
    if (to < from) detail::refuse_iterations(list);
    ranges_.push_back({from, to});
    begin = end + 1;
  }
}

}  // namespace tenon::debug
