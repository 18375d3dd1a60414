// Matrix products C = A B of fixed shapes, for benchmarks/groups/gemm.py: the operator called on tensors, and the same as a graph.
#include <memory>

#include <tenon/tenon.hpp>

#include "serve.hpp"

using namespace tenon;

constexpr auto product = [](auto a, auto b) { return matmul(a, b); };

template <int M, int N, int K>
benchmark::Work gemm(const std::string& variant) {
  struct Operands {
    Tensor<float, Shape<M, K>> a = Tensor<float, Shape<M, K>>::from(benchmark::numbers(std::size_t(M) * K));
    Tensor<float, Shape<K, N>> b = Tensor<float, Shape<K, N>>::from(benchmark::numbers(std::size_t(K) * N, 12345));
  };
  const auto work = [](auto f) {
    const auto operands = std::make_shared<Operands>();
    const auto call = [=] {
      benchmark::hide(operands->a.data());
      benchmark::hide(operands->b.data());
      return f(operands->a, operands->b);
    };
    return benchmark::Work{[=] {  // at most a thousand and some elements, from all over the result
                             const auto c = call();
                             std::vector<double> some;
                             for (long i = 0; i < c.count(); i += c.count() / 1024 + 1) some.push_back(double(c.data()[i]));
                             return some;
                           },
                           [=](long calls) {
                             const eager::NoGrad no_grad;
                             const double start = tenon::detail::now();
                             for (long i = 0; i < calls; ++i) {
                               const auto c = call();
                               benchmark::hide(c.data());
                             }
                             return tenon::detail::now() - start;
                           }};
  };
  return variant == "graph" ? work(jit(product)) : work(product);
}

template <int... Extent>
struct Sizes {};

// Tells the shape in the name from those of the list.
template <int M, int N, int K, class... Others>
benchmark::Work find(const std::string& name, const std::string& variant, Sizes<M, N, K>, Others... others) {
  if (name == text("gemm/", M, "x", N, "x", K)) return gemm<M, N, K>(variant);
  if constexpr (sizeof...(others) > 0) return find(name, variant, others...);
  else throw ValueError("no product " + name);
}

int main(int argc, char** argv) {
  return benchmark::main_of(argc, argv, [](int threads, const std::string&) -> benchmark::Maker {
    set_context({.num_threads = threads});
    return [](const std::string& name, const std::string& variant) {
      return find(name, variant, Sizes<256, 256, 256>{}, Sizes<512, 512, 512>{}, Sizes<1024, 1024, 1024>{}, Sizes<2048, 2048, 2048>{},  //
                  Sizes<4, 4, 4>{}, Sizes<8, 8, 8>{}, Sizes<16, 16, 16>{}, Sizes<32, 32, 32>{}, Sizes<48, 48, 48>{}, Sizes<64, 64, 64>{}, Sizes<96, 96, 96>{},
                  Sizes<128, 128, 128>{}, Sizes<32, 120, 400>{}, Sizes<32, 84, 120>{}, Sizes<32, 10, 84>{}, Sizes<64, 10, 84>{}, Sizes<1, 512, 784>{},
                  Sizes<1, 10, 512>{}, Sizes<1, 128, 784>{}, Sizes<1, 8, 4>{}, Sizes<32, 512, 784>{}, Sizes<64, 512, 784>{}, Sizes<16, 100, 150>{},
                  Sizes<6, 784, 25>{}, Sizes<64, 64, 512>{}, Sizes<128, 64, 64>{});
    };
  });
}
