// Initial values of parameters, each a function of (seed, parameter's path, element).
#pragma once
#include <cmath>

#include <tenon/core/parallel.hpp>
#include <tenon/core/philox.hpp>
#include <tenon/core/shape.hpp>

namespace tenon::inline TENON_ABI::nn {

/// All elements 0.
struct Zero {
  template <class T>
  void fill(T* data, const TensorType& t, std::uint64_t) const {
    for (long i = 0; i < t.count(1); ++i) data[i] = T(0);
  }
};
/// All elements 1.
struct One {
  template <class T>
  void fill(T* data, const TensorType& t, std::uint64_t) const {
    for (long i = 0; i < t.count(1); ++i) data[i] = T(1);
  }
};
/// All elements `value`.
struct Constant {
  float value = 0;
  template <class T>
  void fill(T* data, const TensorType& t, std::uint64_t) const {
    for (long i = 0; i < t.count(1); ++i) data[i] = T(value);
  }
};

namespace detail {
/// data[i] = value(word): element i takes word i mod 4 of random block i / 4, so threads draw the same numbers.
template <class T, class F>
void fill_blocks(T* data, long count, std::uint64_t key, F values) {
  parallel_for((count + 3) / 4, 4096, [&](long begin, long end) {
    for (long block = begin; block < end; ++block) {
      float drawn[4];
      values(philox(key, std::uint64_t(block)), drawn);
      for (long k = 0; k < 4 && 4 * block + k < count; ++k) data[4 * block + k] = static_cast<T>(drawn[k]);
    }
  });
}
template <class T>
void fill_uniform(T* data, const TensorType& t, std::uint64_t key, float bound) {
  fill_blocks(data, t.count(1), key, [bound](const Philox4& random, float* drawn) {
    for (int k = 0; k < 4; ++k) drawn[k] = bound * (2 * unit_float(random.word[k]) - 1);
  });
}
/// Two Gaussian numbers from two uniform ones (Box and Muller 1958).
inline void box_muller(std::uint32_t a, std::uint32_t b, float* drawn) {
  const float radius = std::sqrt(-2.0f * std::log(1.0f - unit_float(a))), angle = 6.283185307f * unit_float(b);
  drawn[0] = radius * std::cos(angle);
  drawn[1] = radius * std::sin(angle);
}
template <class T>
void fill_normal(T* data, const TensorType& t, std::uint64_t key, float sigma, float mean) {
  fill_blocks(data, t.count(1), key, [=](const Philox4& random, float* drawn) {
    box_muller(random.word[0], random.word[1], drawn);
    box_muller(random.word[2], random.word[3], drawn + 2);
    for (int k = 0; k < 4; ++k) drawn[k] = mean + sigma * drawn[k];
  });
}

/// Numbers of inputs and outputs that a weight [out, in, window...] connects.
struct Fans {
  float in = 1, out = 1;
};
constexpr Fans fans(const TensorType& t) {
  if (t.rank < 2) return {float(t.count(1)), float(t.count(1))};
  const float window = float(t.span(2, t.rank));
  return {float(t[1]) * window, float(t[0]) * window};
}
}  // namespace detail

/// Gaussian with standard deviation `sigma` around `mean`.
struct Normal {
  float sigma = 0.01f, mean = 0;
  template <class T> void fill(T* data, const TensorType& t, std::uint64_t key) const { detail::fill_normal(data, t, key, sigma, mean); }
};
/// Gaussian with standard deviation `sigma`, values beyond 2 sigma drawn again.
struct TruncatedNormal {
  float sigma = 0.01f;
  template <class T>
  void fill(T* data, const TensorType& t, std::uint64_t key) const {
    parallel_for(t.count(1), 4096, [&](long begin, long end) {
      for (long i = begin; i < end; ++i) {
        float pair[2]{3, 3};
        for (std::uint64_t attempt = 0; std::abs(pair[0]) > 2; ++attempt) {
          const Philox4 random = philox(key, std::uint64_t(i), attempt);
          detail::box_muller(random.word[0], random.word[1], pair);
          if (std::abs(pair[0]) > 2) pair[0] = pair[1];
        }
        data[i] = static_cast<T>(sigma * pair[0]);
      }
    });
  }
};
/// Uniform in [-scale, scale).
struct Uniform {
  float scale = 0.07f;
  template <class T> void fill(T* data, const TensorType& t, std::uint64_t key) const { detail::fill_uniform(data, t, key, scale); }
};
/// Uniform with bound gain sqrt(6 / (fan_in + fan_out)). Source: Glorot and Bengio 2010.
struct XavierUniform {
  float gain = 1;
  template <class T>
  void fill(T* data, const TensorType& t, std::uint64_t key) const {
    const auto fan = detail::fans(t);
    detail::fill_uniform(data, t, key, gain * std::sqrt(6 / (fan.in + fan.out)));
  }
};
/// Uniform with bound sqrt(2 / (1 + slope²)) sqrt(3 / fan_in). Source: He et al. 2015.
struct HeUniform {
  float negative_slope = 0;
  template <class T>
  void fill(T* data, const TensorType& t, std::uint64_t key) const {
    detail::fill_uniform(data, t, key, std::sqrt(2 / (1 + negative_slope * negative_slope)) * std::sqrt(3 / detail::fans(t).in));
  }
};
/// Gaussian with standard deviation sqrt(2 / (1 + slope²)) / sqrt(fan_in). Source: He et al. 2015.
struct HeNormal {
  float negative_slope = 0;
  template <class T>
  void fill(T* data, const TensorType& t, std::uint64_t key) const {
    detail::fill_normal(data, t, key, std::sqrt(2 / (1 + negative_slope * negative_slope)) / std::sqrt(detail::fans(t).in), 0.0f);
  }
};

/// What Dense and Conv2d start from: HeUniform with slope √5 for weights, which is uniform within 1 / sqrt(fan_in), and the
/// same bound for biases. Source: MindSpore 2.x and PyTorch; MindSpore 1.x drew Normal(0.01), from which LeNet does not learn
/// within its first epochs.
inline constexpr HeUniform default_weight{2.2360679775f};
struct DefaultBias {
  float fan_in = 1;
  template <class T> void fill(T* data, const TensorType& t, std::uint64_t key) const { detail::fill_uniform(data, t, key, 1 / std::sqrt(fan_in)); }
};

}  // namespace tenon::nn
