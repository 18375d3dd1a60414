// Convolutions, forward and both backwards, for benchmarks/groups/conv.py.
#include "convolution.hpp"

using benchmark::Convolution;

int main(int argc, char** argv) {
  return benchmark::main_of(argc, argv, [](int threads, const std::string&) -> benchmark::Maker {
    tenon::set_context({.num_threads = threads});
    return [](const std::string& name, const std::string&) {
      return benchmark::find_convolution<
          Convolution<64, 56, 56, 64, 3, 3, 1, 1, 1, 1>, Convolution<256, 14, 14, 256, 3, 3, 1, 1, 1, 1>,
          Convolution<64, 56, 56, 256, 1, 1>, Convolution<1, 28, 28, 6, 5, 5, 1, 1, 2, 2>,
          Convolution<3, 224, 224, 64, 7, 7, 2, 2, 3, 3>, Convolution<3, 32, 32, 16, 3, 3, 1, 1, 1, 1>>(name);
    };
  });
}
