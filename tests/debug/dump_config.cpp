// link: json
// What a dump's configuration says: both layouts of the file, MindSpore's refusals, and texts of strangers.
#include <doctest/doctest.h>

#include <cstdlib>

#include <tenon/debug/dump/dump_config.hpp>
#include <tenon/debug/dump/kernel_list.hpp>

#include "../support/json.hpp"
#include "../support/shared.hpp"

using namespace tenon;
using namespace tenon::debug;

namespace {
/// A configuration of MindSpore 2, in which one value, or none, is another one. An empty value leaves its key out.
std::string config_with(const std::string& key = "", const std::string& value = "") {
  const std::pair<std::string, std::string> usual[]{
      {"dump_mode", "0"},     {"path", "\"/tmp/dump.d/a b\""}, {"net_name", "\"Net\""},   {"iteration", "\"all\""},
      {"input_output", "0"},  {"kernels", "[\"Conv2D\"]"},     {"support_device", "[0]"}, {"saved_data", "\"tensor\""},
      {"op_debug_mode", "0"}, {"operator_names", ""}};
  std::string keys;
  for (const auto& [name, text] : usual) {
    const std::string& mine = name == key ? value : text;
    if (!mine.empty()) keys += (keys.empty() ? "" : ", ") + ("\"" + name + "\": " + mine);
  }
  return "{\"common_dump_settings\": {" + keys + "}, \"e2e_dump_settings\": {\"enable\": true, \"trans_flag\": false}}";
}
std::string refusal_of(const std::string& json) {
  try {
    parse_dump_config(json);
  } catch (const RuntimeError& e) {
    return e.what();
  }
  return "";
}
std::string json_of(const support::Json& value) {
  using Kind = support::Json::Kind;
  std::string out;
  switch (value.kind) {
    case Kind::null: return "null";
    case Kind::boolean: return value.value != 0 ? "true" : "false";
    case Kind::number: return text(long(value.value));
    case Kind::string: return "\"" + io::json_escaped(value.chars) + "\"";
    case Kind::array:
      for (const support::Json& item : value.items) out += (out.empty() ? "" : ", ") + json_of(item);
      return "[" + out + "]";
    case Kind::object:
      for (std::size_t i = 0; i < value.names.size(); ++i)
        out += (out.empty() ? "\"" : ", \"") + value.names[i] + "\": " + json_of(value.items[i]);
      return "{" + out + "}";
  }
  return out;
}
}  // namespace

TEST_CASE("whose names operators have") {
  CHECK(parse_dump_config(config_with("operator_names", "\"mindspore\"")).what.names == DumpNames::mindspore);
  CHECK(parse_dump_config(config_with("operator_names", "\"tenon\"")).what.names == DumpNames::tenon);
  CHECK(parse_dump_config(config_with("dump_mode", "0")).what.names == DumpNames::tenon);
}

TEST_CASE("the file of the tutorial, in the layout of MindSpore 1.1") {
  const auto config = [](const char* kernels, const char* way) {
    return parse_dump_config(text(R"({
      "common_dump_settings": {
          "dump_mode": 0,
          "path": "/absolute_path",
          "net_name": "ResNet50",
          "iteration": 0,
          "input_output": 0,
          "kernels": [)",
                                  kernels, R"(],
          "support_device": [0,1,2,3,4,5,6,7]
      },
      )",
                                  way, "}"));
  };
  const DumpConfig sync =
      config("\"Default/Conv-op12\"", R"("e2e_dump_settings": { "enable": true, "trans_flag": false })");
  CHECK(sync.what.mode == DumpMode::all);
  CHECK(sync.path == "/absolute_path");
  CHECK(sync.net_name == "ResNet50");
  CHECK(sync.what.slots == DumpedSlots::both);
  CHECK(sync.what.kernels == std::vector<std::string>{"Default/Conv-op12"});
  CHECK(sync.what.devices.size() == 8);
  CHECK(sync.saved == SavedData::tensor);
  CHECK(sync.enabled);
  CHECK(!sync.async);
  CHECK(!sync.what.only_overflow);
  CHECK(sync.what.iterations.first() == 1);
  CHECK(sync.what.iterations.contains(1));
  CHECK(sync.what.iterations.contains(123456));

  const DumpConfig async = config("", R"("async_dump_settings": { "enable": true, "op_debug_mode": 3 })");
  CHECK(async.async);
  CHECK(async.what.only_overflow);
  const DumpConfig both = config("", R"("async_dump_settings": { "enable": true, "op_debug_mode": 0 },
                                        "e2e_dump_settings": { "enable": true, "trans_flag": true })");
  CHECK(both.enabled);
  CHECK(!both.async);
  CHECK(!config("", R"("e2e_dump_settings": { "enable": false, "trans_flag": true })").enabled);
}

