// What the tape keeps of a call for the names of its gradients.
#pragma once
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

}  // namespace tenon::eager
