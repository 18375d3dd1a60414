// A call of gRPC: reads its message, waits for the batch that computes it, and sends the result.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>
#include <tenon/serve/grpc/message.hpp>
#include <tenon/serve/hub.hpp>

namespace tenon::inline TENON_ABI::serving {

/// The status of gRPC for one of HTTP.
inline ::grpc::StatusCode grpc_status(int status) {
  switch (status) {
    case 400: return ::grpc::StatusCode::INVALID_ARGUMENT;
    case 404: return ::grpc::StatusCode::NOT_FOUND;
    case 429: return ::grpc::StatusCode::RESOURCE_EXHAUSTED;
    case 499: return ::grpc::StatusCode::CANCELLED;
    case 501: return ::grpc::StatusCode(12);  // no such method
    case 503: return ::grpc::StatusCode::UNAVAILABLE;
    default: return ::grpc::StatusCode::INTERNAL;
  }
}

class GrpcCall;
/// The calls of a server at this moment. A thread cancels those whose client takes too long.
class GrpcCalls {
 public:
  GrpcCalls(std::shared_ptr<Hub> hub, std::size_t most) : hub_(std::move(hub)), most_(most) {}

  Hub& hub() const { return *hub_; }
  /// False if there are too many; it is counted all the same.
  bool add(GrpcCall* call) {
    const std::lock_guard lock(mutex_);
    calls_.insert(call);
    return calls_.size() <= most_;
  }
  void remove(GrpcCall* call) {
    const std::lock_guard lock(mutex_);
    calls_.erase(call);
  }

 private:
  std::jthread start() {
    try {
      return std::jthread([this](const std::stop_token& end) { watch(end); });
    } catch (const std::exception&) {
      throw_error<RuntimeError>("GrpcServer needs a thread, and the system makes no more: raise its limits (ulimit -u, "
                                "pids.max), or use fewer elsewhere (instances and threads of the Server).");
    }
  }
  inline void watch(const std::stop_token& end);
  void cancel_late();

  std::shared_ptr<Hub> hub_;
  std::size_t most_;
  std::recursive_mutex mutex_;  // a call that is cancelled may end, and remove itself, at once
  std::unordered_set<GrpcCall*> calls_;
  std::condition_variable_any wake_;
  std::jthread thread_ = start();
};

/// Ends with OnDone(), which gRPC calls once, after all others and after a Finish.
class GrpcCall final : public ::grpc::ServerGenericBidiReactor {
 public:
  GrpcCall(GrpcCalls& calls, ::grpc::GenericCallbackServerContext& context)
      : calls_(calls), context_(context), method_(find_method(context.method())) {
    const bool fits = calls_.add(this);
    expires_after(calls_.hub().options.read_time);
    if (method_ == Method::nothing) refuse({501, "no such method"});
    else if (!fits) refuse({429, "too many calls, try again later"});
    else StartRead(&message_);
  }
  GrpcCall(const GrpcCall&) = delete;

  void OnReadDone(bool ok) override {
    until_.exchange(never);  // reads, too: what the other threads of this call did comes before, see ~GrpcCall
    if (!ok) return refuse({400, "a request has one message"});
    try {
      answer();
    } catch (const Refusal& refusal) {
      refuse(refusal);
    } catch (const std::bad_alloc&) {
      refuse({429, "out of memory, try again later"});
    }
  }
  void OnCancel() override { cancelled_ = true; }
  void OnDone() override { delete this; }

  bool is_late(Clock::time_point now) const { return until_.load() <= now; }
  void cancel() { context_.TryCancel(); }

 private:
  enum class Method : unsigned char { nothing, live, ready, server, model, model_ready, infer };
  static constexpr Clock::time_point never = Clock::time_point::max();

  // gRPC calls one after the other, in threads of its own. The thread sanitizer, which does not see into it, knows this
  // from until_, which each writes last.
  ~GrpcCall() override {
    static_cast<void>(until_.load());
    calls_.hub().give_back(held_bytes_);
    calls_.remove(this);
  }
  static Method find_method(std::string_view path) {
    constexpr std::string_view service = "/inference.GRPCInferenceService/";
    if (!path.starts_with(service)) return Method::nothing;
    path.remove_prefix(service.size());
    constexpr std::pair<std::string_view, Method> methods[]{
        {"ServerLive", Method::live},     {"ServerReady", Method::ready},      {"ServerMetadata", Method::server},
        {"ModelMetadata", Method::model}, {"ModelReady", Method::model_ready}, {"ModelInfer", Method::infer}};
    for (const auto& [name, method] : methods)
      if (name == path) return method;
    return Method::nothing;
  }
  void expires_after(std::chrono::milliseconds time) { until_ = Clock::now() + time; }
  void refuse(const Refusal& refusal) {
    expires_after(calls_.hub().options.write_time);
    Finish(::grpc::Status(grpc_status(refusal.status), refusal.reason));
  }
  // The call may end before this returns.
  void send(const std::string& bytes) {
    const ::grpc::Slice slice(bytes);
    reply_ = ::grpc::ByteBuffer(&slice, 1);
    expires_after(calls_.hub().options.write_time);
    StartWriteAndFinish(&reply_, ::grpc::WriteOptions(), ::grpc::Status());
  }

