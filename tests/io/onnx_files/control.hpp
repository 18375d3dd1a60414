// Control, made by tenon-import of control.onnx; control.safetensors has its weights.
#pragma once
#include <tenon/more.hpp>

namespace control {
using namespace tenon;

struct Control : nn::Cell<Control> {
  nn::Dense<3, 2> input;
  nn::Dense<2, 2> hidden;
  nn::Dense<3, 2> input2;

  // input_0: [n, 4, 3] -> [n, 4, 2], []
  constexpr auto construct(auto input_0) const {
    auto [last, all] = scan(
        [&](auto state, auto step) {
          auto y = cond(
              reduce_mean(state) > 0.1f, [&] { return tanh(hidden(state)) + input(step); },
              [&] { return state + input2(step); });
          return std::tuple(y, y * 2);
        },
        zeros<Shape<dyn, 2>>(input_0), input_0);
    auto x1 = reduce_mean(last * last) + 1;  // []
    auto [more, y] = while_loop<20>([&](auto goes_on, auto) { return goes_on; },
                                    [&](auto, auto state) {
                                      auto x2 = (state + x1 / state) * 0.5f;
                                      return std::tuple(abs(x2 * x2 - x1) > 1e-05f, x2);
                                    },
                                    abs(x1 * x1 - x1) > 1e-05f, x1);
    return std::tuple(all, y);
  }
};

}  // namespace control
