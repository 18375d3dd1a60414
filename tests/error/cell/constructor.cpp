// expects: a cell has only public members, no constructor and no virtual function: give members their values by
// initialisers, options as template arguments
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  int times;
  nn::Dense<8, 8> fc;
  constexpr Net(int n) : times(n) {}
  constexpr auto construct(auto x) const { return fc(x); }
};

Net net(3);
