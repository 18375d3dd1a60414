// Puts requests of a model together into batches, in threads of its own, or for short ones in the thread that asks.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/log/log.hpp>
#include <tenon/core/thread/parallel.hpp>
#include <tenon/io/text/escaped_text.hpp>
#include <tenon/serve/infer/request.hpp>
#include <tenon/serve/model_metrics.hpp>
#include <tenon/serve/options.hpp>
#include <tenon/serve/servable.hpp>
#include <tenon/serve/start_threads.hpp>

namespace tenon::inline TENON_ABI::serving {

/// A request with its result. `done` is called once, in the thread that computed, and takes the request back.
struct Job {
  InferRequest request;
  Clock::time_point arrived = Clock::now();
  std::vector<std::vector<std::byte>> outputs;
  std::optional<Refusal> refusal;
  const std::atomic<bool>* cancelled = nullptr;  // true: the client waits no more
  std::function<void(std::unique_ptr<Job>)> done;
};

/// The queue of a version of a model.
class Batcher {
 public:
  /// here: taken, and the caller is to call compute_here() after it has submitted what has arrived.
  enum class Submitted : unsigned char { taken, here, full, closed };

  /// Throws RuntimeError if the system makes fewer threads than `options` has instances.
  Batcher(std::unique_ptr<const Servable> model, ServedOptions options, std::shared_ptr<ModelMetrics> metrics)
      : model_(std::move(model)), options_(bounded(std::move(options))), metrics_(std::move(metrics)) {
    start_threads(
        threads_, options_.instances, [this](int) { work(); }, [this] { close(); }, "Server.add", "instances");
  }
  Batcher(const Batcher&) = delete;
  ~Batcher() { drain(); }

  const Servable& model() const { return *model_; }
  const ServedOptions& options() const { return options_; }
  ModelMetrics& metrics() const { return *metrics_; }

