// einsum, tensordot, inner, and dot against sums in nested loops; what they say about letters and axes that do not fit.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <vector>

#include <tenon/more.hpp>

#include "../support/both_modes.hpp"
#include "../support/gradient_check.hpp"

using namespace tenon;
using namespace support;

namespace {
/// A tensor whose axes have letters.
struct Named {
  std::string letters;
  const float* data;
  std::vector<long> extent;
};
template <class X>
Named named(std::string letters, const X& x) {
  Named t{std::move(letters), x.data(), {}};
  for (int axis = 0; axis < X::dims.rank; ++axis) t.extent.push_back(X::dims.size(axis, x.n()));
  return t;
}
/// The place in t of what has these numbers along the letters; an extent of 1 is repeated.
long place(const Named& t, const std::map<char, long>& number) {
  long at = 0;
  for (std::size_t axis = 0; axis < t.extent.size(); ++axis)
    at = at * t.extent[axis] + (t.extent[axis] == 1 ? 0 : number.at(t.letters[axis]));
  return at;
}
/// The largest difference of y from sums of products over all letters, in the order in which they come.
double difference(const Named& y, const std::vector<Named>& x) {
  std::map<char, long> extent, number;
  for (const Named& t : x)
    for (std::size_t axis = 0; axis < t.extent.size(); ++axis)
      extent[t.letters[axis]] = std::max(extent[t.letters[axis]], t.extent[axis]);
  std::vector<double> sum;
  long elements = 1, products = 1;
  for (long e : y.extent) elements *= e;
  sum.assign(std::size_t(elements), 0);
  for (const auto& [letter, e] : extent) products *= e;
  for (long i = 0; i < products; ++i) {
    long rest = i;
    for (const auto& [letter, e] : extent) number[letter] = rest % e, rest /= e;
    double product = 1;
    for (const Named& t : x) product *= double(t.data[place(t, number)]);
    sum[std::size_t(place(y, number))] += product;
  }
  double worst = 0;
  for (long i = 0; i < elements; ++i) worst = std::fmax(worst, std::fabs(sum[std::size_t(i)] - double(y.data[i])));
  return worst;
}

/// One call in both modes: `names` are the letters without blanks and dots.
template <FixedString text, class... X>
void check(const std::vector<std::string>& names, const X&... x) {
  CAPTURE(std::string(text.view()));
  const auto y = both_modes([](const auto&... v) { return einsum<text>(v...); }, x...).result;
  std::size_t k = 1;
  CHECK(difference(named(names[0], y), std::vector<Named>{named(names[k++], x)...}) < 1e-5);
}
template <int seed, int... extents>
auto tensor() {
  return random_tensor<float, Shape<extents...>>(seed, -1, 1, 3);
}
}  // namespace

TEST_CASE("einsum: one operand") {
  const auto x = tensor<1, 3, 4, 3>();
  check<"ijk->kji">({"kji", "ijk"}, x);
  check<"ijk->">({"", "ijk"}, x);
  check<"ijk->j">({"j", "ijk"}, x);
  check<"iji->ji">({"ji", "iji"}, x);
  check<"iji">({"j", "iji"}, x);
  check<"bac">({"abc", "bac"}, x);  // the result in alphabetical order
  check<"...k -> k...">({"kxy", "xyk"}, x);
  check<"nij->nji">({"nji", "nij"}, tensor<2, dyn, 2, 5>());
  check<"nii->ni">({"ni", "nii"}, tensor<2, dyn, 4, 4>());
  check<"nij->ij">({"ij", "nij"}, tensor<2, dyn, 2, 5>());
}

TEST_CASE("einsum: matrix products with all orders of letters") {
  const auto a = tensor<1, 3, 4>();
  const auto b = tensor<2, 4, 5>();
  check<"ij,jk->ik">({"ik", "ij", "jk"}, a, b);
  check<"ij,jk">({"ik", "ij", "jk"}, a, b);
  check<"ij,jk->ki">({"ki", "ij", "jk"}, a, b);
  check<"ji,kj->ik">({"ik", "ji", "kj"}, tensor<3, 4, 3>(), tensor<4, 5, 4>());
  check<"ij,jk->k">({"k", "ij", "jk"}, a, b);
  check<"ij,j->i">({"i", "ij", "j"}, a, tensor<5, 4>());
  check<"i,i->">({"", "i", "i"}, tensor<6, 7>(), tensor<7, 7>());
  check<"i,j->ij">({"ij", "i", "j"}, tensor<6, 7>(), tensor<7, 3>());
  check<"ij,kl->ikjl">({"ikjl", "ij", "kl"}, a, b);
  check<"ijk,jkl->il">({"il", "ijk", "jkl"}, tensor<8, 2, 3, 4>(), tensor<9, 3, 4, 5>());
  check<"ijk,kjl->li">({"li", "ijk", "kjl"}, tensor<8, 2, 3, 4>(), tensor<9, 4, 3, 5>());
  check<"ij,ij->ij">({"ij", "ij", "ij"}, a, tensor<8, 3, 4>());
  check<"ij,ij->i">({"i", "ij", "ij"}, a, tensor<8, 3, 4>());
}

