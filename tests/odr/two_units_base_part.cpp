// flags: -O2 -march=x86-64
// A unit with the same instruction set as two_units.cpp: what it has in common with it must stay common. It has both
// modes.
#include "training.hpp"

Unit unit_for_base() { return this_unit(); }
Training train_in_base_unit(InMode mode) { return train_here(mode); }
