// The planes of volumes that a convolution meets, side by side: copies of whole planes.
#pragma once
#include <cstring>

#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct StackedPlanes;
}

template <>
struct Kernel<Cpu, ops::StackedPlanes> {
  /// All planes of an image.
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.size(0, n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    constexpr TensorType x = Call::operand(0);
    copy_planes(Call::config(), a.operand<T>(0), a.result<T>(), x[1], x[2], long(x[3]) * x[4], begin, end);
  }

 private:
  template <class Config, class T>
  [[gnu::noinline]] static void copy_planes(const Config& c, const T* x, T* y, long channels, long depth, long pixels,
                                            long begin, long end) {
    const long own = channels / c.groups;
    y += begin * c.kernel * channels * pixels;
    for (long image = begin; image < end; ++image) {
      const T* const volume = x + image / c.places * channels * depth * pixels;
      for (long group = 0; group < c.groups; ++group)
        for (long k = 0; k < c.kernel; ++k) {
          const long plane = c.plane(image % c.places, k);
          const bool inside = plane >= 0 && plane < depth;
          const T* from = volume + (group * own * depth + plane) * pixels;
          for (long channel = 0; channel < own; ++channel, from += depth * pixels, y += pixels)
            if (inside) std::memcpy(static_cast<void*>(y), from, std::size_t(pixels) * sizeof(T));
            else std::memset(static_cast<void*>(y), 0, std::size_t(pixels) * sizeof(T));
        }
    }
  }
};

}  // namespace tenon
