// Shared by the parts of ops.cpp, each of which registers groups of cases.
#pragma once
#include <string>
#include <vector>

#include "../support/golden.hpp"

/// Cases that are checked together: `const Group views("views", [] { check_case("reshape", ...); });`
struct Group {
  std::string name;
  void (*run)();
  Group(const char* name, void (*run)()) : name(name), run(run) { all().push_back(this); }
  static std::vector<const Group*>& all() {
    static std::vector<const Group*> groups;
    return groups;
  }
};
