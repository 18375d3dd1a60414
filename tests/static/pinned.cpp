// A Model that is pinned to graph mode carries no tape: its program has no symbol of one.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <elf.h>

#include <cstring>
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
// The names of the linker's symbols, without those of the debug information, which lists all that was declared.
std::string symbols_of(const std::string& file) {
  Elf64_Ehdr header;
  REQUIRE(file.size() > sizeof header);
  std::memcpy(&header, file.data(), sizeof header);
  std::string names;
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section, strings;
    std::memcpy(&section, file.data() + header.e_shoff + std::size_t(i) * sizeof section, sizeof section);
    if (section.sh_type != SHT_SYMTAB) continue;
    std::memcpy(&strings, file.data() + header.e_shoff + section.sh_link * sizeof strings, sizeof strings);
    names.append(file, strings.sh_offset, strings.sh_size);
  }
  return names;
}
bool contains(const std::string& names, const char* name) { return names.find(name) != names.npos; }
}  // namespace

TEST_CASE("a graph-pinned model trains without any tape in its program") {
  const ContextScope scope({.mode = Mode::pynative});  // what the type says counts
  Mlp net;
  Model model{pinned<Mode::graph>, net, nn::SoftmaxCrossEntropyWithLogits{},
              nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
  CHECK(model.mode() == Mode::graph);
  const auto data = dataset::from_arrays(dataset::column<Shape<20>>(std::vector<float>(80, 0.5f)),
                                         dataset::column<Shape<>>(std::vector<std::int32_t>{0, 1, 2, 3}));
  model.train(2, data | dataset::batch(2));
  CHECK(model.global_step() == 4);

  const std::string symbols = symbols_of(own_executable());
  CHECK(contains(symbols, "8Executor"));
  CHECK_FALSE(contains(symbols, "5eager4Tape"));
  CHECK_FALSE(contains(symbols, "run_backward"));
}
