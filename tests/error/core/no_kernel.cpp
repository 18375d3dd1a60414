// expects: network: Thrice has no kernel on the CPU: write `items` and `run` in the operator, or include its
// Kernel<Cpu, ...> in backend/cpu/kernels.hpp
#include <tenon/tenon.hpp>
using namespace tenon;

struct Thrice : Operator<Thrice, "Thrice"> {
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  static constexpr None derivative{};
};
struct Net : nn::Cell<Net> {
  constexpr auto construct(auto x) const { return apply<Thrice>({}, x); }
};

auto f(const Tensor<float, Shape<dyn, 3>>& x) {
  const Net net;
  return net(x);
}
