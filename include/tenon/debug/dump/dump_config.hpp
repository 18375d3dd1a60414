// DumpConfig: the contents and the location of a dump, from MINDSPORE_DUMP_CONFIG's JSON file or from set_context.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/log/log.hpp>
#include <tenon/debug/dump/dump_selection.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/json.hpp>

namespace tenon::inline TENON_ABI::debug {

enum class SavedData { tensor, statistic, full };

/// The settings of a dump. docs/dump.md says what each key of the file means.
struct DumpConfig {
  DumpSelection what{};
  std::string path{};      // the root folder, absolute
  std::string net_name{};  // a folder below it; empty: the class of the network
  SavedData saved = SavedData::tensor;
  bool async = false;  // a thread of its own writes
  bool enabled = true;
  std::string source{};  // the text of the file, for .dump_metadata
};

/// Reads the text of a configuration, of both layouts: iteration is a number in that of MindSpore 1.1 and 1.2, a text
/// in that of 1.3 and newer, where path may be missing (then it is <MS_DIAGNOSTIC_DATA_PATH>/debug_dump) and
/// op_debug_mode, saved_data, file_format may be there.
///
/// throws      RuntimeError for a text that is no JSON, for a key that is missing, for a value that is not legal; the
///             messages begin as MindSpore's
/// source      MindSpore's dump_json_parser. Departures: a path may have any characters but control characters (there:
///             no dot, no blank); blanks in iteration; statistics on the CPU, too; e2e_dump_settings.enable = false is
///             obeyed (the CPU of 2.10 dumps anyway)
[[gnu::cold]] DumpConfig parse_dump_config(std::string_view json);

/// The same from a file. Throws RuntimeError "Dump file:... open failed." if it cannot be read.
[[gnu::cold]] DumpConfig read_dump_config(const std::string& path);

/// Everything, into a folder: the configuration of set_context({.enable_dump = true, .save_dump_path = folder}).
[[gnu::cold]] DumpConfig dump_everything(const std::string& folder);

namespace detail {

/// The keys of an object of the file, each asked for once.
class DumpSection {
 public:
  DumpSection(const io::Json& object, std::string_view name) : object_(object), name_(name) {
    if (!object.is(io::Json::Kind::object)) refuse(name, "an object, but got ", shown(object));
  }

  const io::Json* find(std::string_view key) const { return object_.find(key); }
  const io::Json& need(std::string_view key) const {
    if (const io::Json* const found = find(key)) return *found;
    throw_error<RuntimeError>("Check dump json failed, ", key, " not found in ", name_, ".");
  }
  template <class... Parts>
  [[noreturn]] static void refuse(std::string_view key, const Parts&... legal) {
    throw_error<RuntimeError>("Dump Json Parse Failed. ", key, " should be ", legal..., ".");
  }
  /// A whole number of 0 .. most.
  static long whole(const io::Json& value, std::string_view key, long most) {
    if (!value.is(io::Json::Kind::whole) || value.integer < 0 || value.integer > most)
      refuse(key, most <= 4 ? text("a whole number from 0 to ", most) : std::string("an unsigned number"), ", but got ",
             shown(value));
    return long(value.integer);
  }
  static const std::string& string(const io::Json& value, std::string_view key) {
    if (!value.is(io::Json::Kind::string)) refuse(key, "a text, but got ", shown(value));
    return value.string;
  }
  bool flag(std::string_view key) const {
    const io::Json& value = need(key);
    if (!value.is(io::Json::Kind::boolean)) refuse(key, "true or false, but got ", shown(value));
    return value.flag;
  }
  static const std::vector<io::Json>& list(const io::Json& value, std::string_view key) {
    if (!value.is(io::Json::Kind::array)) refuse(key, "a list, but got ", shown(value));
    return value.items;
  }
  static std::string shown(const io::Json& value) {
    using Kind = io::Json::Kind;
    switch (value.kind) {
      case Kind::null: return "null";
      case Kind::boolean: return value.flag ? "true" : "false";
      case Kind::whole: return std::to_string(value.integer);
      case Kind::real: return text(value.number);
      case Kind::string: return io::printable(value.string);
      case Kind::array: return "a list";
      default: return "an object";
    }
  }

