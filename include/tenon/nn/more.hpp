// Cells that tenon.hpp leaves out. Kernels of their operators are in <tenon/more.hpp>.
#pragma once
#include <tenon/nn/layer/adaptive_pool.hpp>
#include <tenon/nn/layer/batch_norm3d.hpp>
#include <tenon/nn/layer/bi_dense.hpp>
#include <tenon/nn/layer/conv1d.hpp>
#include <tenon/nn/layer/conv2d_transpose.hpp>
#include <tenon/nn/layer/conv3d.hpp>
#include <tenon/nn/layer/group_norm.hpp>
#include <tenon/nn/layer/lrn.hpp>
#include <tenon/nn/layer/more_activations.hpp>
#include <tenon/nn/layer/pool1d.hpp>
#include <tenon/nn/layer/rnn.hpp>
#include <tenon/nn/layer/time_distributed.hpp>
#include <tenon/nn/layer/transformer.hpp>
#include <tenon/nn/loss/multi_loss.hpp>
#include <tenon/nn/metric/for_output.hpp>
