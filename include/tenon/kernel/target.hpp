// Where kernels run is a type, and how an operator is computed there a specialisation of Kernel.
#pragma once
#include <tenon/core/target.hpp>

namespace tenon::inline TENON_ABI {

/// How `Op` is computed on `Target`: the functions of that name in kernel/<target>/. They are
///
///     template <class Call> static constexpr long items(long n);         units of work that threads may share;
///                                                                        optional: cost(n) of one, workspace(n) in
///                                                                        bytes, or all three: KernelWork work(long n)
///     template <class Call> static void run(const Arguments&, long begin, long end);
///                                                                        computes items begin .. end - 1
///
/// and, if there is a reason to,
///
///     template <class Call> static constexpr auto kernel();              the address of what run does, for calls of
///                                                                        several shapes that do the same
///     static constexpr bool linear_work = true;                          items are a multiple of n and a constant, the
///                                                                        rest is constant
///
/// and, for an operator whose `nchw16n` is not Nchw16n::never, the same for NCHW16n images:
///
///     template <class Call> static constexpr KernelWork nchw16n_work(long n);
///     template <class Call> static void run_nchw16n(const Arguments&, long begin, long end);
///
/// Without a specialisation there is no kernel, which is one sentence where somebody asks for it.
template <class Target, class Op>
struct Kernel;

/// On the CPU an operator may have these functions itself: the form in one file, for operators of users.
template <class Op>
struct Kernel<Cpu, Op> : Op {};

}  // namespace tenon
