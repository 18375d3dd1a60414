// Writes files while the training continues: one after the other, in a separate thread.
#pragma once
#include <exception>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>

#include <tenon/core/abi.hpp>

namespace tenon::inline TENON_ABI::detail {

/// A piece of work at a time. For one thread.
class BackgroundWriter {
 public:
  BackgroundWriter() = default;
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;
  /// Waits for pending writes. Errors are swallowed here; call finish() first to get them.
  ~BackgroundWriter() {
    if (thread_.joinable()) thread_.join();
  }

  /// From start() to finish().
  bool busy() const { return busy_; }
  /// Begins to work; finish() comes before the next piece. Where the system makes no more threads, the work is done
  /// when this returns: a training that goes on more slowly is better than one that ends without its file.
  void start(std::function<void()> work) {
    busy_ = true;
    work_ = std::move(work);
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
      run();
    }
  }
  /// Waits for the end of the work. Throws what it threw.
  void finish() {
    if (thread_.joinable()) thread_.join();
    busy_ = false;
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void run() {
    try {
      std::exchange(work_, nullptr)();
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  std::function<void()> work_;
  std::thread thread_;
  std::exception_ptr error_;
  bool busy_ = false;
};

}  // namespace tenon::inline TENON_ABI::detail
