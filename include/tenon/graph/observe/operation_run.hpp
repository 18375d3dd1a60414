// OperationRun: when an operation has run, for observers that want to know no more.
#pragma once
#include <cstdint>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI {

/// What an observer reads the time from: a moment, in units of its own.
using ObserverClock = std::int64_t (*)();

/// A run of an operation for one tile of samples. With several threads others have had their tiles at the same time.
struct OperationRun {
  std::int64_t begin = 0, end = 0;  // in the thread that ran it
  /// Its part of the time of the step: of runs at the same time these add up to what the step took for them.
  std::int64_t share = 0;
  long n = 1;         // samples of the tile
  int worker = 0;     // of the thread pool; 0: the thread that runs the step
  bool alone = true;  // by this thread; else all threads have shared this run
};

}  // namespace tenon
