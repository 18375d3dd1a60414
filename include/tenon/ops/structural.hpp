// The operators that derivatives insert and passes look for: code that compiles a graph needs them complete.
#pragma once
#include <tenon/ops/add.hpp>
#include <tenon/ops/broadcast_to.hpp>
#include <tenon/ops/cast.hpp>
#include <tenon/ops/constant.hpp>
#include <tenon/ops/fused.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/nchw16n.hpp>
#include <tenon/ops/reshape.hpp>
#include <tenon/ops/sum_to.hpp>