  void answer() {
    ::grpc::Slice slice;
    if (!message_.TrySingleSlice(&slice).ok() && !message_.DumpToSingleSlice(&slice).ok())
      throw Refusal{400, "the message cannot be read"};
    message_.Clear();
    const std::string_view message(reinterpret_cast<const char*>(slice.begin()), slice.size());
    Hub& hub = calls_.hub();
    switch (method_) {
      case Method::live: return send(write_flag_message(true));
      case Method::ready: return send(write_flag_message(!hub.stopping));
      case Method::server: return send(write_server_message());
      case Method::infer: return infer(message);
      default: break;
    }
    const ModelKey key = read_model_key(message);
    const auto version = hub.registry.find(key.name, key.version);
    if (method_ == Method::model_ready) return send(write_flag_message(version && !hub.stopping));
    if (!version) throw Refusal{404, "no such model or version"};
    send(
        write_model_message(version->name, hub.registry.versions(version->name), version->batcher.model().signature()));
  }
  void infer(std::string_view message) {
    Hub& hub = calls_.hub();
    if (!hub.take(message.size())) throw Refusal{429, "too many bytes in requests, try again later"};
    held_bytes_ = message.size();
    const ModelKey key = read_model_key(message);
    // A version that was exchanged a moment ago takes no more: then the next look finds its successor.
    for (;;) {
      const std::shared_ptr<Version> version = hub.registry.find(key.name, key.version);
      if (!version) throw Refusal{404, "no such model or version"};
      if (hub.stopping) throw Refusal{503, "the server stops"};
      version_ = version;
      const auto reader = std::size_t(hub.options.threads);  // a number that no thread of HTTP has
      const Batcher::Submitted submitted = submit(message, reader);
      if (submitted == Batcher::Submitted::taken) return;
      if (submitted == Batcher::Submitted::closed) continue;
      if (submitted == Batcher::Submitted::full) {
        ModelMetrics::add(version->batcher.metrics().failure, 1);
        throw Refusal{429, "too many requests wait, try again later"};
      }
      while (version->batcher.compute_here(reader)) {
      }
      return;
    }
  }
  Batcher::Submitted submit(std::string_view message, std::size_t reader) {
    Batcher& batcher = version_->batcher;
    auto job = std::make_unique<Job>();
    try {
      job->request = read_infer_message(message, batcher.model().signature(), batcher.options().max_batch_size);
    } catch (...) {
      ModelMetrics::add(batcher.metrics().failure, 1);
      throw;
    }
    job->cancelled = &cancelled_;
    job->done = [this](std::unique_ptr<Job> done) { send_result(*done); };
    return batcher.submit(job, reader);
  }
  void send_result(Job& job) {
    ModelMetrics& metrics = version_->batcher.metrics();
    std::string message;
    try {
      if (!job.refusal)
        message = write_infer_message(version_->name, version_->number, version_->batcher.model().signature(),
                                      job.request, job.outputs);
    } catch (const std::bad_alloc&) {
      job.refusal = Refusal{429, "out of memory, try again later"};
    }
    if (job.refusal) {
      ModelMetrics::add(metrics.failure, 1);
      return refuse(*job.refusal);
    }
    metrics.add_request(Clock::now() - job.arrived);
    send(message);
  }

  GrpcCalls& calls_;
  ::grpc::GenericCallbackServerContext& context_;
  Method method_;
  ::grpc::ByteBuffer message_, reply_;
  std::shared_ptr<Version> version_;
  std::size_t held_bytes_ = 0;
  std::atomic<bool> cancelled_ = false;
  std::atomic<Clock::time_point> until_ = never;
};

inline void GrpcCalls::watch(const std::stop_token& end) {
  const ServeOptions& o = hub_->options;
  const auto step = std::clamp<std::chrono::milliseconds>(std::min(o.read_time, o.write_time) / 8,
                                                          std::chrono::milliseconds(1), std::chrono::seconds(1));
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, end, step, [&] { return end.stop_requested(); })) {
    lock.unlock();
    cancel_late();
    lock.lock();
  }
}
// What one ends of another is not touched: it is looked for again.
inline void GrpcCalls::cancel_late() {
  const auto now = Clock::now();
  std::vector<GrpcCall*> late;
  const std::lock_guard lock(mutex_);
  for (GrpcCall* call : calls_)
    if (call->is_late(now)) late.push_back(call);
  for (GrpcCall* call : late)
    if (calls_.contains(call)) call->cancel();
}

}  // namespace tenon::serving
