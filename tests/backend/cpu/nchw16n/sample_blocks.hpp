// Brings samples into blocks and back, for tests of kernels on both layouts.
#pragma once
#include <limits>
#include <vector>

#include <tenon/backend/cpu/elementwise/unrolled.hpp>
#include <tenon/backend/cpu/nchw16n/layout.hpp>

namespace reference {

/// `n` samples in blocks; what no sample fills is NaN, which must not reach any result.
template <class T>
std::vector<T> in_blocks_of(const std::vector<T>& x, long n, long features) {
  std::vector<T> blocks(std::size_t(tenon::whole_blocks(n) * features), std::numeric_limits<T>::quiet_NaN());
  for (long s = 0; s < n; ++s)
    for (long f = 0; f < features; ++f)
      blocks[std::size_t(tenon::nchw16n_place(s, f, features))] = x[std::size_t(s * features + f)];
  return blocks;
}
inline std::vector<float> from_blocks(const std::vector<float>& blocks, long n, long features) {
  std::vector<float> x(std::size_t(n * features));
  for (long s = 0; s < n; ++s)
    for (long f = 0; f < features; ++f)
      x[std::size_t(s * features + f)] = blocks[std::size_t(tenon::nchw16n_place(s, f, features))];
  return x;
}

}  // namespace reference
