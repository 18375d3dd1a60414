// Random numbers in a network: uniform, standard_normal, normal, truncated_normal, randint, bernoulli,
// random_categorical, multinomial, randperm.
#pragma once
#include <tuple>

#include <tenon/core/random/random_number.hpp>
#include <tenon/ops/add.hpp>
#include <tenon/ops/cast.hpp>
#include <tenon/ops/compare.hpp>
#include <tenon/ops/cumsum.hpp>
#include <tenon/ops/full_like.hpp>
#include <tenon/ops/log.hpp>
#include <tenon/ops/minimum.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/neg.hpp>
#include <tenon/ops/random_call.hpp>
#include <tenon/ops/refused.hpp>
#include <tenon/ops/searchsorted.hpp>
#include <tenon/ops/slice.hpp>
#include <tenon/ops/softmax.hpp>
#include <tenon/ops/sort.hpp>
#include <tenon/ops/sub.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Random numbers of one kind. Operands: one that determines mode and batch size, the random state [2] of uint64.
///
/// result      float32 numbers, rounded to the dtype; integer and word: integers
/// derivative  no gradient flows
/// random      Philox with the key (seed, stream) and the counter (block, step): 64 elements share 16 blocks, element e
///             of them has word e / 16 of block e mod 16, a Gaussian one that word and its neighbour
/// source      Salmon and others 2011 (Philox4x32-10); Box and Muller 1958
struct RandomNumbers : Operator<RandomNumbers, "RandomNumbers"> {
  struct Config {
    RandomKind kind = RandomKind::uniform;
    Dtype dtype = Dtype::float32;
    int low = 0, bound = 0;
    int rank = 0, extent[max_rank]{};
  };
  static constexpr Config of(RandomKind kind, const TensorType& t, int low = 0, int bound = 0) {
    Config c{kind, t.dtype, low, bound, t.rank, {}};
    for (int axis = 0; axis < t.rank; ++axis) c.extent[axis] = t.extent[axis];
    return c;
  }
  static constexpr TensorType shape(const OperandTypes& in, const Config& c, Sentence& error) {
    TensorType t{{}, c.rank, c.dtype};
    for (int axis = 0; axis < c.rank; ++axis) t.extent[axis] = c.extent[axis];
    const bool integers = c.kind >= RandomKind::integer;
    if (t.batched() && !in[0].batched())
      error << "random numbers " << t << " need an operand that has a batch size, got " << in[0];
    else if (integers ? c.dtype != Dtype::int32 && c.dtype != Dtype::int64 : !is_floating(c.dtype))
      error << "random " << (integers ? "integers are int32 or int64" : "numbers are floating-point") << ", not "
            << tenon::name(c.dtype);
    return t;
  }
  static constexpr void derivative(Derivative& d) { d.no_gradient(); }
};

namespace detail {
template <RandomKind kind, class T, class S, Operand X>
constexpr auto random_numbers(const X& x, const std::source_location& at) {
  return random_call<RandomNumbers, RandomNumbers::of(kind, type_of<T, S>)>(at, x);
}
/// float64 for probabilities of float64, float32 for others.
template <Dtype dtype>
using DrawnBeside = std::conditional_t<dtype == Dtype::float64, double, float>;
/// Positive numbers in the shape of P, or `count` for each row of it.
template <class P, int count = 0>
constexpr auto drawn_beside() {
  TensorType t = P::dims.with(dtype_of<DrawnBeside<P::dims.dtype>>);
  if (count) t.extent[t.rank - 1] = count;
  return RandomNumbers::of(RandomKind::positive, t);
}
/// -log(-log(u)): the largest of logits plus such numbers has index i with the probability softmax(logits)[i].
template <class P>
constexpr auto gumbel(const P& x, const std::source_location& at) {
  return neg(log(neg(log(random_call<RandomNumbers, drawn_beside<P>()>(at, x), at), at), at), at);
}
template <class P>
constexpr auto as_drawn(const P& x, const std::source_location& at) {
  return cast<DrawnBeside<P::dims.dtype>>(x, at);
}
struct DistributionRule {
  static constexpr FixedString name{"RandomCategorical"};
  static constexpr bool holds(const TensorType& x) {
    return x.rank >= 1 && x.rank < max_rank && x.last() > 0 && is_floating(x.dtype);
  }
  static constexpr void write(Sentence& error, const TensorType& x) {
    error << "random_categorical and multinomial need floating-point numbers [...,classes], got "
          << tenon::name(x.dtype) << " " << x;
  }
};
}  // namespace detail

