// Cells that tenon.hpp leaves out. Kernels of their operators are in <tenon/more.hpp>.
#pragma once
#include <tenon/nn/loss/multi_loss.hpp>
#include <tenon/nn/metric/for_output.hpp>
