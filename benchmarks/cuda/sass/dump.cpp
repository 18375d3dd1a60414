// Trains a network for some steps, for benchmarks/cuda/sass.py. nvcc makes machine code of its kernels. With the
// emulator of tests/support/cuda it is a program that writes what one launch of a kernel gets, and all memory of the
// device before and after it:
//   dump NETWORK BATCH BLOCKS_AT_ONCE KERNEL LAUNCH FILE
// KERNEL is a part of the name of the kernel's body, LAUNCH counts its launches from 0. The file has numbers of 64
// bits, and texts, which are a length and bytes: numbers of blocks, threads, bytes of shared memory, blocks of a
// cluster; the name of the body; the number of arguments, and each of them; then twice the memory: the number of its
// pieces, and of each its address and its bytes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "../../models/lenet.hpp"

using namespace tenon;

namespace {
struct Mlp : nn::Cell<Mlp> {
  nn::Dense<784, 512> fc1;
  nn::Dense<512, 10> fc2;
  constexpr auto construct(auto x) const { return fc2(relu(fc1(x))); }
};

template <class Image>
auto made_data(long samples) {
  std::vector<float> images(std::size_t(samples * 784));
  std::uint32_t seed = 1;
  for (float& each : images) {
    seed = seed * 1664525u + 1013904223u;
    each = float(seed >> 8) / float(1 << 24);
  }
  std::vector<std::int32_t> labels(static_cast<std::size_t>(samples));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = std::int32_t(i % 10);
  return dataset::from_arrays(dataset::column<Image>(std::move(images)), dataset::column<Shape<>>(std::move(labels)));
}

template <class Network, class Image>
void train(long batch) {
  Network network;
  Model model{network, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}};
  model.train(1, made_data<Image>(batch) | dataset::batch(batch) | dataset::repeat(6));
}
bool train(const std::string& network, long batch) {
  if (network == "lenet") train<models::LeNet, Shape<1, 28, 28>>(batch);
  else if (network == "mlp") train<Mlp, Shape<784>>(batch);
  else return false;
  return true;
}

#if defined(TENON_CUDA_EMULATOR)
struct {
  std::string kernel;
  long launches_left = 0;
  std::ofstream file;
  bool writes = false;
} wanted;

void put(long number) { wanted.file.write(reinterpret_cast<const char*>(&number), sizeof number); }
void put(const std::string& text) {
  put(long(text.size()));
  wanted.file.write(text.data(), std::streamsize(text.size()));
}
void put_memory() {
  const auto all = emulator::device_blocks().all();
  put(long(all.size()));
  for (const auto& [at, bytes] : all) {
    put(long(reinterpret_cast<std::uintptr_t>(at)));
    put(std::string(reinterpret_cast<const char*>(at), bytes));
  }
}
void watch(const emulator::Launch& launch, bool done) {
  if (done && wanted.writes) {
    put_memory();
    wanted.file.close();
    std::_Exit(wanted.file ? 0 : 1);  // the rest of the training is not needed
  }
  if (done || !launch.body || !std::strstr(launch.body, wanted.kernel.c_str()) || wanted.launches_left-- > 0) return;
  wanted.writes = true;
  for (const long each : {long(launch.blocks), long(launch.threads), long(launch.shared_bytes), long(launch.cluster)})
    put(each);
  put(std::string(launch.body));
  put(long(launch.arguments.size()));
  for (const std::string& argument : launch.arguments) put(argument);
  put_memory();
}
#endif
}  // namespace

int main(int argc, char** argv) try {
  if (argc != 7) return std::fputs("dump NETWORK BATCH BLOCKS_AT_ONCE KERNEL LAUNCH FILE\n", stderr), 2;
#if defined(TENON_CUDA_EMULATOR)
  emulator::multiprocessors = std::atoi(argv[3]);
  wanted.kernel = argv[4], wanted.launches_left = std::atol(argv[5]);
  wanted.file.open(argv[6], std::ios::binary);
  emulator::watch = watch;
#endif
  set_context({.mode = Mode::graph, .device_target = "GPU", .seed = 1});
  if (!train(argv[1], std::atol(argv[2]))) std::fprintf(stderr, "There is no network %s: lenet, mlp.\n", argv[1]);
  else std::fprintf(stderr, "No launch %s of a kernel whose name contains %s.\n", argv[5], argv[4]);
  return 1;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
