// All kernels of the target Cuda.
#pragma once
#include <tenon/backend/cuda/elementwise.hpp>
#include <tenon/backend/cuda/movement/convert.hpp>
#include <tenon/backend/cuda/movement/fill.hpp>
#include <tenon/backend/cuda/optimizer/update.hpp>
#include <tenon/backend/cuda/reduce/reduction.hpp>
#include <tenon/backend/cuda/reduce/sum_to.hpp>
