// How control flow moves values on Reference, whose queue is a thread of the host.
#pragma once
#include <tenon/backend/cpu/movement/moves.hpp>

namespace tenon::inline TENON_ABI {

template <>
struct Moves<Reference> : Moves<Cpu> {
  static int threads() { return 1; }
};

}  // namespace tenon
