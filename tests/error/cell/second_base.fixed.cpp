// The cure of second_base.cpp.
#include <tenon/tenon.hpp>
using namespace tenon;

struct Head {
  nn::Dense<8, 2> fc;
};
struct Net : nn::Cell<Net> {
  nn::Dense<8, 2> fc;
  constexpr auto construct(auto x) const { return fc(x); }
};

Net net;
