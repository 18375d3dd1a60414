// The one gateway to vector instructions: a value of several lanes over the compilers' own vector types, and fmadd.
#pragma once
#include <cstddef>
#include <type_traits>
#include <utility>

#include <tenon/core/config.hpp>

// No intrinsics header: it would cost a quarter of a second in every translation unit. The compilers lower the vector
// types themselves. Where they do not find the instruction, it stands here by its own name, as an asm without volatile:
// compilers promise those, move them, drop them, and join equal ones. They promise nothing about the builtins after
// their intrinsics (clang 22 dropped one of F16C). Only g++'s fused multiply-adds stay builtins: contraction is off in
// this region, g++ has no __builtin_elementwise_fma, and of the three instructions (132, 213, 231) it takes the one
// that needs no move, which an asm cannot. tests/layout/builtins.sh holds the list.
TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

/// Bytes of the widest vector that this instruction set multiplies in one instruction.
#if defined(__AVX512F__)
inline constexpr int simd_bytes = 64;
#elif defined(__AVX__)
inline constexpr int simd_bytes = 32;
#else
inline constexpr int simd_bytes = 16;
#endif

/// Lanes of T in the widest vector.
template <class T>
inline constexpr int simd_width = simd_bytes / int(sizeof(T));

/// True where fmadd rounds once, as on each GPU. Scalar and vector always agree.
#if defined(__FMA__) || defined(__AVX512F__) || defined(__aarch64__) || defined(__CUDA_ARCH__) || \
    (defined(__ARM_FEATURE_FMA) && defined(__ARM_FP) && (__ARM_FP & 4))
inline constexpr bool has_fused_multiply_add = true;
#else
inline constexpr bool has_fused_multiply_add = false;
#endif

namespace detail {
template <class T, int Width>
struct SimdStorage {
  // Not beyond the widest vector of the processor: g++ would note that 32 bytes were passed in another way before 2010.
  static constexpr std::size_t alignment = sizeof(T) * Width < simd_bytes ? sizeof(T) * Width : simd_bytes;
  typedef T Type __attribute__((vector_size(sizeof(T) * Width), aligned(alignment)));
  typedef T Unaligned __attribute__((vector_size(sizeof(T) * Width), aligned(alignof(T)), may_alias));
};
}  // namespace detail

/// Width lanes of an arithmetic type T. A plain value: pass by value, keep in registers. Width is a power of two.
template <class T, int Width = simd_width<T>>
struct Simd {
  static_assert(std::is_arithmetic_v<T> && Width >= 2 && (Width & (Width - 1)) == 0);
  using Element = T;
  using Vector = typename detail::SimdStorage<T, Width>::Type;
  using Unaligned = typename detail::SimdStorage<T, Width>::Unaligned;
  static constexpr int width = Width;

  Vector lanes;

  Simd() = default;
  [[gnu::always_inline]] Simd(const Vector& v) : lanes(v) {}
  /// The same value in each lane.
  [[gnu::always_inline]] Simd(T value) : lanes(value - Vector{}) {}

  /// Reads Width elements; the address needs the alignment of T only.
  [[gnu::always_inline]] static Simd load(const T* from) {
    // a copy first: clang would bind the constructor's reference to what is not aligned
    const Vector elements = *reinterpret_cast<const Unaligned*>(from);
    return elements;
  }
  [[gnu::always_inline]] void store(T* to) const { *reinterpret_cast<Unaligned*>(to) = lanes; }
  [[gnu::always_inline]] T operator[](int lane) const { return lanes[lane]; }

