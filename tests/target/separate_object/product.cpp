// The object of its own, which has no header of Tenon's: compiled by any compiler, with any flags.
#include "../../support/targets/tenon/backend/separate/product.hpp"

static long products = 0;

#if defined(__CUDACC__)
// Only that there is code for a device in the object: the test runs without one.
__global__ void product_there(const float* x, const float* y, float* z, long columns, long depth) {
  const long row = blockIdx.x, column = threadIdx.x;
  double sum = 0;
  for (long k = 0; k < depth; ++k) sum += double(x[row * depth + k]) * double(y[k * columns + column]);
  z[row * columns + column] = float(sum);
}
#endif

void separate_product(const float* x, const float* y, float* z, long rows, long columns, long depth) {
  ++products;
  for (long i = 0; i < rows; ++i)
    for (long j = 0; j < columns; ++j) {
      double sum = 0;
      for (long k = 0; k < depth; ++k) sum += double(x[i * depth + k]) * double(y[k * columns + j]);
      z[i * columns + j] = float(sum);
    }
}

long separate_products() { return products; }

const char* separate_compiler() {
#if defined(__CUDACC__)
  return "nvcc";
#elif defined(__clang__)
  return "clang";
#else
  return "g++";
#endif
}
