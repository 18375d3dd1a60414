// expects: choose takes numbers, and a function with one of them as its template parameter
// lines: g++ 9, clang 12, nvcc 18
#include <tenon/core/choose.hpp>

int f(long hidden) {
  return tenon::choose<64, 128>(hidden, [](int size) { return size; });
}