  [[gnu::always_inline]] friend Simd operator+(Simd a, Simd b) { return Simd(a.lanes + b.lanes); }
  [[gnu::always_inline]] friend Simd operator-(Simd a, Simd b) { return Simd(a.lanes - b.lanes); }
  [[gnu::always_inline]] friend Simd operator*(Simd a, Simd b) { return Simd(a.lanes * b.lanes); }
  [[gnu::always_inline]] friend Simd operator/(Simd a, Simd b) { return Simd(a.lanes / b.lanes); }
  [[gnu::always_inline]] friend Simd operator-(Simd a) { return Simd(-a.lanes); }
  /// a > b ? a : b in each lane, hence b where either is NaN.
  [[gnu::always_inline]] friend Simd max(Simd a, Simd b) {
#if defined(__AVX__) && !defined(__clang__)
    // g++ would compare and select: two instructions for the one that does both
    if constexpr (std::is_same_v<T, float> && Width >= 4 && Width <= simd_width<float>) {
      asm("vmaxps {%1, %2, %0|%0, %2, %1}" : "=v"(a.lanes) : "vm"(b.lanes), "v"(a.lanes));
      return a;
    } else
#endif
      return Simd(a.lanes > b.lanes ? a.lanes : b.lanes);
  }
  /// a < b ? a : b in each lane, hence b where either is NaN.
  [[gnu::always_inline]] friend Simd min(Simd a, Simd b) {
#if defined(__AVX__) && !defined(__clang__)
    if constexpr (std::is_same_v<T, float> && Width >= 4 && Width <= simd_width<float>) {
      asm("vminps {%1, %2, %0|%0, %2, %1}" : "=v"(a.lanes) : "vm"(b.lanes), "v"(a.lanes));
      return a;
    } else
#endif
      return Simd(a.lanes < b.lanes ? a.lanes : b.lanes);
  }
  /// a > b ? x : y in each lane.
  [[gnu::always_inline]] friend Simd choose_greater(Simd a, Simd b, Simd x, Simd y) {
    return Simd(a.lanes > b.lanes ? x.lanes : y.lanes);
  }
};

/// a * b + c with one rounding where the instruction set has it, else with two.
[[gnu::always_inline]] TENON_DEVICE inline float fmadd(float a, float b, float c) {
  if constexpr (has_fused_multiply_add) return __builtin_fmaf(a, b, c);
  else return a * b + c;
}
[[gnu::always_inline]] TENON_DEVICE inline double fmadd(double a, double b, double c) {
  if constexpr (has_fused_multiply_add) return __builtin_fma(a, b, c);
  else return a * b + c;
}
/// Unsigned integers wrap around; they stand in for signed ones, whose overflow would be undefined.
template <class T>
requires std::is_unsigned_v<T>
[[gnu::always_inline]] TENON_DEVICE inline T fmadd(T a, T b, T c) {
  return T(a * b + c);
}

/// a * b + c in each lane, with the rounding of the scalar fmadd.
template <class T, int Width>
[[gnu::always_inline]] inline Simd<T, Width> fmadd(Simd<T, Width> a, Simd<T, Width> b, Simd<T, Width> c) {
  if constexpr (std::is_floating_point_v<T> && has_fused_multiply_add) {
#if defined(__clang__)
    return Simd<T, Width>(__builtin_elementwise_fma(a.lanes, b.lanes, c.lanes));
#else
    [[maybe_unused]] constexpr bool is_float = sizeof(T) == 4;
#if defined(__AVX512F__)
    constexpr int current_rounding = 4;
    constexpr unsigned char all_lanes = 0xff;
    if constexpr (is_float && Width == 16)
      return Simd<T, Width>(__builtin_ia32_vfmaddps512_mask(a.lanes, b.lanes, c.lanes, -1, current_rounding));
    else if constexpr (!is_float && Width == 8)
      return Simd<T, Width>(__builtin_ia32_vfmaddpd512_mask(a.lanes, b.lanes, c.lanes, all_lanes, current_rounding));
    else
#endif
#if defined(__FMA__)
        if constexpr (is_float && Width == 8)
      return Simd<T, Width>(__builtin_ia32_vfmaddps256(a.lanes, b.lanes, c.lanes));
    else if constexpr (!is_float && Width == 4)
      return Simd<T, Width>(__builtin_ia32_vfmaddpd256(a.lanes, b.lanes, c.lanes));
    else if constexpr (is_float && Width == 4)
      return Simd<T, Width>(__builtin_ia32_vfmaddps(a.lanes, b.lanes, c.lanes));
    else if constexpr (!is_float && Width == 2)
      return Simd<T, Width>(__builtin_ia32_vfmaddpd(a.lanes, b.lanes, c.lanes));
    else
#elif defined(__aarch64__)
    if constexpr (is_float && Width == 4) return Simd<T, Width>(__builtin_aarch64_fmav4sf(a.lanes, b.lanes, c.lanes));
    else if constexpr (!is_float && Width == 2)
      return Simd<T, Width>(__builtin_aarch64_fmav2df(a.lanes, b.lanes, c.lanes));
    else
#endif
    {
      for (int lane = 0; lane < Width; ++lane) c.lanes[lane] = fmadd(a.lanes[lane], b.lanes[lane], c.lanes[lane]);
      return c;
    }
#endif
  } else {
    return Simd<T, Width>(a.lanes * b.lanes + c.lanes);
  }
}

