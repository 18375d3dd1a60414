// What an executor has for a program of another target than the CPU.
#pragma once
#include <tenon/core/config.hpp>
#if defined(TENON_TARGET)
#include <tenon/core/memory/growing.hpp>
#include <tenon/run/there/batch.hpp>
#include <tenon/run/there/launch.hpp>
#include <tenon/target/index_checks.hpp>

namespace tenon::inline TENON_ABI::detail {

struct ProgramThere {
  TargetId target{};
  TargetBytes constants;  // the program's, there
  BatchThere batch;
  Growing<Launch> launches;  // of this step
  // Of indices that the network computes: two flags, that one was out of range, and the same or an overflow of
  // gradients.
  TargetBytes flags;
  Growing<IndexLook> looks;  // of each instruction
  bool may_look_late = false, looks_late = false, flags_joined = false;
  long n = 0;  // of the last run
};

}  // namespace tenon::inline TENON_ABI::detail
#endif
