// The number of this process among those of a distributed program.
#pragma once
#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::detail {

struct ProcessRank {
  int rank = 0, ranks = 1;
};
/// The only one unless dist::init says otherwise: what is written once for all processes is written by rank 0.
inline constinit ProcessRank process_rank{};
/// That of a thread which is a rank of its own (dist::run_ranks), or null.
inline constinit thread_local const ProcessRank* thread_rank = nullptr;
inline ProcessRank rank_here() { return thread_rank ? *thread_rank : process_rank; }

}  // namespace tenon::detail
