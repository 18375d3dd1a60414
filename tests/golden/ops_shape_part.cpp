// Operators that move elements, against MindSpore's results (golden/ops).
#include <tenon/ops/argmax.hpp>
#include <tenon/ops/concat.hpp>
#include <tenon/ops/gather.hpp>
#include <tenon/ops/one_hot.hpp>
#include <tenon/ops/pad.hpp>
#include <tenon/ops/slice.hpp>
#include <tenon/ops/split.hpp>
#include <tenon/ops/structural.hpp>
#include <tenon/ops/transpose.hpp>
#include <tenon/ops/triangle.hpp>

#include "ops.hpp"

using namespace tenon;
using namespace support;

const Group views("views", [] {
  check_case("reshape", {}, [](const auto& x) { return reshape<Shape<4, 0>>(x); }, In<float, Shape<2, 6, 2>>{"x"});
  check_case(
      "squeeze_expand", {}, [](const auto& x) { return squeeze<0>(expand_dims<1>(x)); },
      In<float, Shape<1, 4, 3>>{"x"});
});

const Group broadcasts("broadcast_to", [] {
  check_case(
      "broadcast_to", {}, [](const auto& x) { return broadcast_to<Shape<3, 4, 5>>(x); }, In<float, Shape<4, 1>>{"x"});
});

const Group transposes("transpose, flip, triangles", [] {
  check_case("transpose", {}, [](const auto& x) { return transpose<2, 0, 1>(x); }, In<float, Shape<2, 3, 4>>{"x"});
  check_case("flip", {}, [](const auto& x) { return slice<0, Part{.step = -1}>(x); }, In<float, Shape<3, 4, 2>>{"x"});
  check_case("tril", {}, [](const auto& x) { return tril(x); }, In<float, Shape<4, 5>>{"x"});
  check_case("triu", {}, [](const auto& x) { return triu<1>(x); }, In<float, Shape<4, 5>>{"x"});
});

const Group slices("slice", [] {
  check_case(
      "slice", {}, [](const auto& x) { return slice<Part{0, 2}, Part{1, 3}, Part{1, 4}>(x); },
      In<float, Shape<2, 4, 5>>{"x"});
  check_case(
      "strided_slice", {}, [](const auto& x) { return slice<Part{0, 4, 2}, Part{1, 6, 2}>(x); },
      In<float, Shape<4, 6>>{"x"});
  check_case(
      "getitem_mixed", {}, [](const auto& x) { return squeeze<2>(slice<Part{1}, Part{.step = 2}, Part{-1}>(x)); },
      In<float, Shape<3, 5, 4>>{"x"});
});

const Group joins("concat, stack, split, pad", [] {
  check_case(
      "concat", {}, [](const auto& a, const auto& b, const auto& c) { return concat<1>(a, b, c); },
      In<float, Shape<2, 1, 3>>{"a"}, In<float, Shape<2, 4, 3>>{"b"}, In<float, Shape<2, 2, 3>>{"c"});
  check_case(
      "stack", {}, [](const auto& a, const auto& b) { return stack<1>(a, b); }, In<float, Shape<3, 4>>{"a"},
      In<float, Shape<3, 4>>{"b"});
  check_case(
      "pad_constant", {}, [](const auto& x) { return pad<Margin{}, Margin{1, 2}>(x); }, In<float, Shape<3, 4>>{"x"});
});

const Group splits("split has three results and the sum of their gradients", [] {
  golden_case("split", [](const Npz& golden) {
    const auto x = to_tensor<float, Shape<3, 6>>(golden["in/x"], "x");
    eager::Tape tape;
    tape.watch(x);
    const auto [a, b, c] = split<1, 3>(x);
    check_near(a, golden, "out/0");
    check_near(b, golden, "out/1");
    check_near(c, golden, "out/2");
    const auto dy = [&](const char* name) { return to_tensor<float, Shape<3, 2>>(golden[name], name); };
    tape.backward(concat<1>(a, b, c), concat<1>(dy("dy/0"), dy("dy/1"), dy("dy/2")));
    check_near(tape.gradient(x), golden, "grad/x");
  });
});

const Group gathers("gather, one_hot", [] {
  check_case(
      "gather", {}, [](const auto& table, const auto& index) { return gather(table, index); },
      In<float, Shape<5, 6>>{"x"}, In<std::int32_t, Shape<4>>{"index"});
  check_case(
      "embedding", {}, [](const auto& table, const auto& ids) { return gather(table, ids); },
      In<float, Shape<11, 5>>{"param/embedding_table"}, In<std::int32_t, Shape<3, 4>>{"ids"});
  check_case("one_hot", {}, [](const auto& index) { return one_hot<5>(index); }, In<std::int32_t, Shape<4>>{"index"});
});

const Group positions("argmax and argmin: the first of equal ones", [] {
  check_case("argmax", {}, [](const auto& x) { return argmax<1>(x); }, In<float, Shape<2, 3, 4>>{"x"});
  check_case("argmin", {}, [](const auto& x) { return argmin<1>(x); }, In<float, Shape<2, 3, 4>>{"x"});
  check_case("argmax_ties", {}, [](const auto& x) { return argmax<1>(x); }, In<float, Shape<5, 6>>{"x"});
});
