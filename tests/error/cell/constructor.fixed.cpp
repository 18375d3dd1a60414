// The cure of constructor.cpp.
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  int times = 3;
  nn::Dense<8, 8> fc;
  constexpr auto construct(auto x) const { return fc(x); }
};

Net net;
