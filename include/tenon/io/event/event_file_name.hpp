// What event files are called.
#pragma once
#include <unistd.h>
#include <atomic>
#include <ctime>
#include <string>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/path/host_name.hpp>

namespace tenon::inline TENON_ABI::io {

/// Where the file is: `begin`, seconds since 1970, `end`. Where there is such a file, it gets the next free second.
struct EventFileName {
  std::string begin, end;
  long seconds = std::time(nullptr);

  std::string path() const { return text(begin, seconds, end); }
};

namespace detail {
/// Throws ValueError unless it is made of letters, digits, '_', '-', and '.', as MindSpore has it.
[[gnu::cold]] inline void check_file_name_part(std::string_view what, std::string_view part) {
  for (const char c : part) {
    const bool known =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '.';
    if (!known)
      throw_error<ValueError>("SummaryRecord: ", what, " must be made of letters, digits, '_', '-', and '.', got '",
                              part, "'; the folder is the first argument.");
  }
}
}  // namespace detail

/// <prefix>.out.events.summary.<seconds>.<device>.<host><suffix>, as MindSpore 2.10 has it.
inline EventFileName mindspore_event_file(const std::string& folder, std::string_view prefix, std::string_view suffix,
                                          int device) {
  return {join_path(folder, text(prefix, ".out.events.summary.")), text(".", device, ".", host_name(), suffix)};
}
/// <prefix>.out.tfevents.<seconds>.<host>.<process>.<number><suffix>: TensorBoard looks for "tfevents".
inline EventFileName tensorboard_event_file(const std::string& folder, std::string_view prefix,
                                            std::string_view suffix) {
  static std::atomic<int> number{0};
  return {join_path(folder, text(prefix, ".out.tfevents.")),
          text(".", host_name(), ".", ::getpid(), ".", number++, suffix)};
}

}  // namespace tenon::io
