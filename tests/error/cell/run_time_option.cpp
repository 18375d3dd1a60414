// expects: k
#include <tenon/tenon.hpp>
using namespace tenon;

void f(int k) { nn::Conv2d<1, 6, k> conv; }
