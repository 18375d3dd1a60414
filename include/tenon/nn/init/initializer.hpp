// Initial values of parameters, each a function of (seed, parameter's path, element).
#pragma once

#include <tenon/core/math/libm.hpp>
#include <tenon/core/random/philox.hpp>
#include <tenon/core/random/random_group.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/thread/parallel.hpp>

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

TENON_EXACT_BEGIN
namespace detail {
/// data[i] = number i of group i / 64, which `values(group, words, numbers)` makes of 64 random words: threads share
/// nothing, and a shorter parameter is the beginning of a longer one.
template <class T, class F>
void fill_groups(T* data, long count, std::uint64_t key, F values) {
  constexpr long group = math::random_group;
  parallel_for((count + group - 1) / group, 256, [&](long begin, long end) {
    for (long g = begin; g < end; ++g) {
      std::uint32_t word[4][math::random_lanes];
      float number[group];
      math::draw_words(key, std::uint64_t(g), 0, word);
      values(g, word, number);
      const long here = count - g * group < group ? count - g * group : group;
      for (long i = 0; i < here; ++i) data[g * group + i] = static_cast<T>(number[i]);
    }
  });
}
template <class T>
void fill_uniform(T* data, const TensorType& t, std::uint64_t key, float bound) {
  const auto most = static_cast<float>(largest_below<T>(bound));
  fill_groups(data, t.count(1), key, [bound, most](long, const auto& word, auto& number) {
    for (int k = 0; k < 4; ++k)
      for (int l = 0; l < math::random_lanes; ++l) {
        const float drawn = bound * (2 * math::unit_number(word[k][l]) - 1);
        number[k * math::random_lanes + l] = is_half<T> && drawn > most ? most : drawn;
      }
  });
}
template <class T>
void fill_normal(T* data, const TensorType& t, std::uint64_t key, float sigma, float mean) {
  fill_groups(data, t.count(1), key, [=](long, const auto& word, auto& number) {
    math::gaussian_numbers(word, number);
    for (float& v : number) v = mean + sigma * v;
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
  template <class T>
  void fill(T* data, const TensorType& t, std::uint64_t key) const {
    detail::fill_normal(data, t, key, sigma, mean);
  }
};
/// Gaussian with standard deviation `sigma`, values beyond 2 sigma drawn again.
struct TruncatedNormal {
  float sigma = 0.01f;
  template <class T>
  void fill(T* data, const TensorType& t, std::uint64_t key) const {
    detail::fill_groups(data, t.count(1), key, [this, key](long group, const auto& word, auto& number) {
      math::gaussian_numbers(word, number);
      for (int i = 0; i < math::random_group; ++i) {
        for (std::uint64_t attempt = 1; number[i] < -2 || number[i] > 2; ++attempt)
          number[i] = drawn_again(key, std::uint64_t(group * math::random_group + i), attempt);
        number[i] = sigma * number[i];
      }
    });
  }

 private:
  static float drawn_again(std::uint64_t key, std::uint64_t element, std::uint64_t attempt) {
    const Philox4 random = philox(key, element, attempt);
    float cosine, sine;
    math::turn(math::unit_number(random.word[1]), cosine, sine);
    return math::sqrt(math::minus_two_log(1 - math::unit_number(random.word[0]))) * cosine;
  }
};
TENON_EXACT_END

/// Uniform in [-scale, scale).
struct Uniform {
  float scale = 0.07f;
  template <class T>
  void fill(T* data, const TensorType& t, std::uint64_t key) const {
    detail::fill_uniform(data, t, key, scale);
  }
};
/// Uniform with bound gain sqrt(6 / (fan_in + fan_out)). Source: Glorot and Bengio 2010.
struct XavierUniform {
  float gain = 1;
  template <class T>
  void fill(T* data, const TensorType& t, std::uint64_t key) const {
    const auto fan = detail::fans(t);
    detail::fill_uniform(data, t, key, gain * tenon::detail::libm::sqrt(6 / (fan.in + fan.out)));
  }
};
/// Uniform with bound sqrt(2 / (1 + slope²)) sqrt(3 / fan_in). Source: He et al. 2015.
struct HeUniform {
  float negative_slope = 0;
  template <class T>
  void fill(T* data, const TensorType& t, std::uint64_t key) const {
    detail::fill_uniform(data, t, key,
                         tenon::detail::libm::sqrt(2 / (1 + negative_slope * negative_slope)) *
                             tenon::detail::libm::sqrt(3 / detail::fans(t).in));
  }
};
/// Gaussian with standard deviation sqrt(2 / (1 + slope²)) / sqrt(fan_in). Source: He et al. 2015.
struct HeNormal {
  float negative_slope = 0;
  template <class T>
  void fill(T* data, const TensorType& t, std::uint64_t key) const {
    detail::fill_normal(data, t, key,
                        tenon::detail::libm::sqrt(2 / (1 + negative_slope * negative_slope)) /
                            tenon::detail::libm::sqrt(detail::fans(t).in),
                        0.0f);
  }
};

/// What Dense and Conv2d start from: HeUniform with slope √5 for weights, which is uniform within 1 / sqrt(fan_in), and
/// the same bound for biases. Source: MindSpore 2.x and PyTorch; MindSpore 1.x drew Normal(0.01), from which LeNet does
/// not learn within its first epochs.
inline constexpr HeUniform default_weight{2.2360679775f};
struct DefaultBias {
  float fan_in = 1;
  template <class T>
  void fill(T* data, const TensorType& t, std::uint64_t key) const {
    detail::fill_uniform(data, t, key, 1 / tenon::detail::libm::sqrt(fan_in));
  }
};

}  // namespace tenon::nn
