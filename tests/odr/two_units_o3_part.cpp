// flags: -O3 -march=x86-64 -UTENON_WITH_ZLIB
// A unit at -O3. Without zlib Tenon's namespace has another name, so the linker cannot give it the code of the units at
// -O2.
#include "training.hpp"

Training train_in_o3_unit(InMode mode) { return train_here(mode); }
