// Operators and layers, values and gradients, against the results of MindSpore 2.10 (golden/ops); the cases are in the
// parts.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "ops.hpp"

#include <tenon/core/context.hpp>

#include "coverage.hpp"

using namespace tenon;

namespace {
std::vector<std::string> known_cases() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(support::shared_folder() + "/golden/ops"))
    if (file.path().extension() == ".npz") names.push_back(file.path().stem().string());
  return names;
}
}  // namespace

TEST_CASE("golden/ops: every case agrees, or is skipped with a reason") {
  if (!support::have_shared()) return;
  for (const std::string_view target : {Cpu::name, OtherTarget::name}) {
    CAPTURE(target);
    const ContextScope scope({.device_target = target});
    for (const Group* group : Group::all()) {
      CAPTURE(group->name);
      group->run();
    }
    if (!several_targets) break;
  }
  check_coverage("golden/ops", known_cases(), support::golden_cases(), "ops_skipped.txt");
}
