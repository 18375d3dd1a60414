// Cells that tenon.hpp leaves out. Kernels of their operators are in <tenon/more.hpp>.
#pragma once
