// Tenon: tensors, operators, cells, training, data sets. core/elsewhere.hpp lists functions that need another header.
#pragma once
#include <tenon/core/macros/macros_begin.hpp>
// First those files in which compile errors are reported: compilers print how each came to be included.
#include <tenon/core/tensor.hpp>
// The comments keep a formatter from changing the order.
#include <tenon/call/apply.hpp>
#include <tenon/ops/binary.hpp>
// Cells:
#include <tenon/nn/cell.hpp>
#include <tenon/nn/layer/cell_list.hpp>
#include <tenon/nn/layer/conv/conv2d.hpp>
// What trains them:
#include <tenon/nn/grad.hpp>
#include <tenon/nn/optim/learning_rate.hpp>
#include <tenon/train/model.hpp>
#include <tenon/train/optimizer_step.hpp>
// The rest, in the order of their names.
#include <tenon/core/context.hpp>
#include <tenon/core/elsewhere.hpp>
#include <tenon/core/log/log.hpp>
#include <tenon/core/random/random.hpp>
#include <tenon/core/tensor/compare.hpp>
#include <tenon/core/tensor/print.hpp>
#include <tenon/dataset/dataset.hpp>
#include <tenon/fwd.hpp>
#include <tenon/nn/nn.hpp>
#include <tenon/ops/elsewhere.hpp>
#include <tenon/ops/ops.hpp>
#include <tenon/train/callback/any_callback.hpp>
#include <tenon/train/callback/loss_monitor.hpp>
#include <tenon/train/callback/progress_bar.hpp>
#include <tenon/train/callback/time_monitor.hpp>
#include <tenon/train/plan_of.hpp>
#include <tenon/train/train_one_step_cell.hpp>
// Last of all.
#include <tenon/core/macros/macros_end.hpp>
