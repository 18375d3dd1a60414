// A target, where kernels run, is a type; a specialisation of Kernel defines how it computes an operator.
#pragma once
#include <tenon/core/target.hpp>

namespace tenon::inline TENON_ABI {

/// How `Target` computes `Op`, by the functions of the same name in kernel/<target>/:
///
///     template <class Call> static constexpr long items(long n);         units of work that threads may share;
///                                                                        optional: cost(n) of one unit, workspace(n)
///                                                                        in bytes, or instead of all three
///                                                                        KernelWork work(long n)
///     template <class Call> static void run(const Arguments&, long begin, long end);
///                                                                        computes items begin .. end - 1
///
/// Optional:
///
///     template <class Call> static constexpr auto kernel();              the address of the code of run, for calls of
///                                                                        several shapes with the same code
///     static constexpr bool linear_work = true;                          the number of items is a multiple of n plus a
///                                                                        constant; the rest is constant
///
/// An operator whose `nchw16n` is not Nchw16n::never has the same functions for NCHW16n images:
///
///     template <class Call> static constexpr KernelWork nchw16n_work(long n);
///     template <class Call> static void run_nchw16n(const Arguments&, long begin, long end);
///
/// On the CPU, if reordering a parameter takes much of the time of a small batch, predictions can keep the reordered
/// copy between calls (kernel/kept.hpp), with bit-identical results:
///
///     static constexpr int kept_operand = 1;
///     template <class Call> static constexpr bool keeps_operand();       for which calls
///     template <class Call> static constexpr long kept_bytes(long n);    0: no copy for this batch
///     template <class Call> static void keep(const void* operand, long n, void* to);
///     template <class Call> static constexpr KernelWork kept_work(long n);
///                                                                        its workspace is no larger than work's
///     template <class Call> static void run_kept(const Arguments&, long begin, long end);
///                                                                        the operand is the copy that keep() wrote
///
/// Without a specialisation the operator has no kernel; its use is reported in one sentence.
template <class Target, class Op>
struct Kernel;

/// On the CPU an operator may itself have these functions: a form in one file, for custom operators.
template <class Op>
struct Kernel<Cpu, Op> : Op {};

}  // namespace tenon
