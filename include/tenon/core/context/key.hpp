// ContextKey: what is known of one key of a context, the only place for each fact about it.
#pragma once
#include <string>
#include <string_view>

#include <tenon/core/context/tools.hpp>
#if TENON_DEFINES
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tenon/core/error.hpp>
#include <tenon/core/log/log.hpp>
#include <tenon/core/target.hpp>
#endif

namespace tenon::inline TENON_ABI::detail {

/// What values a key takes.
enum class KeyKind : unsigned char {
  mode,
  target,
  flag,       // True, False
  whole,      // an integer within `legal`
  level,      // a digit within `legal`, or True and False for 2 and 0
  choice,     // one of the words of `legal`
  gigabytes,  // "2GB", "0.5GB", not less than `legal`
  folder,     // is made if it is not there
  file,
  profiling,  // names of traces, or JSON
  object,     // "{...}"
  indices,    // "[2, 5]", ascending
  text
};

/// works: what was set is in force, if the key's tool is in the program. kept: it is given back, and does nothing but a
/// warning. always, fixed: `usual` is what holds, or what a key without meaning has; another value is checked and
/// ignored with a warning. renamed: `usual` is the key that is meant.
enum class KeyEffect : unsigned char { works, kept, always, fixed, renamed };

/// A row of a table of keys. Plain texts: a list of lists would take a compiler long.
struct ContextKey {
  const char* name;
  KeyKind kind;
  KeyEffect effect;
  const char* usual;  // the default, in the spelling that is given back
  const char* legal;
  const char* devices;  // words: on all others it is ignored unread; "" is any
  const char* note;     // what it does, or why it does nothing
  Tool tool = Tool::none;
};

/// Where a program has a row: the places of its texts in one text. The system adjusts each pointer of a table when a
/// program starts, which takes 32 bytes of its file.
struct PackedKey {
  unsigned short name, usual, legal, devices, note;
  KeyKind kind;
  KeyEffect effect;
  Tool tool;
};
/// A packed table of any size.
struct KeyTable {
  const PackedKey* rows;
  int count;
  const char* texts;

  ContextKey operator[](int row) const;
  /// The row of that name; else the ValueError "Set context keyword ... is not recognized!", of which `what` is the
  /// begin.
  [[gnu::cold]] int find(std::string_view what, std::string_view name) const;
};

/// The bytes of all texts of a table. (A compiler counts with the built-in function at once, else letter by letter.)
template <std::size_t rows>
constexpr std::size_t texts_size(const ContextKey (&keys)[rows]) {
  std::size_t size = 0;
  for (const ContextKey& key : keys)
    size += __builtin_strlen(key.name) + __builtin_strlen(key.usual) + __builtin_strlen(key.legal) +
            __builtin_strlen(key.devices) + __builtin_strlen(key.note) + 5;
  return size;
}
/// A table of `count` keys with `size` bytes of texts.
template <std::size_t count, std::size_t size>
struct PackedKeys {
  PackedKey rows[count]{};
  char texts[size]{};
  unsigned short end = 0;

  constexpr explicit PackedKeys(const ContextKey (&keys)[count]) {
    for (std::size_t i = 0; i < count; ++i) {
      const ContextKey& key = keys[i];
      rows[i] = {add(key.name), add(key.usual), add(key.legal), add(key.devices),
                 add(key.note), key.kind,       key.effect,     key.tool};
    }
  }
  constexpr operator KeyTable() const { return {rows, int(count), texts}; }

