// Compiled by nvcc where it is there: every distinct element-wise kernel of two graphs is instantiated for the device.
// Where a GPU is, each computes the bits of its counterpart on the CPU.
#include <cstdio>
#include <cstring>

#include <tenon/backend/cuda/elementwise.cuh>
#include <tenon/nn/jit.hpp>
#include <tenon/ops/relu.hpp>

using namespace tenon;

struct Chain {
  constexpr auto operator()(auto x, auto y) const { return relu(x * y + 0.5f) * x; }
};

/// Memory that both sides see. An operand [n, 8], [8], or [] is one of the first three.
struct SharedArrays {
  static constexpr long n = 5;
  float *matrix, *row, *number, *device, *cpu;

  float* operand(const TensorType& type) const { return type.rank == 2 ? matrix : type.rank == 1 ? row : number; }
  bool make() {
    for (float** p : {&matrix, &row, &number, &device, &cpu})
      if (cudaMallocManaged(p, n * 8 * sizeof(float)) != cudaSuccess) return false;
    for (int i = 0; i < n * 8; ++i) matrix[i] = 0.37f * float(i) - 6, device[i] = -1, cpu[i] = -2;
    for (int i = 0; i < 8; ++i) row[i] = 0.11f * float(i) - 0.3f;
    *number = 0.5f;
    return true;
  }
};

/// Runs kernel K of a graph on both sides. Returns whether the results differ.
template <class Graph, int K>
bool differs(const SharedArrays& memory) {
  constexpr int id = Graph::kernels.node[K];
  if constexpr (Graph::graph[id].op->elementwise) {
    using C = CallOf<detail::KeyAt<Graph, K>>;
    const Node& node = Graph::graph[id];
    Arguments a;
    a.n = memory.n;
    for (int k = 0; k < node.operands; ++k) a.buffer[k + 1] = memory.operand(Graph::graph[node.operand[k]].type);
    a.buffer[0] = memory.device;
    kernel::cuda::Launch<C>::run(a, nullptr);
    if (cudaDeviceSynchronize() != cudaSuccess) return true;
    a.buffer[0] = memory.cpu;
    const KernelEntry& cpu = kernel_entry<C>;
    cpu.run(a, 0, cpu.work(a.n).items);
    const bool equal = std::memcmp(memory.device, memory.cpu, std::size_t(node.type.count(a.n)) * sizeof(float)) == 0;
    std::printf("kernel of node %d: %s\n", id, equal ? "equal bits" : "differs from the CPU");
    return !equal;
  }
  return false;
}
template <class Graph, int... K>
int count_differences(const SharedArrays& memory, std::integer_sequence<int, K...>) {
  return (int(differs<Graph, K>(memory)) + ... + 0);
}
template <class Graph>
int count_differences(const SharedArrays& memory) {
  return count_differences<Graph>(memory, std::make_integer_sequence<int, Graph::kernels.count>{});
}

int main() {
  using Source = detail::FunctionGraph<Chain, TypeKey<Dtype::float32, dyn, 8>, TypeKey<Dtype::float32, 8>>;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("SKIPPED: there is no GPU, the kernels were only compiled");
    return 77;
  }
  SharedArrays memory;
  if (!memory.make()) return 1;
  return count_differences<Compiled<Source>>(memory) + count_differences<Compiled<Source, no_passes>>(memory) != 0;
}
