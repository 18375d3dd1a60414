// Operators that tenon.hpp leaves out. Their kernels are in <tenon/more.hpp>.
#pragma once
