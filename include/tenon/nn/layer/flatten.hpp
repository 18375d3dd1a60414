// Flatten as a layer.
#pragma once
#include <tenon/nn/cell.hpp>
#include <tenon/ops/reshape.hpp>

namespace tenon::inline TENON_ABI::nn {

/// [n, ...] -> [n, product of the rest], without moving an element. Source: MindSpore nn.Flatten.
struct Flatten : Cell<Flatten> {
  constexpr auto construct(const ops::Operand auto& x) const { return ops::flatten(x); }
};

}  // namespace tenon::nn
