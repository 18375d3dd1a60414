// Writes files while the training continues: one after the other, in a separate thread.
#pragma once
#include <exception>
#include <functional>
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

  bool busy() const { return thread_.joinable(); }
  /// Begins to work; finish() comes before the next piece.
  void start(std::function<void()> work) {
    thread_ = std::thread([this, work = std::move(work)] {
      try {
        work();
      } catch (...) {
        error_ = std::current_exception();
      }
    });
  }
  /// Waits for the end of the work. Throws what it threw.
  void finish() {
    if (thread_.joinable()) thread_.join();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  std::thread thread_;
  std::exception_ptr error_;
};

}  // namespace tenon::inline TENON_ABI::detail
