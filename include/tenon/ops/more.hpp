// Operators that tenon.hpp leaves out. Their kernels are in <tenon/more.hpp>.
#pragma once
#include <tenon/ops/adaptive_pool.hpp>
#include <tenon/ops/conv1d.hpp>
#include <tenon/ops/conv2d_transpose.hpp>
#include <tenon/ops/conv3d.hpp>
#include <tenon/ops/group_norm.hpp>
#include <tenon/ops/l2_normalize.hpp>
#include <tenon/ops/logsumexp.hpp>
#include <tenon/ops/lrn.hpp>
#include <tenon/ops/norm.hpp>
#include <tenon/ops/pool1d.hpp>
#include <tenon/ops/reduce_all.hpp>
#include <tenon/ops/reduce_var.hpp>
