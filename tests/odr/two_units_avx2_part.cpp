// flags: -O2 -march=haswell
// The unit with AVX2, and both modes.
#include "training.hpp"

Unit unit_for_avx2() { return this_unit(); }
Training train_in_avx2_unit(InMode mode) { return train_here(mode); }