 private:
  const io::Json& object_;
  std::string_view name_;
};

[[gnu::cold]] inline std::string dump_path_of(const DumpSection& common) {
  const io::Json* const asked = common.find("path");
  if (!asked || (asked->is(io::Json::Kind::string) && asked->string.empty())) {
    const char* const root = std::getenv("MS_DIAGNOSTIC_DATA_PATH");
    if (!root || !*root)
      throw_error<RuntimeError>("Check dump json failed, path not found in common_dump_settings: name a folder there, "
                                "or set the variable MS_DIAGNOSTIC_DATA_PATH, of which debug_dump is taken.");
    return io::join_path(root, "debug_dump");
  }
  const std::string& path = DumpSection::string(*asked, "path");
  if (path[0] != '/')
    DumpSection::refuse("path", "an absolute path, which begins with '/', but got ", io::printable(path));
  for (const char c : path)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      DumpSection::refuse("path", "a path without control characters, but got ", io::printable(path));
  return path;
}
[[gnu::cold]] inline std::string net_name_of(const DumpSection& common, bool may_be_empty) {
  const std::string& name = DumpSection::string(common.need("net_name"), "net_name");
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && !(c >= '0' && c <= '9') && c != '-' && c != '_')
      DumpSection::refuse("net_name", "of letters, digits, - and _ only, but got ", io::printable(name));
  }
  if (name.empty() && !may_be_empty) DumpSection::refuse("net_name", "of letters, digits, - and _, but it is empty");
  if (name.size() > 255) DumpSection::refuse("net_name", "of at most 255 characters, but it has ", name.size());
  return name;
}
[[gnu::cold]] inline std::vector<std::string> kernels_of(const DumpSection& common) {
  std::vector<std::string> kernels;
  for (const io::Json& item : DumpSection::list(common.need("kernels"), "kernels")) {
    const std::string& kernel = DumpSection::string(item, "kernels");
    if (kernel.starts_with("name-regex"))
      DumpSection::refuse("kernels", "full names or types of operators here, but got ", io::printable(kernel));
    if (!kernel.empty()) kernels.push_back(kernel);
  }
  return kernels;
}
[[gnu::cold]] inline std::vector<long> devices_of(const DumpSection& common) {
  std::vector<long> devices;
  for (const io::Json& item : DumpSection::list(common.need("support_device"), "support_device")) {
    const long device = DumpSection::whole(item, "support_device", 0xffffffff);
    if (std::find(devices.begin(), devices.end(), device) != devices.end())
      logging::warning("Dump: support_device names ", device, " twice.");
    else devices.push_back(device);
  }
  return devices;
}
[[gnu::cold]] inline SavedData saved_data_of(const std::string& word) {
  if (word == "tensor") return SavedData::tensor;
  if (word == "statistic") return SavedData::statistic;
  if (word == "full") return SavedData::full;
  DumpSection::refuse("saved_data", "\"tensor\", \"statistic\" or \"full\", but got ", io::printable(word));
}
/// The keys of version 1.5 and later, and operator_names, which only Tenon has.
[[gnu::cold]] inline void read_later_keys(const DumpSection& common, DumpConfig& config) {
  if (const io::Json* const saved = common.find("saved_data"))
    config.saved = saved_data_of(DumpSection::string(*saved, "saved_data"));
  if (const io::Json* const mode = common.find("op_debug_mode"))
    config.what.only_overflow = DumpSection::whole(*mode, "op_debug_mode", 3) != 0;
  if (const io::Json* const names = common.find("operator_names")) {
    const std::string& word = DumpSection::string(*names, "operator_names");
    if (word != "tenon" && word != "mindspore")
      DumpSection::refuse("operator_names", "\"tenon\" or \"mindspore\", but got ", io::printable(word));
    config.what.names = word == "tenon" ? DumpNames::tenon : DumpNames::mindspore;
  }
  if (const io::Json* const format = common.find("file_format")) {
    const std::string& word = DumpSection::string(*format, "file_format");
    if (word != "npy" && word != "bin")
      DumpSection::refuse("file_format", "\"npy\" or \"bin\", but got ", io::printable(word));
    if (word == "bin") logging::warning("Dump: file_format \"bin\" is Ascend's; files are \"npy\" here.");
  }
}
/// Which of the two ways is on: the synchronous one goes before the other, and is meant where neither is named.
[[gnu::cold]] inline void read_ways(const io::Json& root, DumpConfig& config) {
  const io::Json *const e2e = root.find("e2e_dump_settings"), *const async = root.find("async_dump_settings");
  bool sync_on = !e2e && !async, async_on = false;
  if (e2e) {
    const DumpSection section(*e2e, "e2e_dump_settings");
    sync_on = section.flag("enable");
    if (section.find("trans_flag")) section.flag("trans_flag");  // elements are NCHW here in any case
  }
  if (async) {
    const DumpSection section(*async, "async_dump_settings");
    async_on = section.flag("enable");
    if (const io::Json* const mode = section.find("op_debug_mode"))
      config.what.only_overflow |= DumpSection::whole(*mode, "op_debug_mode", 3) != 0 && async_on && !sync_on;
  }
  config.async = async_on && !sync_on;
  config.enabled = sync_on || async_on;
}
}  // namespace detail

