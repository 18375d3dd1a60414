// expects: Conv2d: ConvAlgorithm::winograd needs a kernel of 3 x 3, stride 1, dilation 1, and one group
#include <tenon/tenon.hpp>
using namespace tenon;

nn::Conv2d<4, 6, 5, nn::Conv2dConfig{.algorithm = ConvAlgorithm::winograd}> conv;
