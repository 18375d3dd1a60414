// Training runs of MindSpore 2.10, repeated: losses, gradients, final weights, optimizer state, logits, in both modes
// with equal bits.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <map>

#include "trajectories.hpp"

#include "coverage.hpp"

using namespace trajectories;

namespace {
/// All cases that there are references for: "mlp/adam".
std::vector<std::string> known_cases() {
  std::vector<std::string> names;
  for (const auto& family : std::filesystem::directory_iterator(root()))
    for (const auto& file : std::filesystem::directory_iterator(family.path())) {
      const std::string name = file.path().stem().string();
      if (file.path().extension() == ".npz" && name != "init" && name != "batches")
        names.push_back(family.path().filename().string() + "/" + name);
    }
  return names;
}
}  // namespace

TEST_CASE("trajectories: every case is repeated, or skipped with a reason") {
  if (!support::have_shared()) return;
  std::map<std::string, bool> ran;
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    const int before = support::failures();
    c.run();
    ran[c.name] = support::failures() == before;
  }
  check_coverage("trajectories", known_cases(), ran, "trajectories_skipped.txt");
}
