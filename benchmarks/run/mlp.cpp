// Two networks of two dense layers, 784-512-10 and 4-8-2, for benchmarks/groups/mlp.py.
#include "classifier.hpp"

using namespace tenon;

template <int In, int Hidden, int Out>
struct Mlp : nn::Cell<Mlp<In, Hidden, Out>> {
  nn::Dense<In, Hidden> fc1;
  nn::Dense<Hidden, Out> fc2;
  constexpr auto construct(auto x) const { return fc2(relu(fc1(x))); }
};

template <int In, int Hidden, int Out>
benchmark::Work work(const std::string& weights, const std::string& name, const std::string& variant) {
  const long batch = benchmark::last_number(name);
  const Mode mode = benchmark::mode_of(variant);
  if (name.find("/train/") != name.npos)
    return benchmark::training<Mlp<In, Hidden, Out>, Shape<In>>(weights, mode, batch, Out);
  return benchmark::forward<Mlp<In, Hidden, Out>>(weights, mode, batch, Shape<In>{});
}

int main(int argc, char** argv) {
  return benchmark::main_of(argc, argv, [](int threads, const std::string& folder) -> benchmark::Maker {
    set_context({.num_threads = threads, .seed = 1});
    const auto large = benchmark::initial_weights<Mlp<784, 512, 10>>(folder, "mlp784");
    const auto small = benchmark::initial_weights<Mlp<4, 8, 2>>(folder, "mlp4");
    return [=](const std::string& name, const std::string& variant) {
      if (name.starts_with("mlp784/")) return work<784, 512, 10>(large, name, variant);
      return work<4, 8, 2>(small, name, variant);
    };
  });
}