namespace detail {
// The lanes of a, then those of b, in the order of Index.
template <class To, class From, int... Index>
[[gnu::always_inline]] inline To shuffled(From a, From b, std::integer_sequence<int, Index...>) {
#if defined(__CUDACC__)  // nvcc loses the parameter pack of the builtin
  return To(typename To::Vector{(Index < From::width ? a.lanes : b.lanes)[Index % From::width]...});
#else
  return To(__builtin_shufflevector(a.lanes, b.lanes, Index...));
#endif
}
// The sequence order(0), order(1), ... order(Width - 1).
template <auto order, int... Lane>
constexpr auto ordered(std::integer_sequence<int, Lane...>) {
  return std::integer_sequence<int, order(Lane)...>();
}
template <int Width, auto order>
using Order = decltype(ordered<order>(std::make_integer_sequence<int, Width>()));

// One round of the transposition: of two rows Step apart, exchanges the blocks of Step lanes off the diagonal.
template <int Step, class T, int Width>
[[gnu::always_inline]] inline void exchange(Simd<T, Width>& upper, Simd<T, Width>& lower) {
  constexpr auto to_upper = [](int lane) { return lane & Step ? Width + lane - Step : lane; };
  constexpr auto to_lower = [](int lane) { return lane & Step ? Width + lane : lane + Step; };
  const Simd<T, Width> a = upper, b = lower;
  upper = shuffled<Simd<T, Width>>(a, b, Order<Width, to_upper>());
  lower = shuffled<Simd<T, Width>>(a, b, Order<Width, to_lower>());
}
}  // namespace detail

/// Transposes a square of Width rows in place: lane j of row i and lane i of row j change places. With Last < Width
/// only the blocks of Last lanes on the diagonal of a coarser square are transposed.
template <int Last, int Step = 1, class T, int Width>
[[gnu::always_inline]] inline void transpose_blocks(Simd<T, Width> (&rows)[Width]) {
#pragma GCC unroll 16
  for (int i = 0; i < Width; ++i)
    if (!(i & Step)) detail::exchange<Step>(rows[i], rows[i + Step]);
  if constexpr (2 * Step < Last) transpose_blocks<Last, 2 * Step>(rows);
}
template <class T, int Width>
[[gnu::always_inline]] inline void transpose_lanes(Simd<T, Width> (&rows)[Width]) {
  transpose_blocks<Width>(rows);
}

/// The lanes of `low`, then the lanes of `high`.
template <class T, int Width>
[[gnu::always_inline]] inline Simd<T, 2 * Width> joined(Simd<T, Width> low, Simd<T, Width> high) {
  return detail::shuffled<Simd<T, 2 * Width>>(low, high, std::make_integer_sequence<int, 2 * Width>());
}

