// Runs of sorted keys become one: a thread per key finds its place.
#pragma once
#include <tenon/backend/cuda/device.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// How many of the sorted keys first .. last - 1 are smaller.
template <class Key>
__device__ inline long count_smaller(const Key* keys, long first, long last, Key key) {
  const long begin = first;
  while (first < last) {
    const long middle = first + (last - first) / 2;
    if (keys[middle] < key) first = middle + 1;
    else last = middle;
  }
  return first - begin;
}
/// Where key i goes when each two neighbouring runs of `width` sorted keys become one. All keys differ.
template <class Key>
__device__ inline long merged_place(const Key* keys, long count, long width, long i) {
  const long pair = i / (2 * width) * (2 * width), middle = pair + width, end = middle + width;
  if (i >= middle) return i - width + count_smaller(keys, pair, middle, keys[i]);
  return i + (middle < count ? count_smaller(keys, middle, end < count ? end : count, keys[i]) : 0);
}

}  // namespace tenon::kernel::cuda
