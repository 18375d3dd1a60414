// A target, where kernels run, is a type; a specialisation of Kernel defines how it computes an operator.
#pragma once
#include <tenon/core/nchw16n.hpp>
#include <tenon/core/target.hpp>

namespace tenon::inline TENON_ABI {

/// What a kernel makes of NCHW16n images (core/nchw16n.hpp): it takes none; it takes them if an operand is NCHW16n; it
/// wants NCHW16n; or it takes its first operand in NCHW16n if that is, and all others and its result row-major.
enum class Nchw16n : signed char { never, follows, wants, first };

/// What the kernel of an operator can do on its target besides computing the result: passes ask this, and use nothing
/// that a kernel does not state.
struct KernelFacts {
  bool epilogue = false;  // applies the element-wise steps of Call::Joined to each block that it has just computed
  int channel_axis = -1;  // of the result: operands of an epilogue may have one value per channel
  bool in_place = false;  // can write the result over an operand of the same type
  bool cheap = false;     // computes again in about the time that it takes to read its operand and to write its result
  bool together = false;  // an effect: several calls take little longer than one, so they wait for each other
  bool half_gradient = false;  // operand 1 is a gradient, which may come in 16 bits instead of being widened before
  Nchw16n nchw16n = Nchw16n::never;
  // of images: sums over the batch, one block of 16 samples after the other, as backend/cpu/nchw16n/layout.hpp says
  bool tile_sums = false;
  bool tile_chains = false;  // and ends a chain of them after every 8
};

/// How `Target` computes `Op`, by the functions of the same name in backend/<target>/:
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
///     template <class Call> static constexpr int row_axes();             on the CPU, where rows do not depend on each
///                                                                        other: leading axes that can be one axis, 0
///                                                                        for none. Calls that differ in the number of
///                                                                        rows then share run, whose Call has one axis
///     static constexpr bool linear_work = true;                          the number of items is a multiple of n plus a
///                                                                        constant; the rest is constant
///     static constexpr KernelFacts facts{.in_place = true};              what passes may use
///     static constexpr bool meets_ranks = true;                          not on the CPU: run waits for other ranks, so
///                                                                        it is called by itself, in the graph's order
///     using Chain = ops::Fused;                                          the operator of a chain of element-wise ones
///                                                                        with it, on this target
///     using WithUpdate = ops::ProductUpdate;                             the operator of it and of the update that
///                                                                        reads its result
///     using Listed = ops::MaxPoolList;                                   the operator in its place where the gradient
///                                                                        of max pooling is a list; see below
///
/// A kernel whose facts.nchw16n is not Nchw16n::never has the same functions for NCHW16n images:
///
///     template <class Call> static constexpr KernelWork nchw16n_work(long n);
///     template <class Call> static void run_nchw16n(const Arguments&, long begin, long end);
///     static constexpr bool fits_nchw16n(const TensorType& result, const TensorType* operand, int operands);
///                                                                        for which types; by default where all values
///                                                                        that depend on n are images
///
/// If the gradient of max pooling can be a list (graph/pass/list_maxima.hpp), the kernel of the operator `Listed` has
///
///     static constexpr ListForm list_form(const TensorType& result, const TensorType* operand, const Attributes&,
///                                         int at);
///                                                                        the form in which it makes the list, or
///                                                                        reads it as operand `at` of the operator
///                                                                        whose place it takes
///
/// On the CPU, if reordering a parameter takes much of the time of a small batch, predictions can keep the reordered
/// copy between calls (lowering/kept.hpp), with bit-identical results:
///
///     static constexpr int kept_operand = 1;
///     template <class Call> static constexpr bool keeps_operand();       for which calls
///     template <class Call> static constexpr long kept_bytes(long n);    0: no copy for this batch
///     template <class Call> static void keep(const void* operand, long n, void* to);
///     static constexpr bool kept_for_all = true;                         optional: batches for which as many bytes are
///                                                                        kept need the same ones
///     template <class Call> static constexpr KernelWork kept_work(long n);
///                                                                        its workspace is no larger than work's
///     template <class Call> static void run_kept(const Arguments&, long begin, long end);
///                                                                        the operand is the copy that keep() wrote
///
/// A target with a `Parent` uses the parent's kernel of each operator for which it has none; queue and memory of both
/// are the same. Without a specialisation the operator has no kernel; its use is reported in one sentence.
template <class Target, class Op>
struct Kernel;

/// On the CPU an operator may itself have these functions: a form in one file, for custom operators.
template <class Op>
struct Kernel<Cpu, Op> : Op {};

namespace detail {
struct OtherRun {
  void run(), kernel();
};
template <class Op>
struct BesideOther : Op, OtherRun {};
/// True if an operator has a function `run` or `kernel`, whatever its parameters: the name is ambiguous then.
template <class Op>
concept HasRun = !requires { &BesideOther<Op>::run; } || !requires { &BesideOther<Op>::kernel; };
/// False for an operator without a kernel on the CPU: Kernel<Cpu, Op> is then the operator itself, which cannot run.
template <class Op>
concept RunsOnCpu = Op::view || !std::is_base_of_v<Op, Kernel<Cpu, Op>> || HasRun<Op>;

template <class Target, class Op>
struct NoKernel;
template <class Target, class Op>
constexpr auto find_kernel() {
  if constexpr (requires { sizeof(Kernel<Target, Op>); }) return std::type_identity<Kernel<Target, Op>>();
  else if constexpr (requires { typename Target::Parent; }) return find_kernel<typename Target::Parent, Op>();
  else return std::type_identity<NoKernel<Target, Op>>();
}
}  // namespace detail
/// The kernel of an operator on a target, its own or a parent's; an incomplete type where there is none.
template <class Target, class Op>
using FoundKernel = typename decltype(detail::find_kernel<Target, Op>())::type;

/// The facts of a kernel, which are all false if there is none.
template <class Kernel>
constexpr KernelFacts kernel_facts() {
  if constexpr (requires { requires std::is_same_v<decltype(Kernel::facts), const KernelFacts>; }) return Kernel::facts;
  else return {};
}

}  // namespace tenon
