// A layer of LSTM over 64 steps and a dense layer on its last output, for benchmarks/groups/lstm.py.
#include "classifier.hpp"

using namespace tenon;

/// Features is in the name of the work: "lstm32/train/32".
template <int Features>
struct Lstm : nn::Cell<Lstm<Features>> {
  nn::LSTM<Features, 128> lstm;
  nn::Dense<128, 10> fc;
  constexpr auto construct(auto x) const {
    auto [output, h, c] = lstm(x);
    return fc(ops::flatten(h));
  }
};

template <int Features>
benchmark::Work work(const std::string& weights, const std::string& name, const std::string& variant) {
  const long batch = benchmark::last_number(name);
  const Mode mode = benchmark::mode_of(variant);
  if (name.find("/train/") != name.npos)
    return benchmark::training<Lstm<Features>, Shape<64, Features>>(weights, mode, batch, 10);
  return benchmark::forward<Lstm<Features>>(weights, mode, batch, Shape<64, Features>{});
}

int main(int argc, char** argv) {
  return benchmark::main_of(argc, argv, [](int threads, const std::string& folder) -> benchmark::Maker {
    set_context({.num_threads = threads, .seed = 1});
    return [small = benchmark::initial_weights<Lstm<32>>(folder, "lstm32"),
            large = benchmark::initial_weights<Lstm<128>>(folder, "lstm128")](const std::string& name,
                                                                              const std::string& variant) {
      return name.starts_with("lstm32/") ? work<32>(small, name, variant) : work<128>(large, name, variant);
    };
  });
}
