// A tensor of any floating-point dtype as one number.
#pragma once
#include <tenon/core/tensor/any_tensor.hpp>

namespace tenon::inline TENON_ABI {

/// The mean of a tensor's elements, to display a loss of any shape as a number. 0 for a tensor without elements or of
/// another dtype than floating-point.
double mean_of(const AnyTensor& t);

#if TENON_DEFINES
TENON_INLINE double mean_of(const AnyTensor& t) {
  const auto mean = [&]<class T>(T) {
    double sum = 0;
    const T* const v = static_cast<const T*>(t.data);
    const std::int64_t count = t.count();
    for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(v[i]);
    return count ? sum / static_cast<double>(count) : 0.0;
  };
  switch (t.dtype) {
    case Dtype::float32: return mean(float{});
    case Dtype::float64: return mean(double{});
    case Dtype::float16: return mean(float16{});
    case Dtype::bfloat16: return mean(bfloat16{});
    default: return 0;
  }
}
#endif  // TENON_DEFINES

}  // namespace tenon