/// Every second element of the 2 * Width that a and b hold, from the first (odd = 0) or the second (odd = 1).
template <class T, int Width>
[[gnu::always_inline]] inline Simd<T, Width> every_second(Simd<T, Width> a, Simd<T, Width> b, int odd) {
  constexpr auto even_lanes = [](int lane) { return 2 * lane; };
  constexpr auto odd_lanes = [](int lane) { return 2 * lane + 1; };
  if (odd) return detail::shuffled<Simd<T, Width>>(a, b, detail::Order<Width, odd_lanes>());
  return detail::shuffled<Simd<T, Width>>(a, b, detail::Order<Width, even_lanes>());
}

/// One half of a[0], b[0], a[1], b[1], ...: what every_second takes apart.
template <class T, int Width>
[[gnu::always_inline]] inline Simd<T, Width> interleaved(Simd<T, Width> a, Simd<T, Width> b, bool upper_half) {
  constexpr auto lower = [](int lane) { return lane / 2 + (lane & 1) * Width; };
  constexpr auto upper = [](int lane) { return (lane + Width) / 2 + (lane & 1) * Width; };
  if (upper_half) return detail::shuffled<Simd<T, Width>>(a, b, detail::Order<Width, upper>());
  return detail::shuffled<Simd<T, Width>>(a, b, detail::Order<Width, lower>());
}

/// Moves the lanes of x and y in which a > b side by side, from lane 0 on, and returns how many they are. The lanes
/// after hold anything.
#if defined(__AVX512F__)
[[gnu::always_inline]] inline int pack_greater(Simd<float, 16> a, Simd<float, 16> b, Simd<float, 16>& x,
                                               Simd<float, 16>& y) {
  unsigned short mask;
  asm("vcmpgt_oqps {%2, %1, %0|%0, %1, %2}" : "=Yk"(mask) : "v"(a.lanes), "v"(b.lanes));
  asm("vcompressps {%1, %0%{%2%}%{z%}|%0%{%2%}%{z%}, %1}" : "=v"(x.lanes) : "v"(x.lanes), "Yk"(mask));
  asm("vcompressps {%1, %0%{%2%}%{z%}|%0%{%2%}%{z%}, %1}" : "=v"(y.lanes) : "v"(y.lanes), "Yk"(mask));
  return __builtin_popcount(mask);
}
#elif defined(__AVX2__)
namespace detail {
// The set bits of each number of 8 bits, in ascending order, 4 bits each. A template: only code that packs lanes has
// it.
template <int Width>
struct SetBits {
  unsigned bits[1 << Width]{};
  constexpr SetBits() {
    for (int mask = 0; mask < 1 << Width; ++mask)
      for (int lane = 0, next = 0; lane < Width; ++lane)
        if (mask >> lane & 1) bits[mask] |= unsigned(lane) << 4 * next++;
  }
};
template <int Width>
inline constexpr SetBits<Width> set_bits{};
}  // namespace detail
template <int Width>
[[gnu::always_inline]] inline int pack_greater(Simd<float, Width> a, Simd<float, Width> b, Simd<float, Width>& x,
                                               Simd<float, Width>& y) {
  static_assert(Width == 8);
  unsigned long mask;
  asm("vmovmskps {%1, %0|%0, %1}" : "=r"(mask) : "x"(a.lanes > b.lanes));
  // of an index vpermps reads 3 bits
  const auto order = Simd<unsigned, Width>(detail::set_bits<Width>.bits[mask]).lanes >>
                     typename Simd<unsigned, Width>::Vector{0, 4, 8, 12, 16, 20, 24, 28};
  asm("vpermps {%1, %2, %0|%0, %2, %1}" : "=v"(x.lanes) : "v"(x.lanes), "v"(order));
  asm("vpermps {%1, %2, %0|%0, %2, %1}" : "=v"(y.lanes) : "v"(y.lanes), "v"(order));
  return __builtin_popcount(unsigned(mask));
}
#endif

