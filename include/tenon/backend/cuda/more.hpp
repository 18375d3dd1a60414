// Kernels of the target Cuda for the operators that tenon.hpp leaves out.
#pragma once
