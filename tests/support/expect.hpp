// A CHECK that counts, for tests that say how many of their cases passed.
#pragma once
#include <doctest/doctest.h>

namespace support {

inline int& failures() {
  static int count = 0;
  return count;
}
[[gnu::noinline]] inline void expect(bool ok) {
  failures() += !ok;
  CHECK(ok);
}

}  // namespace support
