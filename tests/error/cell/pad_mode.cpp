// expects: Conv2d got an unknown pad_mode: legal are PadMode::same, PadMode::valid, PadMode::pad
#include <tenon/tenon.hpp>
using namespace tenon;

nn::Conv2d<1, 6, 5, nn::Conv2dConfig{.pad_mode = PadMode(7)}> conv;
