// Operators on tiny tensors in PyNative mode, for benchmarks/groups/eager.py: the call is all there is.
#include "operators.hpp"

using namespace tenon;
using Four = Tensor<float, Shape<4>>;

namespace {
benchmark::Work add_sum_backward() {
  const auto x = benchmark::operand<Four>(1, 0), y = benchmark::operand<Four>(1, benchmark::second_operand);
  // Whatever a call would allocate is allocated and freed in it: the tape and both tensors live no longer.
  const auto call = [=] {
    benchmark::hide(x.data());
    benchmark::hide(y.data());
    return value_and_grad([&](const auto& variable) { return reduce_sum(variable + y); })(x);
  };
  return {[=] {
            std::vector<double> all;
            std::apply([&](const auto&... one) { (benchmark::add_some(all, one), ...); }, call());
            return all;
          },
          [=](long calls) {
            const double start = tenon::detail::now();
            for (long i = 0; i < calls; ++i) {
              const auto [value, gradient] = call();
              benchmark::hide(value.data());
              benchmark::hide(gradient.data());
            }
            return tenon::detail::now() - start;
          }};
}
}  // namespace

int main(int argc, char** argv) {
  return benchmark::main_of(argc, argv, [](int threads, const std::string&) -> benchmark::Maker {
    set_context({.num_threads = threads});
    return [](const std::string& name, const std::string&) {
      if (name == "eager/add/4")
        return benchmark::operation([](const auto& x, const auto& y) { return x + y; }, benchmark::operand<Four>(1, 0),
                                    benchmark::operand<Four>(1, benchmark::second_operand));
      if (name == "eager/add_sum_backward/4") return add_sum_backward();
      throw ValueError("no work " + name);
    };
  });
}
