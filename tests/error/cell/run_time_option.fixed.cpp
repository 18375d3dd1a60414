// The cure of run_time_option.cpp.
#include <tenon/tenon.hpp>
using namespace tenon;

void f() {
  constexpr int k = 3;
  nn::Conv2d<1, 6, k> conv{};
}
