// Tenon, all of it but what needs a library of its own: tensors, operators, cells, training, data sets, files.
#pragma once
#include <tenon/core/context.hpp>
#include <tenon/core/log.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/dataset/dataset.hpp>
#include <tenon/fwd.hpp>
#include <tenon/io/safetensors.hpp>
#include <tenon/nn/nn.hpp>
#include <tenon/ops/ops.hpp>
#include <tenon/train/callback/any_callback.hpp>
#include <tenon/train/callback/loss_monitor.hpp>
#include <tenon/train/callback/progress_bar.hpp>
#include <tenon/train/callback/time_monitor.hpp>
#include <tenon/train/checkpoint.hpp>
#include <tenon/train/model.hpp>
