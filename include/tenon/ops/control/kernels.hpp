// The kernels of control flow, as declarations: compilers look for them where an operator is first called, which is in
// the headers of the operators themselves. One code serves all targets, by Moves<Target>.
#pragma once
#include <tenon/graph/ir/kernel.hpp>
#include <tenon/target/moves.hpp>

namespace tenon::inline TENON_ABI {

struct Cuda;
struct Reference;

namespace ops {
struct Pack;
struct Unpack;
struct UnpackGrad;
struct Turn;
struct TurnGrad;
struct PutTurn;
struct Loop;
struct LoopGrad;
struct Branch;
struct BranchGrad;
}  // namespace ops

namespace kernel {
/// Base of kernels that move bytes in one call.
struct MovesBytes {
  template <class Call>
  static constexpr long items(long) {
    return 1;
  }
  template <class Call>
  static constexpr long cost(long n) {
    return Call::result.count(n) / 16 + 1;
  }
};
/// Base of kernels that run bodies.
struct RunsBodies {
  template <class Call>
  static constexpr long items(long) {
    return 1;
  }
};
template <class Target>
struct PackKernel : MovesBytes {
  template <class Call>
  static void run(const Arguments& a, long, long);
};
template <class Target>
struct UnpackKernel : MovesBytes {
  template <class Call>
  static void run(const Arguments& a, long, long);
};
template <class Target>
struct UnpackGradKernel : MovesBytes {
  template <class Call>
  static void run(const Arguments& a, long, long);
};
template <class Target>
struct TurnKernel : MovesBytes {
  template <class Call>
  static void run(const Arguments& a, long, long);
};
template <class Target>
struct TurnGradKernel : MovesBytes {
  template <class Call>
  static void run(const Arguments& a, long, long);
};
template <class Target>
struct PutTurnKernel : MovesBytes {
  template <class Call>
  static void run(const Arguments& a, long, long);
};
template <class Target>
struct LoopKernel : RunsBodies {
  template <class Call>
  static constexpr long workspace(long n);
  template <class Call>
  static void run(const Arguments& a, long, long);
};
template <class Target>
struct LoopGradKernel : RunsBodies {
  template <class Call>
  static constexpr long workspace(long n);
  template <class Call>
  static void run(const Arguments& a, long, long);
};
template <class Target>
struct BranchKernel : RunsBodies {
  template <class Call>
  static constexpr long workspace(long n);
  template <class Call>
  static void run(const Arguments& a, long, long);
};
template <class Target>
struct BranchGradKernel : RunsBodies {
  template <class Call>
  static constexpr long workspace(long n);
  template <class Call>
  static void run(const Arguments& a, long, long);
};
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::Pack> : kernel::PackKernel<Cpu> {};
template <>
struct Kernel<Reference, ops::Pack> : kernel::PackKernel<Reference> {};
template <>
struct Kernel<Cuda, ops::Pack> : kernel::PackKernel<Cuda> {};
template <>
struct Kernel<Cpu, ops::Unpack> : kernel::UnpackKernel<Cpu> {};
template <>
struct Kernel<Reference, ops::Unpack> : kernel::UnpackKernel<Reference> {};
template <>
struct Kernel<Cuda, ops::Unpack> : kernel::UnpackKernel<Cuda> {};
template <>
struct Kernel<Cpu, ops::UnpackGrad> : kernel::UnpackGradKernel<Cpu> {};
template <>
struct Kernel<Reference, ops::UnpackGrad> : kernel::UnpackGradKernel<Reference> {};
template <>
struct Kernel<Cuda, ops::UnpackGrad> : kernel::UnpackGradKernel<Cuda> {};
template <>
struct Kernel<Cpu, ops::Turn> : kernel::TurnKernel<Cpu> {};
template <>
struct Kernel<Reference, ops::Turn> : kernel::TurnKernel<Reference> {};
template <>
struct Kernel<Cuda, ops::Turn> : kernel::TurnKernel<Cuda> {};
template <>
struct Kernel<Cpu, ops::TurnGrad> : kernel::TurnGradKernel<Cpu> {};
template <>
struct Kernel<Reference, ops::TurnGrad> : kernel::TurnGradKernel<Reference> {};
template <>
struct Kernel<Cuda, ops::TurnGrad> : kernel::TurnGradKernel<Cuda> {};
template <>
struct Kernel<Cpu, ops::PutTurn> : kernel::PutTurnKernel<Cpu> {};
template <>
struct Kernel<Reference, ops::PutTurn> : kernel::PutTurnKernel<Reference> {};
template <>
struct Kernel<Cuda, ops::PutTurn> : kernel::PutTurnKernel<Cuda> {};
template <>
struct Kernel<Cpu, ops::Loop> : kernel::LoopKernel<Cpu> {};
template <>
struct Kernel<Reference, ops::Loop> : kernel::LoopKernel<Reference> {};
template <>
struct Kernel<Cuda, ops::Loop> : kernel::LoopKernel<Cuda> {};
template <>
struct Kernel<Cpu, ops::LoopGrad> : kernel::LoopGradKernel<Cpu> {};
template <>
struct Kernel<Reference, ops::LoopGrad> : kernel::LoopGradKernel<Reference> {};
template <>
struct Kernel<Cuda, ops::LoopGrad> : kernel::LoopGradKernel<Cuda> {};
template <>
struct Kernel<Cpu, ops::Branch> : kernel::BranchKernel<Cpu> {};
template <>
struct Kernel<Reference, ops::Branch> : kernel::BranchKernel<Reference> {};
template <>
struct Kernel<Cuda, ops::Branch> : kernel::BranchKernel<Cuda> {};
template <>
struct Kernel<Cpu, ops::BranchGrad> : kernel::BranchGradKernel<Cpu> {};
template <>
struct Kernel<Reference, ops::BranchGrad> : kernel::BranchGradKernel<Reference> {};
template <>
struct Kernel<Cuda, ops::BranchGrad> : kernel::BranchGradKernel<Cuda> {};

}  // namespace tenon
