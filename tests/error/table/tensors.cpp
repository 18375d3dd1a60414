// A right program. tensors.txt says how it goes wrong.
#include <tenon/tenon.hpp>
using namespace tenon;

int main() {
  const auto a = Tensor<float, Shape<2, 3>>::full(1.0f);
  const auto b = Tensor<float, Shape<3, 4>>::full(2.0f);
  Tensor<float, Shape<dyn, 3>> rows = Tensor<float, Shape<dyn, 3>>::from({1, 2, 3, 4, 5, 6});
  const auto c = matmul(a, b);
  const auto d = reduce_sum<1>(c) + 1.0f;
  const auto square = [](auto v) { return v * v; };
  const auto x = Tensor<double, Shape<>>::full(3.0);
  const auto slope = grad(square)(x);
  const auto fast = jit(square);
  const auto large = select(a > 0.5f, a, a * 2.0f);
  rows.data()[0] = 5;
  std::printf("%g %g %g %g %g\n", c(0, 1), double(d.data()[0]), slope.item(), fast(x).item(), double(large(0, 0)));
}
