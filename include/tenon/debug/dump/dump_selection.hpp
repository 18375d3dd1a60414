// DumpSelection: which operators, sides of them, steps, and devices a dump is for.
#pragma once
#include <string>
#include <vector>

#include <tenon/debug/dump/iterations.hpp>

namespace tenon::inline TENON_ABI::debug {

enum class DumpMode { all, kernels, cells };
enum class DumpedSlots { both, inputs, outputs };
/// What operators are called: "Add" in "Default/network-LeNet/fc1-Dense", or as MindSpore calls them, "BiasAdd" in
/// "Default/network-WithLossCell/_backbone-LeNet/fc1-Dense" (debug/dump/mindspore_names.hpp).
enum class DumpNames { tenon, mindspore };

/// What is dumped. docs/dump.md says what each key of MindSpore's file means.
struct DumpSelection {
  DumpMode mode = DumpMode::all;
  Iterations iterations{};
  DumpedSlots slots = DumpedSlots::both;
  std::vector<std::string> kernels{};  // of DumpMode::kernels: full names with their scope, or types
  std::vector<long> devices{0, 1, 2, 3, 4, 5, 6, 7};
  bool only_overflow = false;  // operators whose results have NaN or infinity
  DumpNames names = DumpNames::tenon;
};

}  // namespace tenon::debug
