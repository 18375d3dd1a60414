// Networks with loops and conditions, for program.cpp.
#pragma once
#include <tenon/more.hpp>

namespace control {
using namespace tenon;

/// A recurrent layer whose cells are in the body. Of [n, 7, 12]: the last state and all of them.
struct Memory : nn::Cell<Memory> {
  nn::Dense<12, 8> input;
  nn::Dense<8, 8> hidden;
  constexpr auto construct(auto x) const {
    return scan(
        [&](auto h, auto v) {
          auto next = tanh(hidden(h) + input(v));
          return std::tuple(next, next);
        },
        zeros<Shape<dyn, 8>>(x), x);
  }
};
/// Several values of several types, carried and sliced, with and without a batch.
struct Several : nn::Cell<Several> {
  Parameter<float, Shape<7, 5>, nn::XavierUniform{}> table;
  nn::Dense<12, 5> dense;
  constexpr auto construct(auto x) const {
    auto outside = reduce_mean<1>(x);
    auto [carried, results] = scan(
        [&](auto state, auto slices) {
          auto [count, sum, all] = state;
          auto [row, v] = slices;
          auto y = dense(v + outside) * row;
          return std::tuple(std::tuple(count + 1, sum + row, all + y), std::tuple(y, row * 2.0f, count));
        },
        std::tuple(cast<std::int32_t>(full<Shape<>>(x, 3.0f)), zeros<Shape<5>>(x), zeros<Shape<dyn, 5>>(x)),
        std::tuple(value_in(x, table), x));
    auto [count, sum, all] = carried;
    auto [ys, rows, counts] = results;
    return std::tuple(count, sum, all, ys, rows, counts);
  }
};
/// A loop in a loop, and a condition in both.
struct Nested : nn::Cell<Nested> {
  nn::Dense<4, 4> dense;
  constexpr auto construct(auto x) const {
    auto rows = reshape<Shape<dyn, 7, 3, 4>>(x);
    return scan(
        [&](auto h, auto row) {
          auto [last, all] = scan(
              [&](auto inner, auto v) {
                auto next = cond(
                    reduce_mean(ops::square(inner)) < 0.2f, [&](auto a) { return tanh(dense(a) + v); },
                    [&](auto a) { return (a + v + h) * 0.5f; }, inner);
                return std::tuple(next, next * 2.0f);
              },
              h, row);
          return std::tuple(last, reduce_mean<1>(all));
        },
        zeros<Shape<dyn, 4>>(x), rows);
  }
};
/// A function of each slice.
struct Mapped : nn::Cell<Mapped> {
  nn::Dense<12, 3> dense;
  constexpr auto construct(auto x) const {
    return map([&](auto v) { return softmax(dense(v)); }, x);
  }
};
/// Both branches, with values and cells from outside, and several results.
template <int sign>
struct Either : nn::Cell<Either<sign>> {
  nn::Dense<12, 12> extra, common;
  constexpr auto construct(auto x) const {
    auto mixed = common(x);
    auto [a, b] = cond(
        reduce_mean(ops::square(mixed)) * float(sign) > 0.0f,
        [&](auto v, auto w) { return std::tuple(relu(extra(v)) + mixed, reduce_sum<1>(w)); },
        [&](auto v, auto) { return std::tuple(v * 2.0f + mixed, reduce_max<1>(v)); }, x, mixed);
    return std::tuple(a + x, b);
  }
};
/// A root by Newton's iteration; one loop with a limit, one without, one without a turn, one that reaches its limit.
struct Root : nn::Cell<Root> {
  nn::Dense<12, 12> dense;
  constexpr auto construct(auto x) const {
    auto size = reduce_mean(ops::square(dense(x))) + 1.0f;
    auto root = while_loop<20>([&](auto y) { return abs(y * y - size) > 1e-5f; },
                               [&](auto y) { return (y + size / y) * 0.5f; }, size);
    auto [turns, grown] = while_loop([&](auto k, auto) { return k < 5; },
                                     [&](auto k, auto y) { return std::tuple(k + 1, y + tanh(dense(y)) / size); },
                                     cast<std::int32_t>(full<Shape<>>(x, 0.0f)), x);
    auto same = while_loop<4>([](auto y) { return reduce_mean(y) > 1e9f; }, [](auto y) { return y + 1.0f; }, x);
    auto limited = while_loop<3>([](auto y) { return reduce_mean(y) > -1e9f; }, [](auto y) { return y + 1.0f; }, x);
    return std::tuple(root, turns, grown, same, limited);
  }
};

}  // namespace control
