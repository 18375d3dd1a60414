// Counting has no kernels of its own.
#pragma once
#include <tenon/kernel/reference/kernels.hpp>
