// Tenon on a microcontroller: the cells, losses, and optimizers of tenon.hpp, a training step and a prediction without
// heap, exceptions, RTTI, iostream, and threads. docs/embedded.md
//
// In a program without exceptions (-fno-exceptions) this is the one header; it decides itself what belongs to it. In
// any other program it works beside tenon.hpp, with the CPU's kernels and the same bits.
#pragma once
#if !defined(__cpp_exceptions) && !defined(TENON_EMBEDDED)
#define TENON_EMBEDDED 1
#endif
#if defined(__arm__) && !(defined(__ARM_FEATURE_FMA) && defined(__ARM_FP) && (__ARM_FP & 4))
// Without one its library rounds twice, and weights would differ from those of other machines.
#include <Tenon needs a fused multiply-add of float32 (Cortex-M4F, M7, M33; -mfpu=fpv4-sp-d16 -mfloat-abi=hard)>
#endif
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)
// With g++ 12.2 losses of tests/embedded/lenet.sh differed.
#include <Tenon is not right with float vectors of MVE (Cortex-M55, M85): compile with -mcpu=cortex-m55+nomve.fp>
#endif
#include <tenon/core/macros/macros_begin.hpp>
// The comment keeps a formatter from changing the order.
#include <tenon/embedded/trainer.hpp>
#include <tenon/nn/nn.hpp>
#include <tenon/ops/ops.hpp>
// Last of all.
#include <tenon/core/macros/macros_end.hpp>
