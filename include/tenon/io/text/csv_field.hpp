// csv_field: a text as one field of comma-separated values.
#pragma once
#include <string>
#include <string_view>

#include <tenon/core/abi.hpp>

namespace tenon::inline TENON_ABI::io {

/// In quotes if it must be, with those in it doubled, as RFC 4180 says.
inline std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

}  // namespace tenon::io
