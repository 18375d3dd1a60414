// A kernel per sample: what of a step belongs to one sample, forward and backward, as one kernel call of a target, and
// the sums over the batch with the updates that read them.
#pragma once
#include <tenon/core/target.hpp>

namespace tenon::inline TENON_ABI {

/// What such a kernel can do with a call.
enum class SampleRole : signed char {
  none,    // nothing
  sample,  // compute one sample of the result from the same sample of the operands
  part,    // a sum over the batch: compute what one sample adds to it, and later add these up
  batch,   // compute an element of the result, or change one, from all samples
  update,  // change each element of operand 0, and of states, by the same element of operand 1
};

/// A target that has such kernels specialises this one:
///
///     template <class C> static constexpr SampleRole role();    of a call: SampleRole::sample only if the result
///                                                               depends on n
///     static constexpr long most_bytes;                         of the values of a sample, which wait in fast memory
///     template <class Graph> static constexpr SampleGroup group(int begin, int end);
///                                                               the kernel of a Compiled graph (lowering/program.hpp)
template <class Target>
struct PerSample;

template <class Target>
concept RunsSamples = requires { sizeof(PerSample<Target>); };

}  // namespace tenon