TEST_CASE("iterations: a number of 1.1, lists and ranges of 1.3, with blanks as its documents write them") {
  CHECK(Iterations(3L).contains(3));
  CHECK(!Iterations(3L).contains(2));
  CHECK(!Iterations(3L).contains(4));
  for (const char* list : {"0|5-8|100-120", "0 | 5-8 | 100 - 120", " 0|5-8|100-120 "}) {
    const Iterations some{std::string_view(list)};
    CHECK(some.first() == 0);
    std::string found;
    for (long i = 0; i < 130; ++i)
      if (some.contains(i)) found += text(i, " ");
    CHECK(found.starts_with("0 5 6 7 8 100 101 "));
    CHECK(found.ends_with(" 119 120 "));
  }
  CHECK(Iterations(std::string_view("all")).contains(0));
  for (const char* list : {"", " ", "|", "1|", "|1", "1||2", "8-5", "-1", "1-", "1-2-3", "a", "1,2", "0x1", "1.5",
                           "99999999999999999999", "ALL", "1 2"})
    CHECK_THROWS_WITH_AS(Iterations{std::string_view(list)}, doctest::Contains("iteration should be"), RuntimeError);
}

TEST_CASE("operators by full name or by type, and those that were never there") {
  const KernelList kernels({"Default/network-Net/fc-Dense/MatMul-op0", "conv2d", "Nothing"});
  CHECK(kernels.contains("Default/network-Net/fc-Dense/MatMul-op0", "MatMul"));
  CHECK(!kernels.contains("Default/network-Net/fc-Dense/MatMul-op1", "MatMul"));
  CHECK(kernels.unused() == std::vector<std::string>{"conv2d", "Nothing"});
  CHECK(kernels.contains("x", "Conv2D"));
  CHECK(kernels.contains("x", "Conv2DBackpropFilter"));
  CHECK(!kernels.contains("conv2d", "MatMul"));
  CHECK(kernels.unused() == std::vector<std::string>{"Nothing"});
}

