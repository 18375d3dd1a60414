// Vectors of 16-bit floats: to float32 and back with the bits of core/float/half.hpp, and products of bfloat16 pairs.
#pragma once
#include <cstdint>

#include <tenon/core/float/half.hpp>
#include <tenon/core/simd/simd.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace detail {
template <class To, class From>
[[gnu::always_inline]] inline To same_lanes(From v) {
  return To(reinterpret_cast<typename To::Vector>(v.lanes));
}
template <int Width>
[[gnu::always_inline]] inline Simd<std::uint16_t, Width> load_bits(const void* from) {
  using Bits = Simd<std::uint16_t, Width>;
  const typename Bits::Vector elements = *static_cast<const typename Bits::Unaligned*>(from);
  return elements;
}
template <int Width>
[[gnu::always_inline]] inline void store_bits(Simd<std::uint16_t, Width> bits, void* to) {
  *static_cast<typename Simd<std::uint16_t, Width>::Unaligned*>(to) = bits.lanes;
}
#if defined(__F16C__)
// Whether one instruction converts Width float16. clang knows it as a conversion of vectors of _Float16; g++ would
// convert one element after the other.
template <int Width>
inline constexpr bool converts_halves = Width == 8 || (Width == 16 && simd_bytes == 64);
template <int Width>
[[gnu::always_inline]] inline Simd<float, Width> widened(const typename Simd<std::uint16_t, Width>::Vector& bits) {
  typename Simd<float, Width>::Vector values;
#if defined(__clang__)
  typedef _Float16 Halves __attribute__((vector_size(2 * Width)));
  values = __builtin_convertvector(reinterpret_cast<Halves>(bits), decltype(values));
#else
  asm("vcvtph2ps {%1, %0|%0, %1}" : "=v"(values) : "vm"(bits));
#endif
  return values;
}
// Rounded to nearest, to even in the middle.
template <int Width>
[[gnu::always_inline]] inline typename Simd<std::uint16_t, Width>::Vector narrowed(Simd<float, Width> values) {
  typename Simd<std::uint16_t, Width>::Vector bits;
#if defined(__clang__) && defined(__AVX512F__)  // with AVX2 what follows would take more instructions
  typedef _Float16 Halves __attribute__((vector_size(2 * Width)));
  bits = reinterpret_cast<decltype(bits)>(__builtin_convertvector(values.lanes, Halves));
#else
  asm("vcvtps2ph {$0, %1, %0|%0, %1, 0}" : "=v"(bits) : "v"(values.lanes));
#endif
  return bits;
}
#endif
}  // namespace detail

/// Width elements of float32 or of a 16-bit type as float32.
template <int Width>
[[gnu::always_inline]] inline Simd<float, Width> load_float(const float* from) {
  return Simd<float, Width>::load(from);
}
template <int Width>
[[gnu::always_inline]] inline Simd<float, Width> load_float(const bfloat16* from) {
  using Bits = Simd<std::uint32_t, Width>;
  const auto halves = detail::load_bits<Width>(from).lanes;
#if defined(__AVX512F__) && !defined(__clang__)  // g++ would widen one half after the other
  if constexpr (Width == 16) {
    typename Bits::Vector bits;
    asm("vpmovzxwd {%1, %0|%0, %1}" : "=v"(bits) : "vm"(halves));
    return detail::same_lanes<Simd<float, 16>>(Bits(bits << 16));
  } else
#endif
    return detail::same_lanes<Simd<float, Width>>(Bits(__builtin_convertvector(halves, typename Bits::Vector) << 16));
}
template <int Width>
[[gnu::always_inline]] inline Simd<float, Width> load_float(const float16* from) {
#if defined(__F16C__)
  if constexpr (detail::converts_halves<Width>) return detail::widened<Width>(detail::load_bits<Width>(from).lanes);
  else
#endif
  {
    Simd<float, Width> values;
    for (int lane = 0; lane < Width; ++lane) values.lanes[lane] = float(from[lane]);
    return values;
  }
}

