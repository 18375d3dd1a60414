// A Model that is pinned to graph mode carries no tape: its program has no symbol of one.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <tenon/dataset/dataset.hpp>
#include <tenon/io/file.hpp>
#include <tenon/train/model.hpp>

#include "../support/models.hpp"

using namespace support;
using namespace tenon;

namespace {
std::string own_executable() {
  std::FILE* file = std::fopen("/proc/self/exe", "rb");
  REQUIRE(file);
  std::string bytes;
  char block[65536];
  for (std::size_t read; (read = std::fread(block, 1, sizeof block, file)) > 0;) bytes.append(block, read);
  std::fclose(file);
  return bytes;
}
// In pieces, so that this text is not itself what is found.
bool contains(const std::string& bytes, const std::string& first, const char* rest) { return bytes.find(first + rest) != bytes.npos; }
}  // namespace

TEST_CASE("a graph-pinned model trains without any tape in its program") {
  const ContextScope scope({.mode = Mode::pynative});  // what the type says counts
  Mlp net;
  Model model{pinned<Mode::graph>, net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
  CHECK(model.mode() == Mode::graph);
  const auto data =
      dataset::from_arrays(dataset::column<Shape<20>>(std::vector<float>(80, 0.5f)), dataset::column<Shape<>>(std::vector<std::int32_t>{0, 1, 2, 3}));
  model.train(2, data | dataset::batch(2));
  CHECK(model.global_step() == 4);

  const std::string program = own_executable();
  CHECK(contains(program, "8Exe", "cutor"));
  CHECK_FALSE(contains(program, "5eager4Ta", "pe"));
  CHECK_FALSE(contains(program, "run_back", "ward"));
}
