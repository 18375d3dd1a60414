// flags: -march=x86-64
// A second unit with the same instruction set as two_units.cpp: what it has in common with it must stay common.
#include "two_units.hpp"

Unit unit_for_base() { return this_unit(); }
