// Incomplete has no kernels of its own.
#pragma once
#include <tenon/backend/reference/kernels.hpp>
