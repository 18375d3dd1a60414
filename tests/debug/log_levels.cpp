// Levels of modules: the grammar of MS_SUBMODULE_LOG_v and its warnings.
// headers: yes
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <random>
#include <string>

#include <tenon/debug/log_levels.hpp>

using namespace tenon::logging::detail;

namespace {
Levels levels_of(const char* glog_v, const char* submodules) {
  Levels levels = tenon::logging::detail::levels_of(glog_v);
  if (submodules) read_module_levels(submodules, levels);
  return levels;
}
/// "MD 1 ME 2": the modules that have another level than GLOG_v's.
std::string others(const Levels& levels, int usual = 2) {
  std::string all;
  for (int i = 0; i < module_count; ++i)
    if (levels.of[i] != usual + 1)
      all += std::string(all.empty() ? "" : " ") + modules[i] + " " + std::to_string(levels.of[i] - 1);
  return all;
}
std::string others(const char* submodules) { return others(levels_of(nullptr, submodules)); }
std::string warnings(const char* submodules) { return levels_of(nullptr, submodules).warnings; }
std::string syntax(const std::string& expected, const std::string& got) {
  return "Parse submodule log configuration text error, expect `" + expected + "`, but got `" + got +
         "`. The whole configuration will be ignored.\n";
}
}  // namespace

TEST_CASE("levels of modules: what MindSpore's runs say") {
  CHECK(others(levels_of("3", "{MD:1,ME:2}"), 3) == "MD 1 ME 2");
  CHECK(others(levels_of("3", "{ PYNATIVE : 1 , MD : 3 }"), 3) == "PYNATIVE 1");
  CHECK(others(levels_of("1", "{PARSER:2,ANALYZER:2}"), 1) == "ANALYZER 2 PARSER 2");
  CHECK(others("{MD:3,MD:1}") == "MD 1");
  CHECK(warnings("{MD:7,MD:1}") == "");
  CHECK(others("{MD:1} tail") == "MD 1");
  CHECK(warnings("{MD:1} tail") == "");
  CHECK(warnings("{NOPE:1}") == "Undefined module name NOPE, ignore it\n");
  CHECK(warnings("{md:1}") == "Undefined module name md, ignore it\n");
  CHECK(warnings("{MD:7}") == "Illegal log level value 7 for MD, ignore it.\n");
  CHECK(warnings("{MD:1") == syntax("}", "end-of-string"));
  CHECK(warnings("{}") == syntax("variable", "}"));
}

TEST_CASE("levels of modules: the rest of the grammar") {
  CHECK(others("") == "");
  CHECK(warnings("") == "");
  CHECK(warnings(" \t ") == "");
  CHECK(others("\t{\tMD\t:\t0\t}\t") == "MD 0");
  CHECK(others("{MD:4}") == "MD 4");
  CHECK(others("{GE_ADPT:1,UNKNOWN:0,API:3}") == "UNKNOWN 0 GE_ADPT 1 API 3");
  CHECK(warnings("{MD:01}") == "Illegal log level value 01 for MD, ignore it.\n");
  CHECK(warnings("{MD:5,A_1:2}") ==
        "Undefined module name A_1, ignore it\nIllegal log level value 5 for MD, ignore it.\n");
  CHECK(others("{MD:5,ME:1,NOPE:1}") == "ME 1");
  const char* wrong[][3]{{"MD:1", "{", "variable"},
                         {"{:1}", "variable", ":"},
                         {"{1:1}", "variable", "number"},
                         {"{MD}", ":", "}"},
                         {"{MD 1}", ":", "number"},
                         {"{MD:}", "number", "}"},
                         {"{MD:ME}", "number", "variable"},
                         {"{MD:-1}", "number", "invalid"},
                         {"{MD:1,}", "variable", "}"},
                         {"{MD:1 ME:1}", "}", "variable"},
                         {"{MD:1;ME:1}", "}", "invalid"},
                         {"{MD:1a}", "}", "variable"},
                         {"{", "variable", "end-of-string"},
                         {"{{", "variable", "{"},
                         {"\n{MD:1}", "{", "invalid"},
                         {"{_MD:1}", "variable", "invalid"},
                         {"{ME:1,NOPE:1,MD:9", "}", "end-of-string"}};
  for (const auto& [given, expected, got] : wrong) {
    CHECK_MESSAGE(warnings(given) == syntax(expected, got), given);
    CHECK_MESSAGE(others(given) == "", given);
  }
}

TEST_CASE("GLOG_v: a wrong text is told, and is 2") {
  for (int v = 0; v <= 4; ++v) CHECK(others(levels_of(std::to_string(v).c_str(), nullptr), v) == "");
  CHECK(levels_of("", nullptr).warnings == "");
  const std::string sentence =
      "Incorrect log level, please check the configuration of GLOG_v or GLOG_stderrthreshold, desired log level: "
      "4-CRITICAL, 3-ERROR, 2-WARNING, 1-INFO, 0-DEBUG. But got ";
  for (const char* bad : {"9", "-1", "2x", "WARNING", " 2"}) {
    CHECK(levels_of(bad, nullptr).warnings == sentence + bad + ". It is 2.\n");
    CHECK(others(levels_of(bad, "{MD:0}")) == "MD 0");
  }
  CHECK(levels_of("a\n\x1b[2J\x7f", nullptr).warnings == sentence + "a??[2J?. It is 2.\n");
  CHECK(levels_of(std::string(100000, '3').c_str(), nullptr).warnings.size() < 400);
}

TEST_CASE("levels of modules: no text breaks them") {
  std::mt19937 random(1);
  const std::string_view parts[]{"{", "}", ",", ":", " ", "MD", "NOPE", "1", "12", "_", "\xff", "\n", "a_9", "\t"};
  for (int i = 0; i < 20000; ++i) {
    std::string text = i % 4 ? "{" : "";
    for (unsigned k = random() % 12; k > 0; --k) text += parts[random() % std::size(parts)];
    const Levels levels = levels_of(text.c_str(), text.c_str());
    for (const int level : levels.of) REQUIRE((level >= 1 && level <= 5));
    REQUIRE((levels.warnings.empty() || levels.warnings.back() == '\n'));
  }
  std::string all = "{";
  for (int i = 0; i < 30000; ++i) all += "A:1,";
  CHECK(warnings((all + "MD:1}").c_str()).size() == 30000 * std::string("Undefined module name A, ignore it\n").size());
}