inline DumpConfig parse_dump_config(std::string_view json) {
  const io::Json root = io::parse_json(json, "Parse dump json failed");
  if (!root.is(io::Json::Kind::object))
    throw_error<RuntimeError>("Parse dump json failed, error:the text is ", detail::DumpSection::shown(root),
                              ", not an object with common_dump_settings.");
  const detail::DumpSection whole(root, "the file");
  const detail::DumpSection common(whole.need("common_dump_settings"), "common_dump_settings");
  DumpConfig config;
  const io::Json& iteration = common.need("iteration");
  const bool old_layout = iteration.is(io::Json::Kind::whole);
  if (old_layout) config.what.iterations = Iterations(detail::DumpSection::whole(iteration, "iteration", 0xffffffff));
  else config.what.iterations = Iterations(detail::DumpSection::string(iteration, "iteration"));
  config.what.mode = DumpMode(common.whole(common.need("dump_mode"), "dump_mode", 2));
  config.path = detail::dump_path_of(common);
  config.net_name = detail::net_name_of(common, old_layout);
  config.what.slots = DumpedSlots(common.whole(common.need("input_output"), "input_output", 2));
  config.what.kernels = detail::kernels_of(common);
  config.what.devices = detail::devices_of(common);
  detail::read_later_keys(common, config);
  detail::read_ways(root, config);
  config.source = json;
  return config;
}

inline DumpConfig read_dump_config(const std::string& path) {
  std::string json;
  try {
    json = io::read_file(path, io::JsonLimits{}.bytes);
  } catch (const Error& e) {
    throw_error<RuntimeError>("Dump file:", io::printable(path), " open failed. ", e.what());
  }
  return parse_dump_config(json);
}

inline DumpConfig dump_everything(const std::string& folder) {
  DumpConfig config;
  config.path = folder;
  config.source = text("{\"common_dump_settings\": {\"dump_mode\": 0, \"path\": \"", io::json_escaped(folder),
                       "\", \"net_name\": \"\", \"iteration\": \"all\", \"input_output\": 0, \"kernels\": [], "
                       "\"support_device\": [0, 1, 2, 3, 4, 5, 6, 7]}}");
  return config;
}

}  // namespace tenon::debug
