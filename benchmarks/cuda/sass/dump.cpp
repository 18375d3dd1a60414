// Trains a network for some steps, for benchmarks/cuda/sass.py. nvcc makes machine code of its kernels. With the
// emulator of tests/support/cuda it is a program that writes what one launch of a kernel gets, and all memory of the
// device before and after it:
//   dump NETWORK BATCH BLOCKS_AT_ONCE KERNEL LAUNCH FILE
// KERNEL is a part of the name of the kernel's body, LAUNCH counts its launches from 0. dumped.hpp says what the file
// has. With SASS_ATTENTION, SASS_CONV, or SASS_DENSE it has that network alone, whose kernels others need not compile.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#if defined(SASS_ATTENTION) || defined(SASS_CONV) || defined(SASS_DENSE)
#include <tenon/tenon.hpp>
#else
#include "../../models/lenet.hpp"
#endif
#if defined(TENON_CUDA_EMULATOR)
#include "dumped.hpp"
#endif

using namespace tenon;

namespace {
std::vector<float> made_numbers(long count) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  std::uint32_t seed = 1;
  for (float& each : numbers) {
    seed = seed * 1664525u + 1013904223u;
    each = float(seed >> 8) / float(1 << 24);
  }
  return numbers;
}
template <class Network, class Loss, class Data>
void train(Network network, Loss loss, Data data, long batch) {
  Model model{network, loss, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  model.train(1, std::move(data) | dataset::batch(batch) | dataset::repeat(6));
}

/// Trains a network, the only one of its program, to give the numbers that it gets.
template <class Network, int... extents>
void train_to_copy(Shape<extents...>, long batch) {
  const std::vector<float> numbers = made_numbers(batch * (long(extents) * ...));
  auto data =
      dataset::from_arrays(dataset::column<Shape<extents...>>(numbers), dataset::column<Shape<extents...>>(numbers));
  train(Network{}, nn::MSELoss{}, std::move(data), batch);
}

#if defined(SASS_ATTENTION)
constexpr auto networks = "attention";
using Attention = nn::MultiHeadAttention<256, 4, nn::MultiHeadAttentionConfig{.causal = true}>;

bool train(const std::string& network, long batch) {
  return network == networks && (train_to_copy<Attention>(Shape<128, 256>(), batch), true);
}
#elif defined(SASS_CONV)
constexpr auto networks = "conv";
struct Convolutions : nn::Cell<Convolutions> {
  nn::Conv2d<64, 64, 3> first, second;
  constexpr auto construct(auto x) const { return second(first(x)); }
};

bool train(const std::string& network, long batch) {
  return network == networks && (train_to_copy<Convolutions>(Shape<64, 32, 32>(), batch), true);
}
#elif defined(SASS_DENSE)
constexpr auto networks = "dense";
struct TwoLayers : nn::Cell<TwoLayers> {
  nn::Dense<256, 1024> first;
  nn::Dense<1024, 256> second;
  constexpr auto construct(auto x) const { return second(first(x)); }
};

bool train(const std::string& network, long batch) {
  return network == networks && (train_to_copy<TwoLayers>(Shape<256>(), batch), true);
}
#else
constexpr auto networks = "lenet, mlp";
struct Mlp : nn::Cell<Mlp> {
  nn::Dense<784, 512> fc1;
  nn::Dense<512, 10> fc2;
  constexpr auto construct(auto x) const { return fc2(relu(fc1(x))); }
};

template <class Image>
auto made_data(long samples) {
  std::vector<std::int32_t> labels(static_cast<std::size_t>(samples));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = std::int32_t(i % 10);
  return dataset::from_arrays(dataset::column<Image>(made_numbers(samples * 784)),
                              dataset::column<Shape<>>(std::move(labels)));
}

bool train(const std::string& network, long batch) {
  const nn::SoftmaxCrossEntropyWithLogits loss;
  if (network == "lenet") train(models::LeNet{}, loss, made_data<Shape<1, 28, 28>>(batch), batch);
  else if (network == "mlp") train(Mlp{}, loss, made_data<Shape<784>>(batch), batch);
  else return false;
  return true;
}
#endif

#if defined(TENON_CUDA_EMULATOR)
struct {
  std::string kernel, path;
  long launches_left = 0;
  dumped::File file;
} wanted;

void watch(const emulator::Launch& launch, bool done) {
  if (done && wanted.file.is_open()) std::_Exit(wanted.file.end() ? 0 : 1);  // the rest of the training is not needed
  if (done || !launch.body || !std::strstr(launch.body, wanted.kernel.c_str()) || wanted.launches_left-- > 0) return;
  wanted.file.begin(wanted.path, launch);
}
#endif
}  // namespace

int main(int argc, char** argv) try {
  if (argc != 7) return std::fputs("dump NETWORK BATCH BLOCKS_AT_ONCE KERNEL LAUNCH FILE\n", stderr), 2;
#if defined(TENON_CUDA_EMULATOR)
  emulator::multiprocessors = std::atoi(argv[3]);
  wanted.kernel = argv[4], wanted.launches_left = std::atol(argv[5]);
  wanted.path = argv[6];
  emulator::watch = watch;
#endif
  set_context({.mode = Mode::graph, .device_target = "GPU", .seed = 1});
  if (!train(argv[1], std::atol(argv[2]))) std::fprintf(stderr, "There is no network %s: %s.\n", argv[1], networks);
  else std::fprintf(stderr, "No launch %s of a kernel whose name contains %s.\n", argv[5], argv[4]);
  return 1;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
