// RunRecord: the content of a report, without its layout.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tenon/debug/report/series.hpp>
#include <tenon/io/png.hpp>

namespace tenon::inline TENON_ABI::debug {

enum class RunState { running, finished, stopped };

/// Names with values.
using Facts = std::vector<std::pair<std::string, std::string>>;

struct RunRecord {
  std::string network;
  RunState state = RunState::running;
  std::string begun;  // local time
  double seconds = 0;
  long steps = 0, epochs = 0, epochs_asked = 0;

  Series loss{"loss"}, learning_rate{"learning rate"}, step_milliseconds{"ms"};
  std::vector<Series> metrics;  // over epochs, by name

  struct ParameterRow {
    std::string name, shape, dtype;
    std::int64_t count = 0;
    bool trains = true;
  };
  std::vector<ParameterRow> parameters;
  std::int64_t parameter_bytes = 0, state_bytes = 0;

  Facts training, environment;
  std::string context;  // context_text()

  io::Pixels images;  // of the first batch; empty if it has none
  std::string no_images;
  std::string time, memory;  // sections of a profile (debug/report/profile_sections.hpp)

  /// The curve of that name, made at its first number.
  Series& metric(std::string_view name) {
    for (Series& known : metrics)
      if (known.name() == name) return known;
    return metrics.emplace_back(std::string(name));
  }
};

}  // namespace tenon::debug
