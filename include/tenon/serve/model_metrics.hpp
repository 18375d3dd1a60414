// What a server counts about a model, in the text format of Prometheus.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::serving {

using Clock = std::chrono::steady_clock;

/// Counters of a version of a model, which threads change at the same time.
struct ModelMetrics {
  using Counter = std::atomic<std::uint64_t>;
  /// Upper bounds of the histogram of durations, in microseconds.
  static constexpr std::uint64_t bounds[]{100,    250,    500,    1000,    2500,    5000,
                                          10'000, 25'000, 50'000, 100'000, 250'000, 1'000'000};

  Counter success = 0, failure = 0;       // requests
  Counter samples = 0, batches = 0;       // computed
  std::atomic<std::int64_t> pending = 0;  // requests that wait
  Counter request_us = 0, queue_us = 0, input_us = 0, infer_us = 0, output_us = 0;
  std::array<Counter, std::size(bounds) + 1> within{};

  static std::uint64_t microseconds(Clock::duration d) {
    return std::uint64_t(std::chrono::duration_cast<std::chrono::microseconds>(d).count());
  }
  static void add(Counter& counter, std::uint64_t n) { counter.fetch_add(n, std::memory_order_relaxed); }
  void add_request(Clock::duration duration) {
    const std::uint64_t us = microseconds(duration);
    std::size_t k = 0;
    while (k < std::size(bounds) && us > bounds[k]) ++k;
    add(within[k], 1), add(request_us, us), add(success, 1);
  }
};

/// A counter with its name and what it counts.
struct MetricRow {
  std::string_view name, help;
  ModelMetrics::Counter ModelMetrics::* counter;
};
inline constexpr MetricRow metric_rows[]{
    {"tenon_inference_request_success", "Requests that got a result", &ModelMetrics::success},
    {"tenon_inference_request_failure", "Requests that got an error", &ModelMetrics::failure},
    {"tenon_inference_count", "Samples computed", &ModelMetrics::samples},
    {"tenon_inference_exec_count", "Batches computed", &ModelMetrics::batches},
    {"tenon_inference_request_duration_us", "Time from a complete request to its result", &ModelMetrics::request_us},
    {"tenon_inference_queue_duration_us", "Time that requests waited", &ModelMetrics::queue_us},
    {"tenon_inference_compute_input_duration_us", "Time to gather batches", &ModelMetrics::input_us},
    {"tenon_inference_compute_infer_duration_us", "Time to compute batches", &ModelMetrics::infer_us},
    {"tenon_inference_compute_output_duration_us", "Time to distribute results", &ModelMetrics::output_us},
};

/// The lines of a metric before its values.
inline void append_metric_head(std::string& to, std::string_view name, std::string_view help, std::string_view type) {
  to.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
  to.append(name).append(" ").append(type).append("\n");
}

/// The histogram of a model, in seconds.
inline void append_histogram(std::string& to, std::string_view name, const std::string& labels, const ModelMetrics& m) {
  std::uint64_t count = 0;
  const auto line = [&](std::string_view suffix, const std::string& more, const std::string& value) {
    to.append(name).append(suffix).append("{").append(labels).append(more).append("} ").append(value).append("\n");
  };
  const auto seconds = [](std::uint64_t us) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%llu.%06llu", static_cast<unsigned long long>(us / 1'000'000),
                  static_cast<unsigned long long>(us % 1'000'000));
    return std::string(digits);
  };
  for (std::size_t k = 0; k < m.within.size(); ++k) {
    count += m.within[k];
    const std::string bound = k < std::size(ModelMetrics::bounds) ? seconds(ModelMetrics::bounds[k]) : "+Inf";
    line("_bucket", ",le=\"" + bound + "\"", std::to_string(count));
  }
  line("_sum", "", seconds(m.request_us));
  line("_count", "", std::to_string(count));
}

}  // namespace tenon::serving
