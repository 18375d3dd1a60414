// A function without gradients, run on the CPU and on the second target of the program: equal bits.
#pragma once
#include <doctest/doctest.h>

#include <tenon/core/context.hpp>
#include <tenon/core/float/denormals.hpp>

#include "both_modes.hpp"

namespace support {

/// Runs f(x...) operator by operator on both targets and compares the results, of which NaN equals NaN.
template <class F, class... X>
void same_there(const F& f, const X&... x) {
  const tenon::FlushDenormals flush;
  const auto here = f(x...);
  const tenon::ContextScope scope({.device_target = tenon::OtherTarget::name});
  const auto there = f(x...);
  const bool same = detail::SameThere()(here, there);
  CHECK(same);
  if (same) return;
  for (long i = 0, shown = 0; i < here.count() && shown < 5; ++i)
    if (std::memcmp(here.data() + i, there.data() + i, sizeof *here.data()) != 0)
      MESSAGE("element ", i, ": ", double(here.data()[i]), " here, ", double(there.data()[i]), " there, ", ++shown);
}

}  // namespace support
