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
/// and, on the CPU, where much of the time of a small batch goes into the order of an operand that is a parameter, what
/// predictions then keep of it between calls (kernel/kept.hpp), with the same bits:
///
///     static constexpr int kept_operand = 1;
///     template <class Call> static constexpr bool keeps_operand();       for which calls
///     template <class Call> static constexpr long kept_bytes(long n);    0: nothing for this batch
///     template <class Call> static void keep(const void* operand, long n, void* to);
///     template <class Call> static constexpr KernelWork kept_work(long n);
///                                                                        its workspace is no larger than work's
///     template <class Call> static void run_kept(const Arguments&, long begin, long end);
///                                                                        the operand is what keep() made of it
///
/// Without a specialisation there is no kernel, which is one sentence where it is asked for.
template <class Target, class Op>
struct Kernel;

/// On the CPU an operator may have these functions itself: the form in one file, for operators of users.
template <class Op>
struct Kernel<Cpu, Op> : Op {};

}  // namespace tenon
