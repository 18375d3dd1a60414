// Training runs of MindSpore 2.10, repeated: losses, gradients, final weights, optimizer state, logits, in both modes with equal bits.
// timeout: 300
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "trajectories.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <source_location>

using namespace trajectories;

namespace {
/// All cases that there are references for: "mlp/adam".
std::vector<std::string> known_cases() {
  std::vector<std::string> names;
  for (const auto& family : std::filesystem::directory_iterator(root()))
    for (const auto& file : std::filesystem::directory_iterator(family.path())) {
      const std::string name = file.path().stem().string();
      if (file.path().extension() == ".npz" && name != "init" && name != "batches") names.push_back(family.path().filename().string() + "/" + name);
    }
  return names;
}
/// The names in front of the colons of trajectories_skipped.txt; each has a reason behind it.
std::vector<std::string> skipped_cases() {
  std::vector<std::string> names;
  std::ifstream file(std::filesystem::path(std::source_location::current().file_name()).parent_path() / "trajectories_skipped.txt");
  REQUIRE(file);
  for (std::string line; std::getline(file, line);) {
    CAPTURE(line);
    const auto colon = line.find(": ");
    REQUIRE((colon != line.npos && colon + 2 < line.size()));
    names.push_back(line.substr(0, colon));
  }
  return names;
}
}  // namespace

TEST_CASE("trajectories: every case is repeated, or skipped with a reason") {
  if (!support::have_shared()) return;
  const std::vector<std::string> known = known_cases(), skipped = skipped_cases();
  const auto has = [](const std::vector<std::string>& list, const std::string& name) { return std::find(list.begin(), list.end(), name) != list.end(); };
  int passed = 0;
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    CHECK(has(known, c.name));
    CHECK_FALSE(has(skipped, c.name));
    const int before = failures();
    c.run();
    passed += failures() == before;
  }
  for (const std::string& name : known) {
    CAPTURE(name);
    CHECK((has(skipped, name) || std::any_of(cases().begin(), cases().end(), [&](const Case& c) { return c.name == name; })));
  }
  for (const std::string& name : skipped) CHECK(has(known, name));
  std::printf("trajectories: of %zu cases %d passed, %zu failed, %zu skipped\n", known.size(), passed, cases().size() - std::size_t(passed), skipped.size());
}
