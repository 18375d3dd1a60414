// Prefetch: fetches memory into the cache little by little while something is computed.
#pragma once
#include <tenon/backend/cpu/gemm/tile.hpp>

namespace tenon::inline TENON_ABI::kernel::detail {

// Memory that will be needed soon and is fetched little by little meanwhile: `count` pieces of `length` bytes, each
// `step` further.
struct Ahead {
  const char* at = nullptr;
  long length = 0, step = 0, count = 0;
  double rate = 0;  // lines per unit of work
  long done = 0;

  // Begins with what is to be complete after so much work.
  void begin(const void* first, long bytes, long distance, long pieces, long work) {
    at = static_cast<const char*>(first), length = bytes, step = distance, count = bytes > 0 ? pieces : 0, done = 0;
    rate = double(count * ceil_div(length, 64)) / double(work + 1);
  }
  template <bool writes = false>
  void fetch(long work) {
    for (long lines = long(rate * double(work)) + 1; lines > 0 && count > 0; --lines) {
      __builtin_prefetch(at + done, writes, 2);
      done += 64;
      if (done < length) continue;
      done = 0;
      if (--count > 0) at += step;
    }
  }
};

}  // namespace tenon::kernel::detail