/// Uniform numbers in [0, 1) of shape S: `uniform<Shape<dyn, 64>>(x)`. The operand x only determines the mode, and the
/// batch size where S has dyn. T is float32 unless given; all dtypes have 24 random bits or fewer.
///
/// random      all operators of this header draw from the stream of the cell that calls them: the numbers depend on the
///             seed, the step, the cell, and the number of its earlier random calls in the step, and are bit-identical
///             in both modes and on all targets (graph/ir/streams.hpp). Outside of a network each call is a separate
///             step
/// source      MindSpore's uniform, PyTorch's rand
template <class S, class T = float>
constexpr auto uniform(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return detail::random_numbers<RandomKind::uniform, T, S>(x, at);
}
/// Uniform numbers from low up to high, which rounding may reach: `uniform<Shape<4>>(x, -1, 1)`. low and high are
/// numbers or tensors that broadcast.
template <class S, class T = float, OperandOrScalar Low, OperandOrScalar High>
constexpr auto uniform(const Operand auto& x, const Low& low, const High& high,
                       std::source_location at = std::source_location::current()) {
  const auto number = uniform<S, T>(x, at);
  if constexpr (Scalar<Low> && Scalar<High>) return add(mul(number, double(high) - double(low), at), low, at);
  else return add(mul(number, sub(high, low, at), at), low, at);
}
/// Gaussian numbers of mean 0 and deviation 1. MindSpore's standard_normal, PyTorch's randn.
template <class S, class T = float>
constexpr auto standard_normal(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return detail::random_numbers<RandomKind::normal, T, S>(x, at);
}
/// Gaussian numbers: `normal<Shape<dyn, 8>>(x, mean, deviation)`, each a number or a tensor that broadcasts; gradients
/// flow to both. MindSpore's and PyTorch's normal.
template <class S, class T = float>
constexpr auto normal(const Operand auto& x, const OperandOrScalar auto& mean, const OperandOrScalar auto& deviation,
                      std::source_location at = std::source_location::current()) {
  return add(mul(standard_normal<S, T>(x, at), deviation, at), mean, at);
}
/// Gaussian numbers of mean 0 and deviation 1, drawn again until they are within -2 and 2; their own deviation is 0.88.
/// MindSpore's TruncatedNormal, trunc_normal_ of PyTorch with a = -2, b = 2.
template <class S, class T = float>
constexpr auto truncated_normal(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return detail::random_numbers<RandomKind::truncated_normal, T, S>(x, at);
}
/// Whole numbers in low .. high - 1: `randint<Shape<dyn>, 0, 10>(x)`, int32 unless T is int64. MindSpore's and
/// PyTorch's randint.
template <class S, int low, int high, class T = std::int32_t>
constexpr auto randint(const Operand auto& x, std::source_location at = std::source_location::current()) {
  static_assert(low < high && long(high) - low < (1L << 31),
                "randint<S, low, high> needs low < high, less than 2^31 apart");
  return random_call<RandomNumbers, RandomNumbers::of(RandomKind::integer, type_of<T, S>, low, high - low)>(at, x);
}
/// Numbers in 0 <= u < 1 in the shape and dtype of x. MindSpore's and PyTorch's rand_like.
template <Operand X>
constexpr auto rand_like(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else return random_call<RandomNumbers, RandomNumbers::of(RandomKind::uniform, X::dims)>(at, x);
}
/// Numbers of the normal distribution N(0, 1) in the shape and dtype of x. MindSpore's and PyTorch's randn_like.
template <Operand X>
constexpr auto randn_like(const X& x, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return x;
  else return random_call<RandomNumbers, RandomNumbers::of(RandomKind::normal, X::dims)>(at, x);
}

