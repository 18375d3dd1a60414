// The cure of pad_mode.cpp.
#include <tenon/tenon.hpp>
using namespace tenon;

nn::Conv2d<1, 6, 5, nn::Conv2dConfig{.pad_mode = PadMode::valid}> conv;
