// What the kernel tests share: numbers to feed in, and the products written as the plain loops of the contract.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include <tenon/backend/cpu/gemm/amx.hpp>
#include <tenon/backend/cpu/gemm/tile.hpp>
#include <tenon/core/random/philox.hpp>

namespace reference {
using tenon::kernel::narrowed;
using tenon::kernel::ProductSum;
using tenon::kernel::widened;

/// Small random numbers; integers from -9 to 9, or 0 to 9 where T has no sign.
template <class T>
std::vector<T> numbers(long count, tenon::Random& random) {
  std::vector<T> v(static_cast<std::size_t>(count));
  for (T& x : v) {
    const float u = random.uniform(-1, 1);
    if constexpr (std::is_unsigned_v<T>) x = T((u + 1) * 5);
    else if constexpr (std::is_integral_v<T>) x = T(u * 10);
    else x = T(u);
  }
  return v;
}

/// Exactly the bytes that a kernel asks for, so that the address sanitizer sees one byte more; filled with a NaN
/// pattern.
class Workspace {
 public:
  explicit Workspace(std::size_t bytes)
      : memory_(static_cast<char*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)), &std::free) {
    std::memset(memory_.get(), 0xff, bytes);
  }
  void* data() { return memory_.get(); }

 private:
  std::unique_ptr<char, decltype(&std::free)> memory_;
};

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// Calls body(begin, end) for 0 .. items cut in `parts`, last part first: the order must not matter.
template <class Body>
void in_parts(long items, long parts, Body&& body) {
  for (long p = parts; p-- > 0;) body(items * p / parts, items * (p + 1) / parts);
}

/// One chain in the accumulator's type, or with add_step segments of a product, each of them a chain; and the same sum
/// in double with the sum of magnitudes for an error bound.
template <class T>
struct Chain {
  ProductSum<T> sum = 0;
  double exact = 0, magnitude = 0;
  void add(T a, T b) { add(a, b, sum); }
  void add(T a, T b, ProductSum<T>& to) {
    to = tenon::fmadd(widened(a), widened(b), to);
    const double product = double(a) * double(b);
    exact += product, magnitude += product < 0 ? -product : product;
  }
  /// The next step of a matrix product: 1024 bytes of sums are the steps of a segment. They pair up in bfloat16: the
  /// second of a pair comes first, and a segment has so many pairs. With tiles of AMX, 32 steps are two chains, of the
  /// first and the second of each pair, and there are no segments. `finish` says that no step follows.
  void add_step(T a, T b) {
    constexpr bool pairs = std::is_same_v<T, tenon::bfloat16>;
    constexpr long segment = 1024 / long(sizeof(ProductSum<T>)) * (pairs ? 2 : 1);
    if (taken == segment && !(pairs && tenon::kernel::amx_permitted())) finish(), sum = 0, taken = 0;
    ++taken;
    if constexpr (!pairs) return add(a, b);
    if (tenon::kernel::amx_permitted()) {
      add(a, b, half[step % 2]);
      if (++step == 32) finish_group();
      return;
    }
    if (step == 0) first[0] = a, first[1] = b, step = 1;
    else add(a, b), finish_group();
  }
  void finish() {
    finish_group();
    before = sum = any_before ? before + sum : sum, any_before = true;
  }
  void finish_group() {
    if constexpr (!std::is_same_v<T, tenon::bfloat16>) return;
    if (tenon::kernel::amx_permitted()) sum += half[0] + half[1], half[0] = half[1] = 0;
    else if (step == 1) add(first[0], first[1]);
    step = 0;
  }
  long taken = 0;  // steps of this segment
  ProductSum<T> before = 0;
  bool any_before = false;
  int step = 0;
  T first[2]{};
  ProductSum<T> half[2]{};

  T rounded() const { return narrowed<T>(sum); }
  /// Is `value` as near to the exact sum as the format allows?
  bool near(T value, long steps) const {
    // modulo the range of T
    if constexpr (std::is_integral_v<T>) return value == static_cast<T>(static_cast<std::int64_t>(exact));
    const double epsilon = std::is_same_v<T, tenon::float16>    ? 0x1p-11
                           : std::is_same_v<T, tenon::bfloat16> ? 0x1p-8
                           : std::is_same_v<T, float>           ? 0x1p-24
                                                                : 0x1p-50;
    const double carried = std::is_same_v<T, double> ? 0x1p-50 : 0x1p-24, error = double(value) - exact;
    return (error < 0 ? -error : error) <=
           magnitude * (epsilon + double(steps + 2) * carried) + (std::is_same_v<T, tenon::float16> ? 0x1p-25 : 0);
  }
};
}  // namespace reference