TEST_CASE("einsum: stacks, extents of 1, and the axis that depends on n at every place") {
  check<"bij,bjk->bik">({"bik", "bij", "bjk"}, tensor<1, 2, 3, 4>(), tensor<2, 2, 4, 5>());
  check<"bhqd,bhkd->bhqk">({"bhqk", "bhqd", "bhkd"}, tensor<1, dyn, 2, 3, 4>(), tensor<2, dyn, 2, 5, 4>());
  check<"bqhd,bkhd->bhqk">({"bhqk", "bqhd", "bkhd"}, tensor<1, dyn, 3, 2, 4>(), tensor<2, dyn, 5, 2, 4>());
  check<"nhd,hde->nhe">({"nhe", "nhd", "hde"}, tensor<1, dyn, 2, 4>(), tensor<2, 2, 4, 5>());
  check<"hde,nhd->nhe">({"nhe", "hde", "nhd"}, tensor<1, 2, 4, 5>(), tensor<2, dyn, 2, 4>());
  check<"nthd,hde->nthe">({"nthe", "nthd", "hde"}, tensor<1, dyn, 3, 2, 4>(), tensor<2, 2, 4, 5>());
  check<"ni,nj->ij">({"ij", "ni", "nj"}, tensor<1, dyn, 2>(), tensor<2, dyn, 5>());
  check<"nti,ntj->ij">({"ij", "nti", "ntj"}, tensor<1, dyn, 4, 2>(), tensor<2, dyn, 4, 5>());
  check<"nhi,nhj->hij">({"hij", "nhi", "nhj"}, tensor<1, dyn, 4, 2>(), tensor<2, dyn, 4, 5>());
  check<"nti,oi->nto">({"nto", "nti", "oi"}, tensor<1, dyn, 4, 2>(), tensor<2, 5, 2>());
  check<"bi,oi,bo->b">({"b", "bi", "oi", "bo"}, tensor<1, dyn, 4>(), tensor<2, 5, 4>(), tensor<3, dyn, 5>());
  check<"bn,anm,bm->ba">({"ba", "bn", "anm", "bm"}, tensor<1, 2, 5>(), tensor<2, 3, 5, 4>(), tensor<3, 2, 4>());
  check<"...ij,...jk->...ik">({"xyik", "xyij", "yjk"}, tensor<1, dyn, 2, 3, 4>(), tensor<2, 2, 4, 5>());
  check<"...ij,...jk->...ik">({"xyik", "xyij", "xyjk"}, tensor<1, 3, 1, 3, 4>(), tensor<2, 1, 2, 4, 5>());
  check<"...i,...i">({"xy", "xyi", "yi"}, tensor<1, dyn, 2, 3>(), tensor<2, 2, 3>());
  check<"ij,jk->ik">({"ik", "ij", "jk"}, tensor<1, 3, 1>(), tensor<2, 4, 5>());
  check<"ii,ij->j">({"j", "ii", "ij"}, tensor<1, 3, 3>(), tensor<2, 3, 5>());
}

TEST_CASE("einsum: integers, gradients") {
  const auto a = tensor_of<std::int32_t, Shape<2, 2>>({1, 2, 3, 4});
  CHECK(same_bits(einsum<"ij,jk->ik">(a, a), tensor_of<std::int32_t, Shape<2, 2>>({7, 10, 15, 22})));
  CHECK(einsum<"ii">(a).item() == 5);
  check_gradients([](const auto& x, const auto& y) { return einsum<"nhi,nhj->hij">(x, y); },
                  random_tensor<double, Shape<dyn, 2, 3>>(1, -1, 1, 2),
                  random_tensor<double, Shape<dyn, 2, 2>>(2, -1, 1, 2));
  check_gradients([](const auto& x, const auto& y) { return einsum<"iji,jk->ki">(x, y); },
                  random_tensor<double, Shape<3, 2, 3>>(1), random_tensor<double, Shape<2, 2>>(2));
}

