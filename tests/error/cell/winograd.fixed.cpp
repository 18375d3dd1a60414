// The cure of winograd.cpp.
#include <tenon/tenon.hpp>
using namespace tenon;

nn::Conv2d<4, 6, 3, nn::Conv2dConfig{.algorithm = ConvAlgorithm::winograd}> conv;
