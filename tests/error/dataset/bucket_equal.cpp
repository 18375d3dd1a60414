// expects: bucket_batch_by_length<"text", 32, 64>: samples of this column must vary in size, so it is Ragged<any>
// lines: g++ 9, clang 12, nvcc 18
#include <tenon/dataset/dataset.hpp>
#include <tenon/dataset/operations.hpp>

auto f(tenon::dataset::Digits digits) {
  using namespace tenon;
  return digits | dataset::bucket_batch_by_length<0, 32, 64>(16);
}
