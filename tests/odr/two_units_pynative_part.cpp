// flags: -O2 -march=x86-64
// A unit that has PyNative mode only.
#include "training.hpp"

Training train_in_pynative_unit() { return train_here(InMode::pynative, tenon::pinned<tenon::Mode::pynative>); }
