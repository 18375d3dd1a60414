// flags: -march=haswell
// The unit with AVX2.
#include "two_units.hpp"

Unit unit_for_avx2() { return this_unit(); }
