// Kernels of the target Reference for the operators that tenon.hpp leaves out.
#pragma once
