// expects: a cell has one base class, tenon::nn::Cell<itself>: make the second base a member
// lines: g++ 8, clang 12, nvcc 8
#include <tenon/tenon.hpp>
using namespace tenon;

struct Head {
  nn::Dense<8, 2> fc;
};
struct Net : nn::Cell<Net>, Head {
  constexpr auto construct(auto x) const { return fc(x); }
};

Net net;
