// Kernels of the target Cpu for the operators that tenon.hpp leaves out.
#pragma once
