// All kernels of the target Cuda.
#pragma once
#include <tenon/backend/cuda/attention/softmax.hpp>
#include <tenon/backend/cuda/conv/conv2d.hpp>
#include <tenon/backend/cuda/conv/weight_gradient.hpp>
#include <tenon/backend/cuda/elementwise.hpp>
#include <tenon/backend/cuda/gemm/matmul.hpp>
#include <tenon/backend/cuda/loss/softmax_cross_entropy.hpp>
#include <tenon/backend/cuda/movement/convert.hpp>
#include <tenon/backend/cuda/movement/copy.hpp>
#include <tenon/backend/cuda/movement/fill.hpp>
#include <tenon/backend/cuda/movement/gather.hpp>
#include <tenon/backend/cuda/optimizer/update.hpp>
#include <tenon/backend/cuda/pool/pool2d.hpp>
#include <tenon/backend/cuda/reduce/argmax.hpp>
#include <tenon/backend/cuda/reduce/reduction.hpp>
#include <tenon/backend/cuda/reduce/sum_of_squares.hpp>
#include <tenon/backend/cuda/reduce/sum_to.hpp>
