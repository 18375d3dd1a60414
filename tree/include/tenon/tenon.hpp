// All.
#pragma once
#include <vector>
#include <tenon/graph/b.hpp>
