// The models of a server, by name and version. A version can be exchanged while requests arrive.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/memory/storage.hpp>
#include <tenon/serve/batcher.hpp>
#include <tenon/serve/infer/response.hpp>

namespace tenon::inline TENON_ABI::serving {

/// A version of a model, as requests find it.
struct Version {
  Version(std::string model, long version, std::unique_ptr<const Servable> servable, const ServedOptions& options,
          std::shared_ptr<ModelMetrics> metrics)
      : name(std::move(model)), number(version), batcher(std::move(servable), options, std::move(metrics)) {}

  std::string name;
  long number;
  Batcher batcher;
};

class Registry {
 public:
  using Versions = std::map<long, std::shared_ptr<Version>>;

  /// Adds a version, or takes the place of one. Returns when the one before has computed what it had to.
  void add(const std::string& name, long number, std::unique_ptr<const Servable> model, const ServedOptions& options) {
    check(name, number, options, model->signature());
    std::shared_ptr<Version> before;
    {
      const std::lock_guard lock(mutex_);
      std::shared_ptr<ModelMetrics>& metrics = metrics_[{name, number}];
      if (!metrics) metrics = std::make_shared<ModelMetrics>();
      const auto added = std::make_shared<Version>(name, number, std::move(model), options, metrics);
      before = std::exchange(models_[name][number], added);
    }
    if (before) before->batcher.drain();
  }
  /// Removes a version, when it has computed what it had to. False if there is none.
  bool remove(const std::string& name, long number) {
    std::shared_ptr<Version> removed;
    {
      const std::lock_guard lock(mutex_);
      const auto model = models_.find(name);
      if (model == models_.end()) return false;
      const auto version = model->second.find(number);
      if (version == model->second.end()) return false;
      removed = std::move(version->second);
      model->second.erase(version);
      if (model->second.empty()) models_.erase(model);
    }
    removed->batcher.drain();
    return true;
  }
  /// A version, the one with the highest number for -1. Null if there is none.
  std::shared_ptr<Version> find(std::string_view name, long number) const {
    const std::lock_guard lock(mutex_);
    const auto model = models_.find(name);
    if (model == models_.end()) return nullptr;
    if (number < 0) return model->second.rbegin()->second;
    const auto version = model->second.find(number);
    return version == model->second.end() ? nullptr : version->second;
  }
  std::vector<long> versions(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    std::vector<long> numbers;
    if (const auto model = models_.find(name); model != models_.end())
      for (const auto& [number, version] : model->second) numbers.push_back(number);
    return numbers;
  }
  /// Computes what waits, and takes no more.
  void drain() {
    std::vector<std::shared_ptr<Version>> all;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [name, versions] : models_)
        for (const auto& [number, version] : versions) all.push_back(version);
    }
    for (const auto& version : all) version->batcher.drain();
  }
  void append_metrics(std::string& to) const {
    const std::lock_guard lock(mutex_);
    const auto each = [&](auto f) {
      for (const auto& [key, metrics] : metrics_)
        f("model=\"" + key.first + "\",version=\"" + std::to_string(key.second) + '"', *metrics);
    };
    for (const MetricRow& row : metric_rows) {
      append_metric_head(to, row.name, row.help, "counter");
      each([&](const std::string& labels, const ModelMetrics& metrics) {
        to.append(row.name).append("{" + labels + "} " + std::to_string((metrics.*row.counter).load()) + '\n');
      });
    }
    append_metric_head(to, "tenon_inference_pending_request_count", "Requests that wait", "gauge");
    each([&](const std::string& labels, const ModelMetrics& metrics) {
      to += "tenon_inference_pending_request_count{" + labels + "} " + std::to_string(metrics.pending.load()) + '\n';
    });
    const std::string_view histogram = "tenon_inference_request_duration_seconds";
    append_metric_head(to, histogram, "Time from a complete request to its result", "histogram");
    each([&](const std::string& labels, const ModelMetrics& metrics) {
      append_histogram(to, histogram, labels, metrics);
    });
  }

 private:
  static bool is_name(std::string_view name) {
    constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    return !name.empty() && name.size() <= 100 && name[0] != '.' && name.find_first_not_of(allowed) == name.npos;
  }
  static void check(const std::string& name, long number, const ServedOptions& options, const Signature& signature) {
    if (!is_name(name))
      throw_error<ValueError>("Server.add got the model name ", io::printable(name),
                              ": use at most 100 letters, digits, and _ . -, and begin with another than the dot.");
    if (number < 0) throw_error<ValueError>("Server.add got the version ", number, ": use 0 or more.");
    if (options.max_batch_size < 1 || options.max_queue_size < 1 || options.instances < 1 ||
        options.max_queue_delay.count() < 0)
      throw_error<ValueError>("Server.add got ServedOptions with max_batch_size ", options.max_batch_size,
                              ", max_queue_size ", options.max_queue_size, ", instances ", options.instances,
                              ", max_queue_delay ", options.max_queue_delay.count(),
                              " us: they are at least 1, the delay at least 0.");
    for (const auto* list : {&signature.inputs, &signature.outputs})
      for (const NamedType& one : *list) {
        if (!is_name(one.name))
          throw_error<ValueError>("Server.add got an input or output with the name ", io::printable(one.name),
                                  ": use at most 100 letters, digits, and _ . -");
        if (&(*list)[std::size_t(serving::find(*list, one.name))] != &one)
          throw_error<ValueError>("Server.add got two inputs or outputs with the name ", one.name, ".");
        // of a longer batch the bytes could not be counted, and a request of a few bytes would fit
        constexpr auto most_bytes = long(Storage::max_bytes);
        if (const long bytes = one.type.bytes(1); bytes > 0 && options.max_batch_size > most_bytes / bytes)
          throw_error<ValueError>("Server.add got max_batch_size ", options.max_batch_size, ", and the tensor ",
                                  one.name, " has ", bytes, " bytes for a sample: use at most ", most_bytes / bytes,
                                  ".");
      }
  }

  mutable std::mutex mutex_;
  std::map<std::string, Versions, std::less<>> models_;
  std::map<std::pair<std::string, long>, std::shared_ptr<ModelMetrics>> metrics_;
};

}  // namespace tenon::serving
