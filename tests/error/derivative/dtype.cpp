// expects: the derivative of Halved gives operand 0 a gradient of dtype float64, the operand is float32: cast it
// lines: g++ 12, clang 24, nvcc -
#include <tenon/tenon.hpp>
using namespace tenon;

struct Halved : Operator<Halved, "Halved"> {
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  static constexpr void derivative(Derivative& d) {
    d.flows_to(0, d.call_with<ops::Cast>({Dtype::float64}, d.gradient()));
  }
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    for (long i = begin; i < end; ++i) a.result<float>()[i] = a.operand<float>(0)[i] / 2;
  }
};

float f() {
  const auto halves = [](auto x) { return reduce_sum(apply<Halved>(std::source_location::current(), x)); };
  return grad(halves)(Tensor{1.0f, 2.0f}).values()[0];
}
