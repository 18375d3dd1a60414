// error_of: the sentence that a call throws, for tests.
#pragma once
#include <string>

#include <tenon/core/error.hpp>

namespace support {

inline std::string error_of(auto f) {
  try {
    f();
  } catch (const tenon::Error& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace support
