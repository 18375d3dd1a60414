// FullLike, one number everywhere, and Arange, consecutive ones.
#pragma once
#include <cstring>

#include <tenon/backend/reference/index.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct FullLike;
struct Arange;
}  // namespace ops

template <>
struct Kernel<Reference, ops::FullLike> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    T value;
    std::memcpy(&value, &a.immediate, sizeof(T));
    for (long i = 0; i < Call::result.count(a.n); ++i) a.result<T>()[i] = value;
  }
};

template <>
struct Kernel<Reference, ops::Arange> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    for (long i = 0; i < Call::result.count(a.n); ++i)
      a.result<T>()[i] = static_cast<T>(Call::config().start + i * Call::config().step);
  }
};

}  // namespace tenon
