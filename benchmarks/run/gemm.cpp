// Matrix products C = A B of fixed shapes, for benchmarks/groups/gemm.py: the operator called on tensors, and the same
// as a graph.
#include "operators.hpp"

using namespace tenon;

constexpr auto product = [](const auto& a, const auto& b) { return matmul(a, b); };

template <class T, int M, int N, int K>
benchmark::Work gemm(const std::string& variant) {
  return benchmark::operation_in(variant, product, benchmark::operand<Tensor<T, Shape<M, K>>>(1, 0),
                                 benchmark::operand<Tensor<T, Shape<K, N>>>(1, benchmark::second_operand));
}

template <int... Extent>
struct Sizes {};

// Tells the shape in the name from those of the list.
template <class T = float, int M, int N, int K, class... Others>
benchmark::Work find(const std::string& name, const std::string& variant, Sizes<M, N, K>, Others... others) {
  if (name.substr(name.find('/') + 1) == text(M, "x", N, "x", K)) return gemm<T, M, N, K>(variant);
  if constexpr (sizeof...(others) > 0) return find<T>(name, variant, others...);
  else throw ValueError("no product " + name);
}

int main(int argc, char** argv) {
  return benchmark::main_of(argc, argv, [](int threads, const std::string&) -> benchmark::Maker {
    set_context({.num_threads = threads});
    return [](const std::string& name, const std::string& variant) {
      if (name.starts_with("gemm_bf16/"))
        return find<bfloat16>(name, variant, Sizes<512, 512, 512>{}, Sizes<1024, 1024, 1024>{},
                              Sizes<2048, 2048, 2048>{});
      //
      return find(name, variant, Sizes<256, 256, 256>{}, Sizes<512, 512, 512>{}, Sizes<1024, 1024, 1024>{},
                  Sizes<2048, 2048, 2048>{}, Sizes<4, 4, 4>{}, Sizes<8, 8, 8>{}, Sizes<16, 16, 16>{},
                  Sizes<32, 32, 32>{}, Sizes<48, 48, 48>{}, Sizes<64, 64, 64>{}, Sizes<96, 96, 96>{},
                  Sizes<128, 128, 128>{}, Sizes<32, 120, 400>{}, Sizes<32, 84, 120>{}, Sizes<32, 10, 84>{},
                  Sizes<64, 10, 84>{}, Sizes<1, 512, 784>{}, Sizes<1, 10, 512>{}, Sizes<1, 128, 784>{},
                  Sizes<1, 8, 4>{}, Sizes<32, 512, 784>{}, Sizes<64, 512, 784>{}, Sizes<16, 100, 150>{},
                  Sizes<6, 784, 25>{}, Sizes<64, 64, 512>{}, Sizes<128, 64, 64>{});
    };
  });
}
