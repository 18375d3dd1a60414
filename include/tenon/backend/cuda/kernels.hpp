// All kernels of the target Cuda.
#pragma once
#include <tenon/backend/cuda/elementwise.hpp>
