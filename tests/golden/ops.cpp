// Operators and layers, values and gradients, against the results of MindSpore 2.10 (golden/ops); the cases are in the
// parts. A second target is compared with the CPU, too, bit for bit if it promises that.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "ops.hpp"

#include <tenon/core/context.hpp>

#include "../support/bits_of_cpu.hpp"
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
    support::OnCpu& cpu = support::on_cpu();
    if (support::has_bits_of_cpu<OtherTarget>)
      cpu.state = target == Cpu::name ? support::OnCpu::written : support::OnCpu::compared;
    for (const Group* group : Group::all()) {
      CAPTURE(group->name);
      group->run();
    }
    if (!several_targets) break;
  }
  CHECK(support::on_cpu().next == support::on_cpu().arrays.size());
  check_coverage("golden/ops", known_cases(), support::golden_cases(), "ops_skipped.txt");
}
