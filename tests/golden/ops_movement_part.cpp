// Operators of more.hpp that move, order, and scan elements, against MindSpore's results (golden/ops).
#include <tenon/more.hpp>

#include "ops.hpp"

using namespace tenon;
using namespace support;

namespace {
/// A case with values and places: the gradient flows to the values.
template <class F, class Input>
void check_sorted(const std::string& name, F f, const Input& input) {
  golden_case(name, [&](const Npz& golden) {
    const auto x = input.tensor(golden);
    eager::Tape tape;
    tape.watch(x);
    const auto [values, places] = f(x);
    using Values = std::remove_cvref_t<decltype(values)>;
    check_near(values, golden, "out/0");
    check_near(places, golden, "out/1");
    tape.backward(values, to_tensor<float, typename Values::shape_type>(golden["dy/0"], "dy/0"));
    check_near(tape.gradient(x), golden, "grad/x");
  });
}
}  // namespace

const Group orders("sort, argsort, topk", [] {
  check_sorted("sort", [](const auto& x) { return sort(x); }, In<float, Shape<4, 6>>{"x"});
  check_sorted("topk", [](const auto& x) { return topk<3>(x); }, In<float, Shape<4, 7>>{"x"});
  check_case("argsort", {}, [](const auto& x) { return argsort<-1, true>(x); }, In<float, Shape<4, 6>>{"x"});
});

const Group scans("cumsum, cumprod", [] {
  check_case("cumsum", {}, [](const auto& x) { return cumsum<1>(x); }, In<float, Shape<4, 6>>{"x"});
  check_case("cumprod", {}, [](const auto& x) { return cumprod<1>(x); }, In<float, Shape<3, 5>>{"x"});
});

const Group elements_by_number("gather_elements", [] {
  check_case(
      "gather_elements", {}, [](const auto& x, const auto& index) { return gather_elements<1>(x, index); },
      In<float, Shape<4, 5>>{"x"}, In<std::int64_t, Shape<4, 3>>{"index"});
});

const Group parts_by_number("gather_nd, scatter_nd, tensor_scatter", [] {
  check_case(
      "gather_nd", {}, [](const auto& x, const auto& index) { return gather_nd(x, index); },
      In<float, Shape<4, 5, 3>>{"x"}, In<std::int32_t, Shape<6, 2>>{"index"});
  check_case(
      "scatter_nd", {}, [](const auto& index, const auto& parts) { return scatter_nd<Shape<6, 3>>(index, parts); },
      In<std::int32_t, Shape<5, 1>>{"index"}, In<float, Shape<5, 3>>{"updates"});
  check_case(
      "tensor_scatter_add", {},
      [](const auto& x, const auto& index, const auto& parts) { return tensor_scatter_add(x, index, parts); },
      In<float, Shape<6, 3>>{"x"}, In<std::int32_t, Shape<4, 1>>{"index"}, In<float, Shape<4, 3>>{"updates"});
  check_case(
      "tensor_scatter_elements", {},
      [](const auto& x, const auto& index, const auto& elements) {
        return tensor_scatter_elements<1, ops::ScatterReduction::add>(x, index, elements);
      },
      In<float, Shape<3, 5>>{"x"}, In<std::int32_t, Shape<3, 4>>{"index"}, In<float, Shape<3, 4>>{"updates"});
  check_case(
      "unsorted_segment_sum", {}, [](const auto& x, const auto& ids) { return unsorted_segment_sum<4>(x, ids); },
      In<float, Shape<6, 3>>{"x"}, In<std::int32_t, Shape<6>>{"ids"});
});

const Group copies("tile, repeat_interleave, roll, borders, windows", [] {
  check_case("tile", {}, [](const auto& x) { return tile<2, 3>(x); }, In<float, Shape<2, 3>>{"x"});
  check_case(
      "repeat_interleave", {}, [](const auto& x) { return repeat_interleave<2, 1>(x); }, In<float, Shape<3, 2>>{"x"});
  check_case("roll", {}, [](const auto& x) { return roll<2, 1>(x); }, In<float, Shape<3, 5>>{"x"});
  check_case(
      "pad_reflect", {}, [](const auto& x) { return pad_reflect<Margin{}, Margin{}, Margin{1, 2}>(x); },
      In<float, Shape<2, 3, 5>>{"x"});
  check_case(
      "pad_replicate", {}, [](const auto& x) { return pad_replicate<Margin{}, Margin{}, Margin{1, 2}>(x); },
      In<float, Shape<2, 3, 5>>{"x"});
  check_case(
      "unfold", {}, [](const auto& x) { return unfold<Pair{3}, UnfoldConfig{.stride = 2, .padding = 1}>(x); },
      In<float, Shape<1, 2, 6, 5>>{"x"});
});

const Group sizes("interpolate", [] {
  check_case(
      "interpolate_bilinear", {}, [](const auto& x) { return interpolate<Pair{7, 5}, ops::Interpolation::linear>(x); },
      In<float, Shape<1, 2, 4, 3>>{"x"});
  check_case(
      "interpolate_nearest", {}, [](const auto& x) { return interpolate<Pair{8, 6}>(x); },
      In<float, Shape<1, 2, 4, 3>>{"x"});
});

const Group grids("meshgrid has two results", [] {
  golden_case("meshgrid", [](const Npz& golden) {
    const auto a = to_tensor<float, Shape<3>>(golden["in/a"], "a");
    const auto b = to_tensor<float, Shape<4>>(golden["in/b"], "b");
    eager::Tape tape;
    tape.watch(a), tape.watch(b);
    const auto [x, y] = meshgrid<ops::Indexing::xy>(a, b);
    check_near(x, golden, "out/0");
    check_near(y, golden, "out/1");
    const auto dy = [&](const char* name) { return to_tensor<float, Shape<4, 3>>(golden[name], name); };
    tape.backward(concat<0>(x, y), concat<0>(dy("dy/0"), dy("dy/1")));
    check_near(tape.gradient(a), golden, "grad/a");
    check_near(tape.gradient(b), golden, "grad/b");
  });
});
