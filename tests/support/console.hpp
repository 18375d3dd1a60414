// What MindSpore printed (golden/console), to be compared without the digits that no two runs share.
#pragma once
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include "shared.hpp"

namespace support {

/// What a script of golden/console wrote to `stream`, stdout or stderr: `console("loss_monitor_1.graph", "stdout")`.
inline std::string console(const std::string& name, const std::string& stream) {
  std::ifstream file(shared_folder() + "/golden/console/" + name + "." + stream + ".txt");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (stream == "stdout") REQUIRE_MESSAGE(!text.empty(), name);
  return text;
}

/// The text with # for every number that has a point, the others as they are.
inline std::string without_reals(const std::string& text) {
  return std::regex_replace(text, std::regex(R"(-?\d+\.\d+(e[-+]?\d+)?)"), "#");
}

}  // namespace support
