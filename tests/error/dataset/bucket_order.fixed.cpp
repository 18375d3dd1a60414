#include <tenon/dataset/dataset.hpp>
#include <tenon/dataset/operations.hpp>

auto f(const auto& texts) {
  using namespace tenon;
  return texts | dataset::bucket_batch_by_length<"text", 32, 64>(16);
}
