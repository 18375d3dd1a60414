// Puts requests of a model together into batches, in threads of its own.
#pragma once
#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/log/log.hpp>
#include <tenon/io/text/escaped_text.hpp>
#include <tenon/serve/infer_request.hpp>
#include <tenon/serve/model_metrics.hpp>
#include <tenon/serve/options.hpp>
#include <tenon/serve/servable.hpp>

namespace tenon::inline TENON_ABI::serving {

/// A request with its result. `done` is called once, in a thread of the batcher, and takes the request back.
struct Job {
  InferRequest request;
  Clock::time_point arrived = Clock::now();
  std::vector<std::vector<std::byte>> outputs;
  std::optional<Refusal> refusal;
  std::function<void(std::unique_ptr<Job>)> done;
};

/// The queue of a version of a model.
class Batcher {
 public:
  enum class Submitted { taken, full, closed };

  Batcher(std::unique_ptr<const Servable> model, ServedOptions options, std::shared_ptr<ModelMetrics> metrics)
      : model_(std::move(model)), options_(std::move(options)), metrics_(std::move(metrics)) {
    for (int k = 0; k < options_.instances; ++k) threads_.emplace_back([this] { work(); });
  }
  Batcher(const Batcher&) = delete;
  ~Batcher() { drain(); }

  const Servable& model() const { return *model_; }
  const ServedOptions& options() const { return options_; }
  ModelMetrics& metrics() const { return *metrics_; }

  /// Takes the job if there is room; else it stays with the caller.
  Submitted submit(std::unique_ptr<Job>& job) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return Submitted::closed;
      if (long(queue_.size()) >= options_.max_queue_size) return Submitted::full;
      samples_ += job->request.n;
      queue_.push_back(std::move(job));
    }
    metrics_->pending.fetch_add(1, std::memory_order_relaxed);
    wake_.notify_one();
    return Submitted::taken;
  }
  /// Takes no more jobs, and returns when all are done. Not for the threads of the batcher.
  void drain() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    wake_.notify_all();
    const std::lock_guard join(join_mutex_);
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  using Jobs = std::vector<std::unique_ptr<Job>>;

  void work() {
    for (;;) {
      Jobs jobs = next_batch();
      if (jobs.empty()) return;
      const auto now = Clock::now();
      for (const auto& job : jobs)
        ModelMetrics::add(metrics_->queue_us, ModelMetrics::microseconds(now - job->arrived));
      metrics_->pending.fetch_sub(std::int64_t(jobs.size()), std::memory_order_relaxed);
      compute(jobs);
      for (auto& job : jobs) {
        const auto done = std::move(job->done);
        done(std::move(job));
      }
    }
  }
  // Waits for jobs; none if there will be no more.
  Jobs next_batch() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return closed_ || !queue_.empty(); });
      if (queue_.empty()) return {};
      if (options_.max_queue_delay.count() > 0) {
        const auto until = queue_.front()->arrived + options_.max_queue_delay;
        wake_.wait_until(lock, until, [&] { return closed_ || samples_ >= options_.max_batch_size; });
        if (queue_.empty()) continue;  // another thread took them
      }
      Jobs jobs;
      long n = 0;
      while (!queue_.empty() && n + queue_.front()->request.n <= options_.max_batch_size) {
        n += queue_.front()->request.n;
        jobs.push_back(std::move(queue_.front()));
        queue_.pop_front();
      }
      samples_ -= n;
      return jobs;
    }
  }
  // One request that the model refuses, such as an index outside of a table, must not fail the others of its batch.
  void compute(Jobs& jobs) {
    try {
      compute_together(jobs.data(), jobs.size());
    } catch (...) {
      if (jobs.size() == 1) return refuse(*jobs[0]);
      for (auto& job : jobs) {
        try {
          compute_together(&job, 1);
        } catch (...) {
          refuse(*job);
        }
      }
    }
  }
  // Within the handler of an exception: the client learns its kind, the log its text.
  static void refuse(Job& job) {
    try {
      throw;
    } catch (const ValueError& error) {
      job.refusal = Refusal{400, "the model does not take a value of the inputs, such as an index out of range"};
      logging::info("serving: a request was refused: ", io::printable_sentence(error.what()));
    } catch (const std::exception& error) {
      job.refusal = Refusal{500, "internal error"};
      logging::error("serving: a request failed: ", io::printable_sentence(error.what()));
    } catch (...) {
      job.refusal = Refusal{500, "internal error"};
      logging::error("serving: a request failed");
    }
  }
  void compute_together(std::unique_ptr<Job>* jobs, std::size_t count) {
    long n = 0;
    for (std::size_t j = 0; j < count; ++j) n += jobs[j]->request.n;
    const Signature& signature = model_->signature();
    const auto start = Clock::now();
    auto filled = start, computed = start;
    const auto fill = [&](std::byte* const* to) {
      for (std::size_t k = 0; k < signature.inputs.size(); ++k) {
        std::byte* at = to[k];
        for (std::size_t j = 0; j < count; ++j) {
          const std::vector<std::byte>& bytes = jobs[j]->request.inputs[k];
          if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
          at += bytes.size();
        }
      }
      filled = Clock::now();
    };
    const auto take = [&](const std::byte* const* from) {
      computed = Clock::now();
      for (std::size_t j = 0; j < count; ++j) jobs[j]->outputs.resize(signature.outputs.size());
      for (std::size_t k = 0; k < signature.outputs.size(); ++k) {
        const std::byte* at = from[k];
        for (std::size_t j = 0; j < count; ++j) {
          const long bytes = signature.outputs[k].type.bytes(jobs[j]->request.n);
          jobs[j]->outputs[k].assign(at, at + bytes);
          at += bytes;
        }
      }
    };
    model_->compute(n, fill, take);
    ModelMetrics::add(metrics_->samples, std::uint64_t(n));
    ModelMetrics::add(metrics_->batches, 1);
    ModelMetrics::add(metrics_->input_us, ModelMetrics::microseconds(filled - start));
    ModelMetrics::add(metrics_->infer_us, ModelMetrics::microseconds(computed - filled));
    ModelMetrics::add(metrics_->output_us, ModelMetrics::microseconds(Clock::now() - computed));
  }

  std::unique_ptr<const Servable> model_;
  ServedOptions options_;
  std::shared_ptr<ModelMetrics> metrics_;
  std::mutex mutex_, join_mutex_;
  std::condition_variable wake_;
  std::deque<std::unique_ptr<Job>> queue_;
  long samples_ = 0;  // of the queue
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tenon::serving
