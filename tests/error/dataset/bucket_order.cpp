// expects: bucket_batch_by_length<"text", 32, 64, 128>: lengths rise, and no bucket fits into one before it
// lines: g++ 9, clang 12, nvcc 18
#include <tenon/dataset/dataset.hpp>
#include <tenon/dataset/operations.hpp>

auto f(const auto& texts) {
  using namespace tenon;
  return texts | dataset::bucket_batch_by_length<"text", 64, 32>(16);
}