/// The square root of each lane, correctly rounded, hence with the bits of the scalar one; NaN below zero.
template <class T, int Width>
[[gnu::always_inline]] inline Simd<T, Width> square_root(Simd<T, Width> a) {
#if defined(__clang__)
  return Simd<T, Width>(__builtin_elementwise_sqrt(a.lanes));
#else
  constexpr bool is_float = sizeof(T) == 4;
#if defined(__AVX__)
  constexpr bool one_register = sizeof(a) >= 16 && sizeof(a) <= simd_bytes;
  if constexpr (one_register && is_float) {
    asm("vsqrtps {%1, %0|%0, %1}" : "=v"(a.lanes) : "vm"(a.lanes));
    return a;
  } else if constexpr (one_register) {
    asm("vsqrtpd {%1, %0|%0, %1}" : "=v"(a.lanes) : "vm"(a.lanes));
    return a;
  } else
#endif
  {
    for (int lane = 0; lane < Width; ++lane)
      a.lanes[lane] = is_float ? T(__builtin_sqrtf(float(a.lanes[lane]))) : T(__builtin_sqrt(double(a.lanes[lane])));
    return a;
  }
#endif
}

/// Stores a vector past the caches where the instruction set can, else as usual. The address is a multiple of the
/// vector's size. Before another thread reads it, settle_stores().
template <class T, int Width>
[[gnu::always_inline]] inline void store_past_caches(Simd<T, Width> a, T* to) {
#if defined(__clang__)
  __builtin_nontemporal_store(a.lanes, reinterpret_cast<typename Simd<T, Width>::Vector*>(to));
#elif defined(__SSE2__)
  if constexpr (std::is_same_v<T, float> && sizeof(a) >= 16 && sizeof(a) <= simd_bytes) {
    using Unaligned = typename Simd<T, Width>::Unaligned;
#if defined(__AVX__)
    asm("vmovntps {%1, %0|%0, %1}" : "=m"(*reinterpret_cast<Unaligned*>(to)) : "v"(a.lanes));
#else
    asm("movntps {%1, %0|%0, %1}" : "=m"(*reinterpret_cast<Unaligned*>(to)) : "x"(a.lanes));
#endif
  } else a.store(to);
#else
  a.store(to);
#endif
}
[[gnu::always_inline]] inline void settle_stores() {
#if defined(__SSE2__)
  asm volatile("sfence" : : : "memory");
#endif
}

/// The same numbers as float64, and float64 rounded to float32.
template <int Width>
[[gnu::always_inline]] inline Simd<double, Width> as_float64(Simd<float, Width> a) {
#if defined(__AVX__) && !defined(__clang__)  // g++ would widen one half after the other
  if constexpr (Width == 4 || (Width == 8 && simd_bytes == 64)) {
    typename Simd<double, Width>::Vector wide;
    asm("vcvtps2pd {%1, %0|%0, %1}" : "=v"(wide) : "v"(a.lanes));
    return Simd<double, Width>(wide);
  }
#endif
  return Simd<double, Width>(__builtin_convertvector(a.lanes, typename Simd<double, Width>::Vector));
}
template <int Width>
[[gnu::always_inline]] inline Simd<float, Width> as_float32(Simd<double, Width> a) {
  return Simd<float, Width>(__builtin_convertvector(a.lanes, typename Simd<float, Width>::Vector));
}

/// The first half of the lanes, and the second.
template <class T, int Width>
[[gnu::always_inline]] inline Simd<T, Width / 2> lower_half(Simd<T, Width> a) {
  constexpr auto lane_of = [](int lane) { return lane; };
  return detail::shuffled<Simd<T, Width / 2>>(a, a, detail::Order<Width / 2, lane_of>());
}
template <class T, int Width>
[[gnu::always_inline]] inline Simd<T, Width / 2> upper_half(Simd<T, Width> a) {
  constexpr auto lane_of = [](int lane) { return lane + Width / 2; };
  return detail::shuffled<Simd<T, Width / 2>>(a, a, detail::Order<Width / 2, lane_of>());
}

}  // namespace tenon
TENON_EXACT_END
