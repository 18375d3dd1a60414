// Operators that ONNX has not, or has with other special values, for program.cpp.
#pragma once
#include <tenon/more.hpp>

namespace places {
using namespace tenon;

/// Of two rows with all pairs of special values; the third operand holds whole numbers.
struct Remainders : nn::Cell<Remainders> {
  constexpr auto construct(auto a, auto b, auto i, auto k) const {
    return std::tuple(fmod(a, b), floor_mod(a, b), floor_div(a, b), trunc(a), hardshrink(a), softshrink(a, 0.7),
                      hypot(a, b), xlogy(a, b), atan2(a, b), fmod(i, k), floor_mod(i, k), floor_div(i, k));
  }
};
struct Elements : nn::Cell<Elements> {
  constexpr auto construct(auto x, auto numbers) const {
    const auto [values, order] = sort<1>(x);
    const auto [largest, at] = topk<3>(x);
    return std::tuple(gather_elements<1>(x, numbers), ops::tensor_scatter_elements<1>(x, numbers, x * 2),
                      ops::tensor_scatter_elements<1, ops::ScatterReduction::add>(x, numbers, x), values, order,
                      largest, at, ops::argsort<1, true>(x),
                      ops::tensor_scatter_elements<1, ops::ScatterReduction::mul>(x, numbers, x + 1));
  }
};
struct Products : nn::Cell<Products> {
  constexpr auto construct(auto x) const {
    auto cube = reshape<Shape<dyn, 3, 4>>(x);
    return std::tuple(cumprod<1>(cube), cumprod<2, true>(cube), cumprod<1, false, true>(cube),
                      cumprod<-1, true, true>(x), det(reshape<Shape<dyn, 2, 2>>(slice<1, Part{0, 4}>(x))));
  }
};
struct Windows : nn::Cell<Windows> {
  constexpr auto construct(auto x) const {
    constexpr UnfoldConfig wide{.stride = Pair(2, 3), .dilation = Pair(1, 2), .padding = 1};
    auto columns = unfold<Pair{3, 2}, wide>(x);
    return std::tuple(columns, fold<Pair{32}, Pair{3, 2}, wide>(columns), unfold<Pair{4}, UnfoldConfig{.stride = 4}>(x),
                      adaptive_max_pool2d<Pair(8, 16)>(x), adaptive_max_pool2d<Pair(7, 5)>(x));
  }
};
struct Turned : nn::Cell<Turned> {
  nn::RotaryEmbedding<16, 4> rotary;
  constexpr auto construct(auto x, auto lengths) const {
    return std::tuple(rotary(x), rotary(x, lengths), reverse_sequence(x, lengths + 3));
  }
};

}  // namespace places
