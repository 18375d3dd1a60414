// No reference file is forgotten: each was compared, or stands in a list with the reason why not.
#pragma once
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <source_location>
#include <string>
#include <vector>

#include <doctest/doctest.h>

/// The names in front of the colons of a file beside this one; each has a reason behind it.
inline std::vector<std::string> skipped_cases(const std::string& list) {
  std::vector<std::string> names;
  std::ifstream file(std::filesystem::path(std::source_location::current().file_name()).parent_path() / list);
  REQUIRE(file);
  for (std::string line; std::getline(file, line);) {
    CAPTURE(line);
    const auto colon = line.find(": ");
    REQUIRE((colon != line.npos && colon + 2 < line.size()));
    names.push_back(line.substr(0, colon));
  }
  return names;
}

/// Checks that each known case ran (and passed, or not) or is skipped, and nothing else; prints the counts.
inline void check_coverage(const char* what, const std::vector<std::string>& known,
                           const std::map<std::string, bool>& ran, const std::string& skip_list) {
  const std::vector<std::string> skipped = skipped_cases(skip_list);
  const auto has = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  long passed = 0;
  for (const auto& [name, ok] : ran) {
    CAPTURE(name);
    CHECK(has(known, name));
    CHECK_FALSE(has(skipped, name));
    passed += ok;
  }
  for (const std::string& name : known) {
    CAPTURE(name);
    CHECK((has(skipped, name) || ran.contains(name)));
  }
  for (const std::string& name : skipped) {
    CAPTURE(name);
    CHECK(has(known, name));
    CHECK(std::count(skipped.begin(), skipped.end(), name) == 1);
  }
  std::printf("%s: of %zu cases %ld passed, %ld failed, %zu skipped (tests/golden/%s)\n", what, known.size(), passed,
              long(ran.size()) - passed, skipped.size(), skip_list.c_str());
}