TEST_CASE("what is wrong is refused in MindSpore's words") {
  CHECK(refusal_of(config_with()) == "");
  for (const char* key : {"dump_mode", "net_name", "iteration", "input_output", "kernels", "support_device"})
    CHECK(refusal_of(config_with(key, "")).starts_with(text("Check dump json failed, ", key, " not found")));
  const std::pair<const char*, const char*> wrong[]{{"dump_mode", "5"},
                                                    {"dump_mode", "-1"},
                                                    {"dump_mode", "\"0\""},
                                                    {"dump_mode", "0.5"},
                                                    {"dump_mode", "1e30"},
                                                    {"path", "\"rel/dir\""},
                                                    {"path", "1"},
                                                    {"path", "\"/a\\nb\""},
                                                    {"path", "\"/a\\u0000\""},
                                                    {"net_name", "\"\""},
                                                    {"net_name", "\"a/b\""},
                                                    {"net_name", "\"..\""},
                                                    {"net_name", "3"},
                                                    {"iteration", "true"},
                                                    {"iteration", "-1"},
                                                    {"iteration", "\"1-\""},
                                                    {"input_output", "3"},
                                                    {"kernels", "\"Conv2D\""},
                                                    {"kernels", "[1]"},
                                                    {"kernels", "[\"name-regex(\\\"a\\\")\"]"},
                                                    {"support_device", "0"},
                                                    {"support_device", "[-1]"},
                                                    {"support_device", "[\"0\"]"},
                                                    {"saved_data", "\"all\""},
                                                    {"operator_names", "\"MindSpore\""},
                                                    {"operator_names", "1"},
                                                    {"op_debug_mode", "4"},
                                                    {"op_debug_mode", "true"}};
  for (const auto& [key, value] : wrong) {
    CAPTURE(key);
    CAPTURE(value);
    CHECK(refusal_of(config_with(key, value)).starts_with(text("Dump Json Parse Failed. ", key, " should be ")));
  }
  for (const char* json : {"", "{", "nothing", "{}}", "\xff\xfe", "{\"a\":1,\"a\":2}", "{\"a\":0x1}"})
    CHECK(refusal_of(json).starts_with("Parse dump json failed, error:"));
  CHECK(refusal_of("[1]").starts_with("Parse dump json failed, error:the text is a list"));
  CHECK(refusal_of("{}").starts_with("Check dump json failed, common_dump_settings not found"));
  CHECK(refusal_of("{\"common_dump_settings\": 1}").find("common_dump_settings should be an object") !=
        std::string::npos);
  CHECK_THROWS_WITH_AS(read_dump_config("/nowhere/at/all.json"),
                       doctest::Contains("Dump file:'/nowhere/at/all.json' open failed."), RuntimeError);
  CHECK_THROWS_WITH_AS(read_dump_config("/"), doctest::Contains("open failed"), RuntimeError);
}

TEST_CASE("texts that are made to hurt end at limits") {
  CHECK(refusal_of(std::string(100000, '[')).find("nested deeper than 32 levels") != std::string::npos);
  std::string many = "[0";
  for (int i = 0; i < 100000; ++i) many += ",0";
  CHECK(refusal_of(many + "]").find("more than 16384 values") != std::string::npos);
  CHECK(refusal_of(std::string(2 << 20, ' ')).find("at most 1048576 are allowed") != std::string::npos);
}

TEST_CASE("the path may be one of the environment") {
  ::unsetenv("MS_DIAGNOSTIC_DATA_PATH");
  CHECK(refusal_of(config_with("path", "")).starts_with("Check dump json failed, path not found"));
  ::setenv("MS_DIAGNOSTIC_DATA_PATH", "/data", 1);
  CHECK(parse_dump_config(config_with("path", "")).path == "/data/debug_dump");
  CHECK(parse_dump_config(config_with("path", "\"\"")).path == "/data/debug_dump");
  CHECK(parse_dump_config(config_with()).path == "/tmp/dump.d/a b");
  ::unsetenv("MS_DIAGNOSTIC_DATA_PATH");
}

TEST_CASE("each of MindSpore's cases is accepted or refused as there, but for four that are taken here") {
  if (!support::have_shared("golden/dump/index.json")) return;
  // a dot in the path, blanks and numbers as iterations, statistics on the CPU
  const std::string taken = " path_with_dot bad_iteration_blank bad_iteration_number statistic_on_cpu ";
  const support::Json index = support::load_json(support::shared_folder() + "/golden/dump/index.json");
  int refused = 0;
  const support::Json& cases = index["cases"];
  for (std::size_t i = 0; i < cases.names.size(); ++i) {
    const std::string& name = cases.names[i];
    CAPTURE(name);
    std::string config = json_of(cases.items[i]["config"]);
    if (const std::size_t at = config.find("<dump path>"); at != std::string::npos) config.replace(at, 11, "/dump");
    const bool fails = cases.items[i]["exit"].number() != 0 && taken.find(" " + name + " ") == std::string::npos;
    CHECK(refusal_of(config).empty() != fails);
    refused += fails;
  }
  CHECK(refused == 4);
}