  /// Takes the job of a reader, a thread that has this number, if there is room; else it stays with the caller.
  Submitted submit(std::unique_ptr<Job>& job, std::size_t reader) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return Submitted::closed;
      if (waiting_ >= options_.max_queue_size) return Submitted::full;
      if (readers_.size() <= reader) readers_.resize(reader + 1);  // may throw, so before the job is counted
      ++waiting_, ++unfinished_;
      metrics_->pending.fetch_add(1, std::memory_order_relaxed);
      Queue& own = readers_[reader];
      const bool waits = !own.jobs.empty();  // for compute_here()
      if (waits || is_short(job->request.n)) {
        own.push(std::move(job));
        return waits ? Submitted::taken : Submitted::here;
      }
      queue_.push(std::move(job));
    }
    wake_.notify_one();
    return Submitted::taken;
  }
  /// Computes a batch of a reader in its thread, or leaves it to the threads of the batcher if it would take long. True
  /// if jobs wait: the caller is to call again, after it has read what has arrived meanwhile.
  bool compute_here(std::size_t reader) {
    Jobs jobs;
    bool more = false, alone = false;
    {
      const std::lock_guard lock(mutex_);
      Queue& own = readers_[reader];
      if (own.jobs.empty()) return false;  // the threads have computed them, because the batcher is to end
      if (!is_short(own.samples)) {
        own.move_to(queue_);
        wake_.notify_one();
        return false;
      }
      jobs = take(own);
      more = !own.jobs.empty();
      alone = unfinished_ > 1;
      ++computing_here_;
    }
    {
      const Alone scope(alone);
      finish(jobs, true);
    }
    {
      const std::lock_guard lock(mutex_);
      if (--computing_here_ == 0 && closed_) wake_.notify_all();
    }
    return more;
  }
  /// Takes no more jobs, and returns when all are done. Not for the threads that compute.
  void drain() {
    close();
    const std::lock_guard join(join_mutex_);
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return computing_here_ == 0; });
  }

 private:
  using Jobs = std::vector<std::unique_ptr<Job>>;

  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    wake_.notify_all();
  }

  void work() {
    for (;;) {
      Jobs jobs = next_batch();
      if (jobs.empty()) return;
      finish(jobs, false);
    }
  }
  // With several requests there is work for all processors, which a fork and join of one batch would only disturb.
  struct Alone {
    bool before = ThreadPool::alone();
    explicit Alone(bool alone) { ThreadPool::alone() = before || alone; }
    Alone(const Alone&) = delete;
    ~Alone() { ThreadPool::alone() = before; }
  };
  void finish(Jobs& jobs, bool here) {
    const auto now = Clock::now();
    for (const auto& job : jobs) ModelMetrics::add(metrics_->queue_us, ModelMetrics::microseconds(now - job->arrived));
    metrics_->pending.fetch_sub(std::int64_t(jobs.size()), std::memory_order_relaxed);
    // requests whose clients wait no more come last, and are not computed
    const auto end = std::partition(jobs.begin(), jobs.end(), [](const std::unique_ptr<Job>& job) {
      if (job->cancelled && *job->cancelled) job->refusal = Refusal{499, "the request was cancelled"};
      return !job->refusal;
    });
    compute({jobs.begin(), end}, here);
    unfinished_.fetch_sub(long(jobs.size()), std::memory_order_relaxed);
    for (auto& job : jobs) {
      const auto done = std::move(job->done);
      done(std::move(job));
    }
  }
  // Jobs that wait, with the sum of their samples.
  struct Queue {
    std::deque<std::unique_ptr<Job>> jobs;
    long samples = 0;

    void push(std::unique_ptr<Job> job) {
      samples += job->request.n;
      jobs.push_back(std::move(job));
    }
    std::unique_ptr<Job> pop() {
      std::unique_ptr<Job> job = std::move(jobs.front());
      jobs.pop_front();
      samples -= job->request.n;
      return job;
    }
    void move_to(Queue& other) {
      while (!jobs.empty()) other.push(pop());
    }
  };

  // Waits for jobs; none if there will be no more.
  Jobs next_batch() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return closed_ || !queue_.jobs.empty(); });
      if (closed_)
        for (Queue& own : readers_) own.move_to(queue_);
      if (queue_.jobs.empty()) return {};
      if (options_.max_queue_delay.count() > 0) {
        const auto until = queue_.jobs.front()->arrived + options_.max_queue_delay;
        wake_.wait_until(lock, until, [&] { return closed_ || queue_.samples >= options_.max_batch_size; });
        if (queue_.jobs.empty()) continue;  // another thread took them
      }
      return take(queue_);
    }
  }
  // The next batch of a queue. The caller has the lock.
  Jobs take(Queue& queue) {
    Jobs jobs;
    long n = 0;
    while (!queue.jobs.empty() && n + queue.jobs.front()->request.n <= options_.max_batch_size) {
      jobs.push_back(queue.pop());
      n += jobs.back()->request.n;
    }
    waiting_ -= long(jobs.size());
    return jobs;
  }

  // How long batches of about as many samples take here: from 2^k of them to one less than 2^(k + 1). 0: not known.
  std::atomic<std::int64_t>& time_of(long n) {
    return times_ns_[std::size_t(std::bit_width(std::uint64_t(n)) - 1) % times_ns_.size()];
  }
  bool is_short(long samples) {
    if (options_.max_direct_time.count() == 0 || options_.max_queue_delay.count() > 0 || samples == 0) return false;
    const std::int64_t ns = time_of(std::min(samples, options_.max_batch_size)).load(std::memory_order_relaxed);
    return ns > 0 && ns <= std::chrono::nanoseconds(options_.max_direct_time).count();
  }
  // A time that was too long fades while the threads compute, so that it is measured again now and then.
  void remember_time(long n, Clock::duration took, bool here) {
    const std::int64_t ns = std::chrono::nanoseconds(took).count(), before = time_of(n).load(std::memory_order_relaxed);
    const std::int64_t change = here ? (std::min(ns, 2 * before) - before) / 8 : -before / 64;
    time_of(n).store(before ? before + change : ns, std::memory_order_relaxed);
  }
  // One request that the model refuses, such as an index outside of a table, must not fail the others of its batch.
  void compute(std::span<std::unique_ptr<Job>> jobs, bool here) {
    if (jobs.empty()) return;
    try {
      compute_together(jobs.data(), jobs.size(), here);
    } catch (...) {
      if (jobs.size() == 1) return refuse(*jobs[0]);
      for (auto& job : jobs) {
        try {
          compute_together(&job, 1, here);
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
  void compute_together(std::unique_ptr<Job>* jobs, std::size_t count, bool here) {
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
    remember_time(n, computed - start, here);
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
  Queue queue_;                // for the threads
  std::deque<Queue> readers_;  // for compute_here()
  long waiting_ = 0;           // jobs in all queues
  std::atomic<long> unfinished_ = 0;
  long computing_here_ = 0;  // calls of compute_here()
  bool closed_ = false;
  std::array<std::atomic<std::int64_t>, 64> times_ns_{};
  std::vector<std::thread> threads_;
};

}  // namespace tenon::serving