/// 1 with the probability p, else 0; shape and dtype of p. PyTorch's bernoulli.
///
/// p           floating-point; 0 and less always gives 0, 1 and more always 1, NaN gives 0
/// derivative  no gradient flows
template <Operand P>
constexpr auto bernoulli(const P& p, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<P>) return p;
  else {
    constexpr auto c =
        RandomNumbers::of(RandomKind::uniform, P::dims.with(dtype_of<detail::DrawnBeside<P::dims.dtype>>));
    return cast<typename P::type>(less(random_call<RandomNumbers, c>(at, p), detail::as_drawn(p, at), at), at);
  }
}
/// 1 with the probability `p`, a number, else 0; shape and dtype of x. MindSpore's bernoulli.
template <Operand X>
constexpr auto bernoulli(const X& x, Scalar auto p, std::source_location at = std::source_location::current()) {
  return bernoulli(full_like(x, p, at), at);
}

/// Indices drawn with given probabilities, which need not sum to 1: `multinomial<3>(p)`, or without replacement
/// `multinomial<3, false>(p)`.
///
/// p           [..., classes], floating-point, not negative. What has the probability 0 is never drawn, unless all
///             have, or, without replacement, fewer than `count` have more
/// result      [..., count] of int32
/// derivative  none
/// source      MindSpore's and PyTorch's multinomial. With replacement the first running sum that reaches a uniform
///             number; without, the `count` largest of log p plus Gumbel's numbers (Kool and others, arXiv 1903.06059)
template <int count = 1, bool replacement = true, Operand X>
constexpr auto multinomial(const X& p, std::source_location at = std::source_location::current()) {
  static_assert(count > 0, "multinomial<count> needs at least one draw");
  if constexpr (is_broken<X>) return p;
  else if constexpr (!detail::DistributionRule::holds(X::dims)) return apply<Refused<detail::DistributionRule>>(at, p);
  else if constexpr (replacement) {
    constexpr int axis = X::dims.rank - 1, classes = X::dims.last();
    constexpr auto c = detail::drawn_beside<X, count>();
    const auto sums = cumsum<axis>(detail::as_drawn(p, at), at);
    const auto level = mul(random_call<RandomNumbers, c>(at, p), slice<axis, Part{classes - 1, classes}>(sums, at), at);
    return minimum(searchsorted(sums, level, at), classes - 1, at);
  } else {
    const auto drawn = topk<count>(add(log(detail::as_drawn(p, at), at), detail::gumbel(p, at), at), at);
    if constexpr (is_broken<std::remove_cvref_t<decltype(drawn)>>) return drawn;
    else return std::get<1>(drawn);
  }
}
/// Indices drawn with the probabilities softmax(logits), `count` for each row: `random_categorical<4>(logits)`, one
/// unless given. A logit of -inf is never drawn, unless all are.
///
/// logits      [..., classes], floating-point
/// result      [..., count] of int32
/// source      MindSpore's random_categorical, PyTorch's Categorical(logits=...).sample()
template <int count = 1, Operand X>
constexpr auto random_categorical(const X& logits, std::source_location at = std::source_location::current()) {
  if constexpr (is_broken<X>) return logits;
  else if constexpr (!detail::DistributionRule::holds(X::dims))
    return apply<Refused<detail::DistributionRule>>(at, logits);
  else return multinomial<count>(softmax(detail::as_drawn(logits, at), at), at);
}
/// The numbers 0 .. count - 1 in a random order, [count] of int32: `gather(x, randperm<100>(x))`. MindSpore's and
/// PyTorch's randperm.
template <int count>
constexpr auto randperm(const Operand auto& x, std::source_location at = std::source_location::current()) {
  return argsort(detail::random_numbers<RandomKind::word, std::int32_t, Shape<count>>(x, at), at);
}

}  // namespace tenon::ops