 private:
  constexpr unsigned short add(const char* text) {
    const unsigned short begin = end;
    char* to = texts + begin;
    while ((*to = *text)) ++to, ++text;
    end = static_cast<unsigned short>(to + 1 - texts);
    return begin;
  }
};

/// The value in the spelling that is given back. Throws TypeError for a text that is no int, bool, or object where one
/// is needed, ValueError for a value that is not legal.
[[gnu::cold]] std::string checked_value(const ContextKey& key, std::string_view value);

/// The bytes of "1.5GB".
[[gnu::cold]] double bytes_of_gigabytes(std::string_view value);

/// Whether the value is to be ignored, for the key is one of other devices or a fixed one. Says in a warning if a value
/// does nothing.
[[gnu::cold]] bool is_ignored(const ContextKey& key, std::string_view device, std::string_view value);

#if TENON_DEFINES
/// One warning per tool.
[[gnu::cold, gnu::noinline]] inline void warn_of_missing(Tool tool, std::string_view what) {
  static std::uint32_t warned = 0;
  if (is_here(tool) || warned >> int(tool) & 1) return;
  warned |= std::uint32_t{1} << int(tool);
  logging::warning(text(what, " does nothing in this program, which is built without the tool for it: include ",
                        tool == Tool::print_file ? "<tenon/debug/print_file.hpp>, which needs protozero, or " : "",
                        "<tenon/debug/debug.hpp> before all other headers of Tenon, in all of its sources, or "
                        "link tenon::debug in CMake."));
}

/// Whether a value is one of the words of a list.
[[gnu::cold, gnu::noinline]] inline bool is_among(const char* list, std::string_view value) {
  while (*list) {
    const std::size_t length = std::strcspn(list, " ");
    if (length == value.size() && std::memcmp(list, value.data(), length) == 0) return true;
    list += length + (list[length] == ' ');
  }
  return false;
}

[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_type(const ContextKey& key, std::string_view type,
                                                               std::string_view value) {
  throw_error<TypeError>("Argument ", key.name, " must be ", type, ", got '", value, "'.");
}
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_value(const ContextKey& key, std::string_view legal,
                                                                std::string_view value, std::string_view hint = "") {
  throw_error<ValueError>("Argument ", key.name, " must be ", legal, ", got '", value, "'.", hint);
}

[[gnu::cold]] inline std::string checked_whole(const ContextKey& key, std::string_view value) {
  const bool digits = value.find_first_not_of("0123456789", value.starts_with('-') ? 1 : 0) == value.npos;
  if (value.empty() || value == "-" || !digits) refuse_type(key, text("int in ", key.legal), value);
  const char* const most = std::strrchr(key.legal, ' ') + 1;
  errno = 0;
  const unsigned long long number = std::strtoull(std::string(value).c_str(), nullptr, 10);
  if (errno == ERANGE || value[0] == '-' || number < std::strtoull(key.legal, nullptr, 10) ||
      number > std::strtoull(most, nullptr, 10))
    refuse_value(key, text("in ", key.legal), value);
  return std::to_string(number);
}

[[gnu::cold]] inline std::string checked_choice(const ContextKey& key, std::string_view value) {
  if (is_among(key.legal, value)) return std::string(value);
  const std::vector<std::string> legal = words(key.legal);
  refuse_value(key, text("one of ", quoted_list(legal)), value, did_you_mean(value, legal));
}

[[gnu::cold]] TENON_INLINE double bytes_of_gigabytes(std::string_view value) {
  double number = 0, place = 0;
  for (const char c : value.substr(0, value.find('G')))
    if (c == '.') place = 1;
    else if (place > 0) number += (place /= 10) * (c - '0');
    else number = number * 10 + (c - '0');
  return number * (1 << 30);
}
/// MindSpore's pattern: [1-9][0-9]*(\.)?[0-9]*GB or 0\.[0-9]*GB, and not 0.
[[gnu::cold]] inline std::string checked_gigabytes(const ContextKey& key, std::string_view value) {
  const std::string_view number = value.substr(0, value.find('G'));
  const bool legal = value.ends_with("GB") && value.size() == number.size() + 2 && !number.empty() &&
                     number[0] != '.' && number.find_first_not_of("0123456789.") == number.npos &&
                     number.find('.') == number.rfind('.') && (number[0] != '0' || number.starts_with("0."));
  if (!legal || bytes_of_gigabytes(value) <= 0 || bytes_of_gigabytes(value) < bytes_of_gigabytes(key.legal))
    refuse_value(key, *key.legal ? "a text such as '2GB', from 1GB on" : "a text such as '2GB' or '0.5GB'", value);
  return std::string(value);
}

/// Makes the folder and those above it. Its path from the root on, which stays right when a program changes folders.
[[gnu::cold]] inline std::string checked_folder(const ContextKey& key, std::string_view value) {
  if (value.empty()) refuse_value(key, "a folder ('.' is the current one)", value);
  const std::string asked(value);
  for (std::size_t end = 0; end != asked.npos;) {
    end = asked.find('/', end + 1);
    ::mkdir(std::string(value.substr(0, end)).c_str(), 0777);
  }
  struct stat found{};
  char path[4096];
  const bool is_folder = ::realpath(asked.c_str(), path) && ::stat(path, &found) == 0 &&
                         (S_ISDIR(found.st_mode) || (errno = ENOTDIR, false));
  if (!is_folder || ::access(path, W_OK | X_OK) != 0)
    refuse_value(key, "a folder that can be written", value, text(" The system says: ", std::strerror(errno)));
  return path;
}

/// MindSpore's rule for a file that is there: the new one gets another name.
[[gnu::cold]] inline std::string checked_file(const ContextKey& key, std::string_view value) {
  std::string path(value);
  struct stat found{};
  if (path.empty() || ::stat(path.c_str(), &found) != 0) return path;
  if (S_ISDIR(found.st_mode))
    throw_error<RuntimeError>("Argument ", key.name, " must be a file, got '", value, "', which is a directory.");
  return text(path, ".", long(std::time(nullptr)));
}

/// The JSON itself is read by the profiler.
[[gnu::cold]] inline std::string checked_profiling(const ContextKey& key, std::string_view value) {
  const ContextKey traces{key.name, key.kind, key.effect, "", "training_trace task_trace op_trace", "", ""};
  if (value.empty() || value.size() > 2048) refuse_value(key, "1 to 2048 characters", value);
  if (value[0] == '{' && value.back() == '}') return std::string(value);
  std::string list(value);
  for (char& c : list)
    if (c == ':') c = ' ';
  for (const std::string& trace : words(list)) checked_choice(traces, trace);
  return std::string(value);
}

[[gnu::cold]] inline std::string checked_mode(std::string_view value) {
  if (is_among("graph 0 GRAPH_MODE", value)) return "graph";
  if (is_among("pynative 1 PYNATIVE_MODE", value)) return "pynative";
  throw_error<ValueError>("The execution mode '", value,
                          "' is invalid! Legal are 'graph' (0, GRAPH_MODE) and 'pynative' (1, PYNATIVE_MODE).");
}

[[gnu::cold]] inline std::string checked_target(const ContextKey& key, std::string_view target) {
  if (target_named(target) != TargetId::cpu || is_among("CPU", target)) return std::string(target);
  if (is_among("Ascend Davinci", target))
    refuse_value(key, "'CPU'", target, " It needs Huawei's CANN toolkit, for which Tenon has no backend.");
#if !defined(__CUDACC__)
  if (is_among("GPU", target))
    refuse_value(key, "'CPU'", target,
                 " It needs a program compiled by nvcc (CUDA 13 or newer), which this is not (docs/cuda.md).");
#else
  if (is_among("GPU", target))
    refuse_value(key, "'CPU'", target, " Compile the program with -DTENON_TARGET=cuda (docs/cuda.md).");
#endif
  std::vector<std::string> known = words("CPU GPU Ascend");
  [&]<class... Others>(TargetList<Others...>) { (known.emplace_back(Others::name), ...); }(OtherTargets());
  const std::string hint = did_you_mean(target, known);
  refuse_value(key, text("one of ", quoted_list(known)), target,
               hint.empty() ? " A target of backend/<folder>/ is compiled in by -DTENON_TARGET=<folder>." : hint);
}

[[gnu::cold, gnu::noinline]] TENON_INLINE std::string checked_value(const ContextKey& key, std::string_view value) {
  switch (key.kind) {
    case KeyKind::mode: return checked_mode(value);
    case KeyKind::target: return checked_target(key, value);
    case KeyKind::flag:
      if (is_among("True true 1", value)) return "True";
      if (is_among("False false 0", value)) return "False";
      refuse_type(key, "bool (True, true, 1, False, false, or 0)", value);
    case KeyKind::whole: return checked_whole(key, value);
    case KeyKind::level:
      if (is_among("True true", value)) return "2";
      if (is_among("False false", value)) return "0";
      if (is_among("0 1 2 3", value)) return std::string(value);
      throw_error<ValueError>("value for ", key.name, " should be 0-3 but got '", value, "'. False is 0, True is 2.");
    case KeyKind::choice: return checked_choice(key, value);
    case KeyKind::gigabytes: return checked_gigabytes(key, value);
    case KeyKind::folder: return checked_folder(key, value);
    case KeyKind::file: return checked_file(key, value);
    case KeyKind::profiling: return checked_profiling(key, value);
    case KeyKind::object:
      if (!value.starts_with('{') || !value.ends_with('}')) refuse_type(key, "dict ({...})", value);
      [[fallthrough]];
    default: return std::string(value);
  }
}

[[gnu::cold, gnu::noinline]] TENON_INLINE ContextKey KeyTable::operator[](int row) const {
  const PackedKey& key = rows[row];
  return {texts + key.name,    key.kind,         key.effect, texts + key.usual, texts + key.legal,
          texts + key.devices, texts + key.note, key.tool};
}
[[gnu::cold, gnu::noinline]] TENON_INLINE int KeyTable::find(std::string_view what, std::string_view name) const {
  std::vector<std::string> known;
  for (int row = 0; row < count; ++row) {
    const ContextKey key = (*this)[row];
    if (is_among(key.name, name)) return key.effect == KeyEffect::renamed ? find(what, key.usual) : row;
    known.push_back(key.name);
  }
  throw_error<ValueError>(what, " context keyword ", name, " is not recognized!", did_you_mean(name, known),
                          " Legal are ", quoted_list(known), ".");
}

[[gnu::cold, gnu::noinline]] TENON_INLINE bool is_ignored(const ContextKey& key, std::string_view device,
                                                          std::string_view value) {
  if (*key.devices && !is_among(key.devices, device)) {
    logging::warning(text("Config '", key.name, "' only supports devices in [", quoted_list(words(key.devices)),
                          "], current device is '", device, "', ignore it."));
    return true;
  }
  const bool works = key.effect == KeyEffect::works || key.tool >= Tool::data_parallel;
  if ((works && is_here(key.tool)) || checked_value(key, value).compare(key.usual) == 0)
    return key.effect >= KeyEffect::always;
  if (key.effect == KeyEffect::works) warn_of_missing(key.tool, text("Config '", key.name, "'"));
  else if (key.effect == KeyEffect::kept) {
    if (device == Cpu::name)
      logging::warning(text("Config '", key.name, "' is kept and does nothing: ", key.note, "."));
  } else
    logging::warning(text("Config '", key.name, "' stays '", key.usual, "', ignore '", value, "': ", key.note, "."));
  return key.effect >= KeyEffect::always;
}
#endif  // TENON_DEFINES

}  // namespace tenon::detail
