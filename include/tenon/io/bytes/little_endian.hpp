// Numbers whose lowest byte comes first in a file, whatever it is here.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include <tenon/core/abi.hpp>

namespace tenon::inline TENON_ABI::io::detail {

template <class Number>
void append_little_endian(std::string& out, Number number) {
  for (std::size_t i = 0; i < sizeof number; ++i) out += static_cast<char>(number >> (8 * i) & 255u);
}
/// Of the first bytes; there must be as many as the number has.
template <class Number>
Number little_endian(std::string_view bytes) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i)
    number |= static_cast<Number>(static_cast<Number>(static_cast<unsigned char>(bytes[i])) << (8 * i));
  return number;
}

}  // namespace tenon::io::detail
