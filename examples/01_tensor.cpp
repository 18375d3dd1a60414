// Lesson 1: tensors have element type and shape in their type; operators run immediately; the compiler checks shapes.
#include <cstdio>

#include <tenon/tenon.hpp>

using namespace tenon;

int main() {
  Tensor a{{1.0f, 2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}};  // Tensor<float, Shape<2, 3>>
  auto row = Tensor<float, Shape<3>>::full(10.0f);

  auto sum = a + row;  // broadcasting, as in NumPy
  std::printf("%s\n", to_string(sum).c_str());
  std::printf("%s\n", to_string(2.0f * a - 1.0f).c_str());  // numbers on either side
  std::printf("%s\n", to_string(matmul<Transposed::second>(a, a)).c_str());
  std::printf("mean over the rows: %s\n", to_string(reduce_mean<0>(a)).c_str());
  std::printf("largest: %g\n", double(reduce_max(a).item()));

  // Shapes are types. This line would not compile, and the compiler would report "Add of [2,3] and [2,2]":
  //   a + Tensor{{1.0f, 2.0f}, {3.0f, 4.0f}};

  // The leading extent may be known only at run time.
  auto batch = Tensor<float, Shape<dyn, 2>>::from({1, 2, 3, 4, 5, 6});
  std::printf("n = %ld, exp: %s\n", batch.n(), to_string(exp(batch)).c_str());
}
