// ProfilerOptions: what is measured, and the folder of the files.
#pragma once
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::debug {

namespace detail {
/// MindSpore's ./data, or what MS_DIAGNOSTIC_DATA_PATH says.
inline std::string default_output_path() {
  const char* const said = std::getenv("MS_DIAGNOSTIC_DATA_PATH");
  return said && *said ? said : "./data";
}
}  // namespace detail

struct ProfilerOptions {
  /// The files go into the folder "profiler" in this one; both are made.
  std::string output_path = detail::default_output_path();
  bool start_profile = true;  // false: start() begins
  bool op_time = true;        // false: only steps are measured, not what is in them
  /// Limit in megabytes of the timeline, and separately of the events: the first events are kept. MindSpore 1.1 has 20
  /// on Ascend and 100 on GPU, 2.x 500. At most 4096.
  int timeline_limit = 20;
  /// Full names of the operations with which the forward part of a training step begins and its backward part ends, for
  /// the step trace; "": the first one of the forward part and the last one of the gradients.
  std::string fp_point{}, bp_point{};
};

namespace detail {

/// One member after the other of a JSON object whose values are texts. io/json.hpp reads all of JSON, but needs
/// nlohmann_json, and the profiler is a part of programs that have no library beside Tenon.
class FlatJson {
 public:
  explicit FlatJson(std::string_view text) : text_(text) {
    take('{');
    if (skip_blanks(), at_ < text_.size() && text_[at_] == '}') done_ = true;
  }
  bool done() const { return done_; }
  std::pair<std::string, std::string> next() {
    std::pair<std::string, std::string> member;
    member.first = quoted();
    take(':');
    member.second = quoted();
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == ',') {
      ++at_;
      return member;
    }
    take('}');
    done_ = true;
    if (skip_blanks(), at_ < text_.size()) refuse("nothing after the last brace");
    return member;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  void take(char wanted) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != wanted) refuse(std::string_view(&wanted, 1));
    ++at_;
  }
  std::string quoted() {
    take('"');
    std::string found;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
        if (at_ >= text_.size() || std::string_view("\\/\"").find(text_[at_]) == std::string_view::npos)
          refuse("\\\\, \\/ or \\\" after a backslash");
      }
      found += text_[at_];
    }
    take('"');
    return found;
  }
  [[noreturn, gnu::cold]] void refuse(std::string_view wanted) const {
    throw_error<ValueError>("profiling_options must be a JSON object of texts, such as {\"output\":\"/tmp/data\", "
                            "\"training_trace\":\"on\"}: at character ",
                            at_ + 1, " it needs ", wanted, ", got ", io::printable(text_.substr(at_, 20)), ".");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool done_ = false;
};

inline bool is_on(std::string_view key, std::string_view value) {
  if (value != "on" && value != "off")
    throw_error<ValueError>("profiling_options: ", key, " must be on or off, got ", io::printable(value), ".");
  return value == "on";
}

}  // namespace detail

/// The options of set_context's profiling_options, or of the variable PROFILING_OPTIONS: traces such as
/// "training_trace:task_trace", or JSON with MindSpore's keys: output (result_path in 1.1), task_trace or op_trace, of
/// which "off" leaves only steps measured, fp_point, bp_point; training_trace, aicpu_trace, hccl, ai_core_metrics,
/// aic_metrics and their values are checked, and have no effect. Throws ValueError for all other keys and values.
inline ProfilerOptions profiler_options_of(std::string_view text) {
  ProfilerOptions options;
  if (!text.starts_with('{')) return options;  // traces, which set_context has checked: all are always there
  const std::vector<std::string> known{
      "output", "result_path", "training_trace", "task_trace",  "op_trace",        "aicpu_trace",
      "hccl",   "fp_point",    "bp_point",       "aic_metrics", "ai_core_metrics", "optypes_not_deal"};
  for (detail::FlatJson members(text); !members.done();) {
    const auto [key, value] = members.next();
    if (key == "output" || key == "result_path") options.output_path = value;
    else if (key == "task_trace" || key == "op_trace") options.op_time = detail::is_on(key, value);
    else if (key == "training_trace" || key == "aicpu_trace" || key == "hccl") detail::is_on(key, value);
    else if (key == "fp_point") options.fp_point = value;
    else if (key == "bp_point") options.bp_point = value;
    else if (key != "aic_metrics" && key != "ai_core_metrics" && key != "optypes_not_deal")
      throw_error<ValueError>("profiling_options: there is no option ", io::printable(key), ".",
                              did_you_mean(key, known));
  }
  if (options.output_path.empty() || options.output_path.find('\0') != std::string::npos)
    throw_error<ValueError>("profiling_options: output must be a folder ('.' is the current one).");
  return options;
}

}  // namespace tenon::debug
