// How control flow moves values on the CPU.
#pragma once
#include <cstring>
#include <type_traits>

#include <tenon/core/random/philox.hpp>
#include <tenon/core/simd/simd.hpp>
#include <tenon/core/thread/parallel.hpp>
#include <tenon/target/moves.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace kernel {
template <class T>
void add_elements(T* sum, const T* term, long count) {
  long i = 0;
  if constexpr (sizeof(T) > 2)
    for (; i + simd_width<T> <= count; i += simd_width<T>)
      (Simd<T>::load(sum + i) + Simd<T>::load(term + i)).store(sum + i);
  for (; i < count; ++i) {
    if constexpr (sizeof(T) == 2) sum[i] = T(float(sum[i]) + float(term[i]));
    else sum[i] += term[i];
  }
}
}  // namespace kernel

template <>
struct Moves<Cpu> {
  static constexpr bool on_host = true;
  static void copy(void* to, const void* from, long bytes) { std::memcpy(to, from, std::size_t(bytes)); }
  static void copy_rows(RowsOfBytes to, RowsOfBytes from, long rows, long bytes) {
    for (long r = 0; r < rows; ++r)
      std::memcpy(to.begin + r * to.stride, from.begin + r * from.stride, std::size_t(bytes));
  }
  static void clear(void* to, long bytes) { std::memset(to, 0, std::size_t(bytes)); }
  static void put(void* to, std::uint64_t word) { std::memcpy(to, &word, sizeof word); }
  static void add(Dtype dtype, void* sum, const void* term, long count) {
    const auto all = [&]<class T>(std::type_identity<T>) {
      kernel::add_elements(static_cast<T*>(sum), static_cast<const T*>(term), count);
    };
    switch (dtype) {
      case Dtype::float64: return all(std::type_identity<double>());
      case Dtype::float16: return all(std::type_identity<float16>());
      case Dtype::bfloat16: return all(std::type_identity<bfloat16>());
      default: return all(std::type_identity<float>());
    }
  }
  static void turn_state(void* to, const void* state, long turn) {
    turn_random_state(static_cast<std::uint64_t*>(to), static_cast<const std::uint64_t*>(state), turn);
  }
  template <class F, class G>
  static void either(void*, const bool* condition, F then, G otherwise) {
    if (*condition) then();
    else otherwise();
  }
  static int threads() { return ThreadPool::instance().threads(); }
};

}  // namespace tenon
TENON_EXACT_END