namespace {
template <FixedString text, class... X>
std::string refusal_of(const X&...) {
  Sentence error;
  ops::detail::EinsumCall<text, X...>::write(error, {});
  return std::string(error.view());
}
}  // namespace

TEST_CASE("einsum: what does not fit is one sentence") {
  const auto a = tensor<1, 2, 3, 4>();
  const auto b = tensor<2, 5, 4>();
  CHECK(refusal_of<"bij,jk->bik">(a, b) ==
        "Einsum \"bij,jk->bik\" of [2,3,4], [5,4]: axis j has the extent 5 in operand 1, and 4 before");
  CHECK(refusal_of<"bij->bik">(a, b) == "Einsum \"bij->bik\" of [2,3,4], [5,4]: the text has 1 operands, the call 2");
  CHECK(refusal_of<"ij,kj->ik">(a, b) ==
        "Einsum \"ij,kj->ik\" of [2,3,4], [5,4]: operand 0 has 3 axes, the text has 2 letters for it");
  CHECK(refusal_of<"bij,kj->bix">(a, b) ==
        "Einsum \"bij,kj->bix\" of [2,3,4], [5,4]: axis x of the result is none of the operands");
  CHECK(refusal_of<"bij,kj->bii">(a, b) == "Einsum \"bij,kj->bii\" of [2,3,4], [5,4]: axis i is twice in the result");
  CHECK(refusal_of<"b1j,kj->b">(a, b) ==
        "Einsum \"b1j,kj->b\" of [2,3,4], [5,4]: got 1 after 1 characters; it needs letters, commas, three dots once "
        "per operand, and one ->");
  CHECK(refusal_of<"ni->in">(tensor<1, dyn, 3>()) ==
        "Einsum \"ni->in\" of [n,3]: axis n depends on n, so it must be the first one of the result");
  CHECK(refusal_of<"iij->j">(a) == "Einsum \"iij->j\" of [2,3,4]: axis i has the extent 3 in operand 0, and 2 before");
}

TEST_CASE("tensordot, inner, dot: values of NumPy, an axis that depends on n, gradients, refusals") {
  const auto a = tensor<1, 2, 3, 4>();
  const auto b = tensor<2, 3, 4, 5>();
  constexpr auto two = [](const auto& x, const auto& y) { return tensordot<2>(x, y); };
  CHECK(difference(named("il", both_modes(two, a, b).result), {named("ijk", a), named("jkl", b)}) < 1e-5);
  constexpr auto given = [](const auto& x, const auto& y) { return tensordot<Axes<1, 0>, Axes<0, -1>>(x, y); };
  const auto c = tensor<3, 3, 4, 2>();
  CHECK(difference(named("kl", both_modes(given, a, c).result), {named("ijk", a), named("jli", c)}) < 1e-5);
  constexpr auto sums = [](const auto& x, const auto& y) { return inner(x, y); };
  const auto d = tensor<4, dyn, 2, 4>(), e = tensor<5, dyn, 2, 4>();
  CHECK(difference(named("nil", both_modes(sums, d, tensor<6, 5, 4>()).result),
                   {named("nik", d), named("lk", tensor<6, 5, 4>())}) < 1e-5);
  CHECK(same_bits(dot(tensor_of<float, Shape<3>>({1, 2, 3}), tensor_of<float, Shape<3>>({4, 5, 6})),
                  tensor_of<float, Shape<>>({32})));
  constexpr auto numpy = [](const auto& x, const auto& y) { return dot(x, y); };
  CHECK(difference(named("ijlm", both_modes(numpy, a, tensor<7, 2, 4, 3>()).result),
                   {named("ijk", a), named("lkm", tensor<7, 2, 4, 3>())}) < 1e-5);
  constexpr auto batches = [](const auto& x, const auto& y) { return tensordot<Axes<0>, Axes<0>>(x, y); };
  CHECK(difference(named("ijkl", both_modes(batches, d, e).result), {named("nij", d), named("nkl", e)}) < 1e-5);
  using Wrong = ops::detail::TensordotCall<"Tensordot", Tensor<float, Shape<2, 3>>, Tensor<float, Shape<4, 5>>,
                                           Axes<-1>, Axes<0>>;
  Sentence error;
  Wrong::write(error, {});
  CHECK(error.view() == "Tensordot of [2,3] and [4,5] over the axes -1 and 0: each pair needs two axes of one extent");
}
