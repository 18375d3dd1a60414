// Tensors of random numbers. Element i is a function of (seed, i) alone: not of threads, and not of the batch size.
#pragma once
#include <limits>

#include <tenon/core/math/libm.hpp>
#include <tenon/core/random/philox.hpp>
#include <tenon/core/tensor.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

struct NormalOptions {
  float mean = 0, sigma = 1;
};
struct UniformOptions {
  float low = 0, high = 1;
};
struct IntegerOptions {
  std::int64_t low = 0, high = 2;
};

namespace detail {
/// Element i takes word i mod 4 of random block i / 4.
template <class T, class S, class F>
Tensor<T, S> random_tensor(std::uint64_t seed, long n, F numbers) {
  Tensor<T, S> t = Tensor<T, S>::empty(n);
  T* to = t.data();
  const long count = t.count();
  for (long i = 0; i < count; i += 4) {
    T drawn[4];
    numbers(philox(seed, std::uint64_t(i / 4)), drawn);
    for (long k = 0; k < 4 && i + k < count; ++k) to[i + k] = drawn[k];
  }
  return t;
}
template <class T>
constexpr bool has_integer(std::int64_t x) {
  return x < 0 ? std::is_signed_v<T> && x >= static_cast<std::int64_t>(std::numeric_limits<T>::lowest())
               : static_cast<std::uint64_t>(x) <= static_cast<std::uint64_t>(std::numeric_limits<T>::max());
}
}  // namespace detail

/// Gaussian numbers: `random_normal<float, Shape<dyn, 3>>(seed, {.sigma = 2}, n)`. T is a floating-point type.
/// Source: Box and Muller 1958 on Philox4x32-10.
template <Element T, class S>
Tensor<T, S> random_normal(std::uint64_t seed, NormalOptions options = {}, long n = 1) {
  static_assert(is_floating(dtype_of<T>), "random_normal needs a floating-point dtype");
  return detail::random_tensor<T, S>(seed, n, [options](const Philox4& random, T* drawn) {
    for (int k = 0; k < 4; k += 2) {
      const float radius =
                      tenon::detail::libm::sqrt(-2.0f * tenon::detail::libm::log(1.0f - unit_float(random.word[k]))),
                  angle = 6.283185307f * unit_float(random.word[k + 1]);
      drawn[k] = static_cast<T>(options.mean + options.sigma * (radius * tenon::detail::libm::cos(angle)));
      drawn[k + 1] = static_cast<T>(options.mean + options.sigma * (radius * tenon::detail::libm::sin(angle)));
    }
  });
}
/// Uniform numbers in [low, high) with 24 random bits, rounded to T, a floating-point type; what would be rounded to
/// high is the largest number below. Throws ValueError unless low < high, if their difference is no float, and if T has
/// no number in between.
template <Element T, class S>
Tensor<T, S> random_uniform(std::uint64_t seed, UniformOptions options = {}, long n = 1) {
  static_assert(is_floating(dtype_of<T>),
                "random_uniform needs a floating-point dtype; random_integers draws integers");
  if (!(options.low < options.high))
    throw_error<ValueError>("random_uniform: low must be below high, got ", options.low, " and ", options.high, ".");
  const float range = options.high - options.low;
  const T most = largest_below<T>(options.high);
  T least = static_cast<T>(options.low);  // the smallest that is not below low
  if (static_cast<float>(least) < options.low)
    least = static_cast<T>(-static_cast<float>(largest_below<T>(-options.low)));
  if (!(range <= std::numeric_limits<float>::max()) || most < least)
    throw_error<ValueError>("random_uniform: ", name(dtype_of<T>), " has no numbers to draw from low ", options.low,
                            " to high ", options.high, ": take another range, or another dtype.");
  return detail::random_tensor<T, S>(seed, n, [=](const Philox4& random, T* drawn) {
    for (int k = 0; k < 4; ++k) {
      const T number = static_cast<T>(options.low + range * unit_float(random.word[k]));
      drawn[k] = number > most ? most : number < least ? least : number;
    }
  });
}
/// Uniform integers in low .. high - 1, at most 2^32 different ones. Throws ValueError for an empty or longer range,
/// and for one that T does not have.
template <Element T, class S>
Tensor<T, S> random_integers(std::uint64_t seed, IntegerOptions options = {}, long n = 1) {
  static_assert(!is_floating(dtype_of<T>), "random_integers needs an integer dtype");
  const std::uint64_t bound = std::uint64_t(options.high) - std::uint64_t(options.low);
  if (options.low >= options.high || bound > (std::uint64_t{1} << 32))
    throw_error<ValueError>("random_integers: low .. high - 1 must have 1 .. 2^32 numbers, got ", options.low, " and ",
                            options.high, ".");
  if (!detail::has_integer<T>(options.low) || !detail::has_integer<T>(options.high - 1))
    throw_error<ValueError>("random_integers: ", name(dtype_of<T>), " does not have all of the numbers ", options.low,
                            " .. ", options.high - 1, ": take another range, or another dtype.");
  return detail::random_tensor<T, S>(seed, n, [options, bound](const Philox4& random, T* drawn) {
    for (int k = 0; k < 4; ++k) drawn[k] = static_cast<T>(options.low + std::int64_t(random.word[k] * bound >> 32));
  });
}

}  // namespace tenon
TENON_EXACT_END
