// flags: -O2 -march=x86-64
// A unit that has graph mode only.
#include "training.hpp"

Training train_in_graph_unit() { return train_here(InMode::graph, tenon::pinned<tenon::Mode::graph>); }
