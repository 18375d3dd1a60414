// What the tape keeps of a call for the names of its gradients.
#pragma once
#include <utility>

#include <tenon/graph/observe/observer.hpp>

namespace tenon::inline TENON_ABI::eager {

/// Where a recorded call stands.
struct RecordedAt {
  const Entry* entries = nullptr;
  int scope = 0;
  Origin origin{};
  Location location{};
};
/// Of the observed call that runs in this thread now, null for none.
inline const RecordedAt*& recording_at() {
  static constinit thread_local const RecordedAt* at = nullptr;
  return at;
}
/// What is recorded in this scope stands there.
class RecordingAt {
 public:
  explicit RecordingAt(const RecordedAt& at) : outer_(std::exchange(recording_at(), &at)) {}
  ~RecordingAt() { recording_at() = outer_; }
  RecordingAt(const RecordingAt&) = delete;
  RecordingAt& operator=(const RecordingAt&) = delete;

 private:
  const RecordedAt* outer_;
};

}  // namespace tenon::eager
