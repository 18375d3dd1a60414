// Compiled by nvcc where it is there: every distinct element-wise kernel of two graphs is instantiated for the device.
#include <cstdio>

#include <tenon/kernel/cuda/elementwise.cuh>
#include <tenon/nn/jit.hpp>
#include <tenon/ops/relu.hpp>

using namespace tenon;

struct Chain {
  constexpr auto operator()(auto x, auto y) const { return relu(x * y + 0.5f) * x; }
};

template <class Graph, int K>
void launch_if_elementwise(Arguments arguments) {
  if constexpr (Graph::graph[Graph::kernels.node[K]].op->elementwise)
    kernel::cuda::Launch<CallOf<detail::KeyAt<Graph, K>>>::run(arguments, nullptr);
}
template <class Graph, int... K>
void launch_all(Arguments arguments, std::integer_sequence<int, K...>) {
  (launch_if_elementwise<Graph, K>(arguments), ...);
}

int main() {
  using Source = detail::FunctionGraph<Chain, TypeKey<Dtype::float32, dyn, 8>, TypeKey<Dtype::float32, 8>>;
  using Fused = Compiled<Source>;
  using Plain = Compiled<Source, no_passes>;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("SKIPPED: there is no GPU, the kernels were only compiled");
    if (devices < 0) {  // never: keeps the launches in the program
      launch_all<Fused>({}, std::make_integer_sequence<int, Fused::kernels.count>{});
      launch_all<Plain>({}, std::make_integer_sequence<int, Plain::kernels.count>{});
    }
    return 77;
  }
  float *x, *y, *z;
  constexpr int n = 5;
  if (cudaMallocManaged(&x, n * 8 * 4) != cudaSuccess || cudaMallocManaged(&y, 8 * 4) != cudaSuccess || cudaMallocManaged(&z, n * 8 * 4) != cudaSuccess) return 1;
  for (int i = 0; i < n * 8; ++i) x[i] = float(i) - 20;
  for (int i = 0; i < 8; ++i) y[i] = float(i) - 3;
  const Node& fused = Fused::graph[Fused::graph.output[0]];
  Arguments a;
  a.n = n;
  a.buffer[0] = z;
  std::uint64_t* half;
  if (cudaMallocManaged(&half, 8) != cudaSuccess) return 1;
  *half = constant_bytes(Dtype::float32, 0.5);
  for (int k = 0; k < fused.operands; ++k) {
    const Node& operand = Fused::graph[fused.operand[k]];
    a.buffer[k + 1] = is<ops::Constant>(operand) ? static_cast<void*>(half) : operand.immediate == 0 ? x : y;
  }
  launch_all<Fused>(a, std::make_integer_sequence<int, Fused::kernels.count>{});
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  int wrong = 0;
  for (int i = 0; i < n * 8; ++i) {
    volatile float product = x[i] * y[i % 8];
    const float sum = product + 0.5f;
    wrong += z[i] != (sum > 0 ? sum : 0) * x[i];
  }
  std::printf("%d elements differ from the CPU\n", wrong);
  return wrong != 0;
}
