// A training with one of the tools that write, for full_disk.sh: `program TOOL FOLDER [DISK]`. Prints a hash of the
// weights. DISK becomes read-only just before the training. `program whole FILE...`: what is written record by record
// ends with a whole one.
#include <tenon/debug/debug.hpp>
// after it
#include <sys/mount.h>

#include <tenon/debug/profiler.hpp>
#include <tenon/debug/report.hpp>
#include <tenon/ops/print.hpp>
#if __has_include(<protozero/pbf_reader.hpp>)
#include <tenon/io/print_file.hpp>
#include <tenon/train/callback/summary_collector.hpp>
#endif

using namespace tenon;

namespace {
struct Net : nn::Cell<Net> {
  nn::Dense<64, 32> fc1;
  nn::Dense<32, 2> fc2;
  constexpr auto construct(auto x) const {
    const auto hidden = relu(fc1(x));
    ops::print("hidden", hidden);
    return fc2(hidden);
  }
};
auto samples() {
  std::vector<float> x(64 * 64);
  std::vector<std::int32_t> y(64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(i * 7 % 13) - 6;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = std::int32_t(i % 3 == 0);
  return dataset::from_arrays(dataset::column<Shape<64>>(std::move(x)), dataset::column<Shape<>>(std::move(y))) |
         dataset::batch(16);
}
/// Whether an event file is a sequence of records: their length in 8 bytes, 4 bytes, the record, 4 bytes.
bool has_whole_records(const std::string& file) {
  std::size_t at = 0;
  while (at + 12 <= file.size()) {
    std::uint64_t length = 0;
    std::memcpy(&length, &file[at], sizeof length);
    if (length > file.size() - at) return false;
    at += 16 + std::size_t(length);
  }
  return at == file.size();
}
int look_at(char** path) {
  for (; *path; ++path) {
    if (std::string_view(*path).find("events.out") != std::string_view::npos) {
      if (has_whole_records(io::read_file(*path))) continue;
      std::printf("%s ends in a record\n", *path);
      return 1;
    }
#if __has_include(<protozero/pbf_reader.hpp>)
    if (!io::read_file(*path).empty()) static_cast<void>(io::parse_print(*path));
#endif
  }
  return 0;
}
}  // namespace

int main(int count, char** argument) {
  const std::string tool = argument[1], folder = argument[2];
  if (tool == "whole") return look_at(argument + 2);
  set_context({.seed = 1});
  if (tool == "save_graphs") set_context({.save_graphs = 3, .save_graphs_path = folder + "/graphs"});
  if (tool == "print") set_context({.print_file_path = folder + "/print"});
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f}};
  const auto data = samples();
#if __has_include(<protozero/pbf_reader.hpp>)
  std::optional<SummaryCollector> summary;
  if (tool == "summary") summary.emplace(folder + "/summary", SummaryCollectorConfig{.collect_freq = 1});
#endif
  if (count > 3 && ::mount(nullptr, argument[3], nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) return 2;
  if (tool == "log")
    for (int i = 0; i < 3000; ++i) logging::warning("line ", i, " of many");
  if (tool == "profiler") {
    debug::Profiler profiler({.output_path = folder});
    model.train(3, data);
    profiler.analyse();
  } else if (tool == "report") {
    debug::Report report(folder + "/report.html");
    model.train(3, data, report);
  } else if (tool == "summary") {
#if __has_include(<protozero/pbf_reader.hpp>)
    model.train(3, data, *summary);
#else
    return 77;
#endif
  } else {
    model.train(3, data);
  }
  const ParameterList list(net);
  std::printf("weights: %llx\n", static_cast<unsigned long long>(hash_bytes(
                                     reinterpret_cast<const char*>(list.arena()->data), std::size_t(list.bytes()))));
}
