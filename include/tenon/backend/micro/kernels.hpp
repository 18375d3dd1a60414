// The kernels of a program for a microcontroller (tenon/embedded.hpp) in place of those of the CPU: convolution,
// products, and pooling in little code; the others are those of the CPU.
#pragma once
#include <tenon/backend/cpu/attention/softmax.hpp>
#include <tenon/backend/cpu/conv/max_pool/argmax_lists.hpp>
#include <tenon/backend/cpu/elementwise/broadcast_to.hpp>
#include <tenon/backend/cpu/elementwise/cast.hpp>
#include <tenon/backend/cpu/elementwise/elementwise.hpp>
#include <tenon/backend/cpu/elementwise/fused.hpp>
#include <tenon/backend/cpu/loss/class_value.hpp>
#include <tenon/backend/cpu/loss/softmax_cross_entropy.hpp>
#include <tenon/backend/cpu/movement/concat.hpp>
#include <tenon/backend/cpu/movement/constant.hpp>
#include <tenon/backend/cpu/movement/full_like.hpp>
#include <tenon/backend/cpu/movement/slice.hpp>
#include <tenon/backend/cpu/movement/split.hpp>
#include <tenon/backend/cpu/movement/transpose.hpp>
#include <tenon/backend/cpu/norm/layer_norm.hpp>
#include <tenon/backend/cpu/optimizer/update_kernel.hpp>
#include <tenon/backend/cpu/reduce/reduce_mean_grad.hpp>
#include <tenon/backend/cpu/reduce/reduction.hpp>
#include <tenon/backend/cpu/reduce/sum_to.hpp>
#include <tenon/backend/micro/conv2d.hpp>
#include <tenon/backend/micro/matmul.hpp>
#include <tenon/backend/micro/pool.hpp>
