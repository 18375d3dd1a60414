// ONNX's operators as functions of Tenon: each takes the node as a template argument (settings.hpp) and returns a
// tensor, or a tuple of them.
#pragma once
#include <cstdint>

#include <tenon/more.hpp>

#include "operators/attention.hpp"
#include "operators/elementwise.hpp"
#include "operators/loss.hpp"
#include "operators/movement.hpp"
#include "operators/norm.hpp"
#include "operators/product.hpp"
#include "operators/recurrent.hpp"
#include "operators/reduce.hpp"
#include "operators/select.hpp"
