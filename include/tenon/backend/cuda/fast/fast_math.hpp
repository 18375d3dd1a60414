// Math::tf32: what kernels hand to NVIDIA's libraries. A program that includes <tenon/backend/cuda/fast.hpp> has them.
#pragma once
#include <cstddef>
#include <vector>

#include <tenon/backend/cuda/lane_memory.hpp>
#include <tenon/core/dtype.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// What follows a product before it is stored.
enum class FastActivation : int { none, relu, gelu };
/// Products of row-major matrices: result [rows, columns] = a [rows, steps] b [steps, columns]; a transposed one is
/// stored with its extents exchanged. Of a stack, `a_next` and `b_next` are the elements from one matrix to the next;
/// 0: all products have the same one.
struct FastProduct {
  Dtype dtype;
  long rows, columns, steps, stack;
  bool a_transposed, b_transposed;
  long a_next = 0, b_next = 0;
  const void *a = nullptr, *b = nullptr;
  void* result = nullptr;
  const void* bias = nullptr;  // of each column
  FastActivation activation = FastActivation::none;

  constexpr double multiply_adds() const { return double(rows) * double(columns) * double(steps) * double(stack); }
};
/// A convolution of images [n, c, h, w] with weights [o, c / groups, kh, kw] to [n, o, oh, ow], or a gradient of it.
struct FastConvolution {
  enum Gives : int { y, dx, dw };
  Gives gives;
  Dtype dtype;
  long n, c, h, w, o, oh, ow;
  int kh, kw, stride_h, stride_w, pad_top, pad_left, dilation_h, dilation_w, groups;
  const void *image, *weight, *output;  // that which it gives is written

  constexpr double multiply_adds() const {
    return double(n) * double(o) * double(oh) * double(ow) * double(c / groups) * double(kh) * double(kw);
  }
};
/// The libraries. Each function gives false where the library has no way to compute this.
struct FastMath {
  void (*check)();  // throws RuntimeError if the libraries cannot be used
  bool (*multiply)(const FastProduct&);
  bool (*convolve)(const FastConvolution&);
};
inline const FastMath*& fast_math() {
  static constinit const FastMath* libraries = nullptr;
  return libraries;
}
/// Throws RuntimeError if the program has none.
inline const FastMath& need_fast_math() {
  if (!fast_math())
    throw_error<RuntimeError>(
        "Math::tf32 on GPU needs NVIDIA's libraries, and this program has no calls of them: include "
        "<tenon/backend/cuda/fast.hpp> in one of its sources, or leave math at Math::exact.");
  return *fast_math();
}

/// Below, starting a kernel takes longer than the tensor cores save. Tests change it.
inline double& least_fast_multiply_adds() {
  static double least = 1 << 23;
  return least;
}
/// True for a call that is looked at alone; counts it.
inline bool is_only_seen() {
  SeenCall* const seen = running().seen;
  if (seen) ++seen->kernels;
  return seen;
}
template <class T>
inline constexpr bool is_fast_type = std::is_same_v<T, float> || is_half<T>;

}  // namespace tenon::kernel::cuda