/// Writes float32 lanes as float32 or rounded to a 16-bit type.
template <int Width>
[[gnu::always_inline]] inline void store_float(Simd<float, Width> values, float* to) {
  values.store(to);
}
template <int Width>
[[gnu::always_inline]] inline void store_float(Simd<float, Width> values, bfloat16* to) {
  using Bits = Simd<std::uint32_t, Width>;
  const auto f = detail::same_lanes<Bits>(values).lanes;
  const auto rounded = f + 0x7fffu + (f >> 16 & 1u);
  const Bits bits(values.lanes != values.lanes ? f | 0x400000u : rounded);
  constexpr auto upper_halves = [](int lane) { return 2 * lane + 1; };
  const auto halves = detail::same_lanes<Simd<std::uint16_t, 2 * Width>>(bits);
  detail::store_bits(detail::shuffled<Simd<std::uint16_t, Width>>(halves, halves, detail::Order<Width, upper_halves>()),
                     to);
}
/// The same for what arithmetic has just computed: none of it is denormal, which vcvtneps2bf16 would make zero.
template <int Width>
[[gnu::always_inline]] inline void store_sums(Simd<float, Width> sums, bfloat16* to) {
#if defined(__AVX512BF16__) && defined(__AVX512VL__)
  if constexpr (Width >= 8) {
    typename Simd<std::uint16_t, Width>::Vector bits;
    asm("vcvtneps2bf16 {%1, %0|%0, %1}" : "=v"(bits) : "v"(sums.lanes));
    return detail::store_bits(Simd<std::uint16_t, Width>(bits), to);
  } else
#endif
    store_float(sums, to);
}
template <int Width>
[[gnu::always_inline]] inline void store_float(Simd<float, Width> values, float16* to) {
#if defined(__F16C__)
  using Bits = Simd<std::uint16_t, Width>;
  if constexpr (detail::converts_halves<Width>) {
    const typename Bits::Vector bits = detail::narrowed<Width>(values);
    // All NaNs become one, as in core/float/half.hpp.
    const typename Bits::Vector nan = (bits & std::uint16_t(0x8000)) | std::uint16_t(0x7e00);
    const auto size = reinterpret_cast<typename Simd<std::int16_t, Width>::Vector>(bits & std::uint16_t(0x7fff));
    detail::store_bits(Bits(size > std::int16_t(0x7c00) ? nan : bits), to);
  } else
#endif
  {
    for (int lane = 0; lane < Width; ++lane) to[lane] = float16(float(values.lanes[lane]));
  }
}

/// Two bfloat16 that follow each other along the sum of a product: the first in the lower half.
using Bfloat16Pair = std::uint32_t;

/// The first (0) or second (1) element of each pair.
template <int which, int Width>
[[gnu::always_inline]] inline Simd<float, Width> pair_element(Simd<Bfloat16Pair, Width> pairs) {
  using Pairs = Simd<Bfloat16Pair, Width>;
  if constexpr (which == 0) return detail::same_lanes<Simd<float, Width>>(Pairs(pairs.lanes << 16));
  else return detail::same_lanes<Simd<float, Width>>(Pairs(pairs.lanes & 0xffff0000u));
}

/// Whether one instruction multiplies and adds pairs.
template <int Width>
#if defined(__AVX512BF16__) && defined(__AVX512VL__)
inline constexpr bool multiplies_pairs = Width >= 4;
#else
inline constexpr bool multiplies_pairs = false;
#endif

/// In each lane sum + the products of a's and b's second elements, then + those of the first, rounded after each. A
/// product of two bfloat16 is exact in float32, so that vdpbf16ps, a fused and a separate multiply-add agree; denormals
/// count as zero.
template <int Width>
[[gnu::always_inline]] inline Simd<float, Width> fmadd(Simd<Bfloat16Pair, Width> a, Simd<Bfloat16Pair, Width> b,
                                                       Simd<float, Width> sum) {
#if defined(__AVX512BF16__) && defined(__AVX512VL__)
  if constexpr (multiplies_pairs<Width>) {  // by its name: the builtin differs with every version of every compiler
    asm("vdpbf16ps {%2, %1, %0|%0, %1, %2}" : "+v"(sum.lanes) : "v"(a.lanes), "v"(b.lanes));
    return sum;
  } else
#endif
    return fmadd(pair_element<0>(a), pair_element<0>(b), fmadd(pair_element<1>(a), pair_element<1>(b), sum));
}

/// pair_element of a pair in every lane. A compiler would take the pair apart in general registers before it broadcasts
/// it, and would keep the mask in a register that a tile needs for its sums.
template <int which, int Width>
[[gnu::always_inline]] inline Simd<float, Width> broadcast_element(Bfloat16Pair pair) {
  Simd<Bfloat16Pair, Width> pairs(pair);
#if defined(__FMA__)
  if constexpr (Width == 8 && which == 1) {
    alignas(32) static constexpr Bfloat16Pair second[8]{0xffff0000u, 0xffff0000u, 0xffff0000u, 0xffff0000u,
                                                        0xffff0000u, 0xffff0000u, 0xffff0000u, 0xffff0000u};
    asm volatile("vandps {%1, %0, %0|%0, %0, %1}" : "+v"(pairs.lanes) : "m"(second));
    return detail::same_lanes<Simd<float, Width>>(pairs);
  } else if constexpr (Width >= 4) {
    asm volatile("" : "+v"(pairs.lanes));
  }
#endif
  return pair_element<which>(pairs);
}
/// sum += a * b as fmadd has it, but in its place between other statements and in the register of sum: a compiler that
/// moves the steps of a tile about needs more registers than there are.
template <int Width>
[[gnu::always_inline]] inline void fmadd_in_place(Simd<float, Width> a, Simd<float, Width> b, Simd<float, Width>& sum) {
#if defined(__FMA__)
  if constexpr (Width >= 4)
    asm volatile("vfmadd231ps {%2, %1, %0|%0, %1, %2}" : "+v"(sum.lanes) : "v"(a.lanes), "v"(b.lanes));
  else
#endif
    sum = fmadd(a, b, sum);
}

}  // namespace tenon
TENON_EXACT_END
