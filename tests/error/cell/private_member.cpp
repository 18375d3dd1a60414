// expects: a cell has only public members, no constructor and no virtual function: give members their values by
// initialisers, options as template arguments
// lines: g++ 8, clang 12, nvcc 8
#include <tenon/tenon.hpp>
using namespace tenon;

class Net : public nn::Cell<Net> {
 public:
  constexpr auto construct(auto x) const { return fc_(x); }

 private:
  nn::Dense<8, 2> fc_;
};

Net net;
