// Functions for tests/core/dlpack_pytorch/check.py, by which PyTorch and Tenon give each other tensors.
#include <tenon/core/dlpack.hpp>

using namespace tenon;

extern "C" DLManagedTensor* numbers() {
  static Tensor<float, Shape<2, 3>> x = Tensor<float, Shape<2, 3>>::arange();
  return to_dlpack(x);
}
/// What an element of it is now.
extern "C" float number(int row, int column) {
  DLManagedTensor* const given = numbers();
  const auto x = from_dlpack<float, Shape<2, 3>>(given);
  return x(row, column);
}
/// Adds 1 to each element and takes their sum; -1 for what is refused.
extern "C" double add_one(DLManagedTensor* given) {
  try {
    auto x = from_dlpack<double, Shape<dyn, 4>>(given);
    double sum = 0;
    for (double& element : x.values()) sum += element += 1;
    return sum;
  } catch (const Error&) {
    return -1;
  }
}
