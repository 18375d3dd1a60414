// Products of matrices, and a product with the update that reads it: one function for all shapes of a program.
#pragma once
#include <tenon/backend/cpu/optimizer/update_kernel.hpp>
#include <tenon/backend/micro/sums.hpp>
#include <tenon/backend/order.hpp>

TENON_INT_SIZES_BEGIN
TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct MatMul;
struct ProductUpdate;
}  // namespace ops

namespace kernel::micro {

/// C [m, n] = A [m, k] B [k, n], given by the distances between their rows and columns.
struct Product {
  long m, n, k, a_row, a_column, b_row, b_column;

  static constexpr Product of(long m, long n, long k, bool first, bool second) {
    return {m, n, k, first ? 1 : k, first ? m : 1, second ? 1 : n, second ? k : 1};
  }
};

/// `Results` neighbours in a row of C: they share each element of A while it is in a register.
template <int Results>
inline void product_tile(const Product& p, const float* a, const float* b, float* c) {
  float total[Results];
  for (long first = 0; first < p.k; first += segment_units<float>) {
    const long end = first + segment_units<float>, last = end < p.k ? end : p.k;
    float sum[Results]{};
    const float* left = a + first * p.a_column;
    const float* right = b + first * p.b_row;
    for (long k = first; k < last; ++k, left += p.a_column, right += p.b_row)
#pragma GCC unroll 8
      for (int j = 0; j < Results; ++j) sum[j] = fmadd(*left, right[j * p.b_column], sum[j]);
#pragma GCC unroll 8
    for (int j = 0; j < Results; ++j) total[j] = first == 0 ? sum[j] : total[j] + sum[j];
  }
#pragma GCC unroll 8
  for (int j = 0; j < Results; ++j) c[j] = p.k ? total[j] : 0.0f;
}
/// A row of C, columns first .. last - 1.
[[gnu::noinline]] inline void product_row(const Product& p, const float* a, const float* b, long first, long last,
                                          float* c) {
  constexpr int together = 4;
  long j = first;
  for (; j + together <= last; j += together) product_tile<together>(p, a, b + j * p.b_column, c + j - first);
  for (; j < last; ++j) product_tile<1>(p, a, b + j * p.b_column, c + j - first);
}

/// An update of elements of a parameter and of its moments by a piece of its gradient.
using Update = void (*)(const float* numbers, long count, const float* gradient, float* const* changed);

/// Elements of a gradient that are there at a time.
inline constexpr long piece = 32;

[[gnu::noinline]] inline void update_rows(const Product& p, const float* a, const float* b, const float* numbers,
                                          float* const* changed, int arrays, Update update) {
  for (long i = 0; i < p.m; ++i)
    for (long j = 0; j < p.n; j += piece) {
      const long last = j + piece < p.n ? j + piece : p.n;
      float gradient[piece];
      float* own[max_buffers];
      product_row(p, a + i * p.a_row, b, j, last, gradient);
      for (int k = 0; k < arrays; ++k) own[k] = changed[k] + i * p.n + j;
      update(numbers, last - j, gradient, own);
    }
}
[[gnu::noinline]] inline void multiply(const Product& p, const Arguments& arguments, const float* a, const float* b,
                                       long first, Finish finish) {
  for (long i = 0; i < p.m; ++i) {
    const long at = first + i * p.n;
    product_row(p, a + i * p.a_row, b, 0, p.n, arguments.result<float>() + at);
    if (finish) finish(arguments, at, p.n, 0);
  }
}

}  // namespace kernel::micro

template <>
struct Kernel<Cpu, ops::MatMul> {
  static constexpr KernelFacts facts{.epilogue = true};
  static constexpr bool linear_work = true;
  using WithUpdate = ops::ProductUpdate;
  template <class Call>
  static constexpr long items(long) {
    return 1;
  }
  // Which matrix of operand `which` takes part in product `index` of the stack.
  template <class Call, int which>
  static constexpr long matrix_of(long index, long n) {
    constexpr TensorType own = Call::Op::stack_of(Call::operand(which)), all = Call::Op::stack_of(Call::result);
    long matrix = 0, stride = 1;
    for (int axis = all.rank - 1; axis >= all.rank - own.rank; --axis) {
      const int at = axis - (all.rank - own.rank);
      if (own.extent[at] != 1) matrix += index % all.size(axis, n) * stride;
      stride *= own.size(at, n);
      index /= all.size(axis, n);
    }
    return matrix;
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    kernel::micro::check_float<Call>();
    constexpr bool first = Call::Op::first(Call::config()), second = Call::Op::second(Call::config());
    const TensorType &x = Call::operand(0), &r = Call::result;
    const long m = r.size(r.rank - 2, a.n), k = x.size(x.rank - (first ? 2 : 1), a.n), n = r.last(),
               stack = Call::Op::stack_of(r).count(a.n);
    const auto product = kernel::micro::Product::of(m, n, k, first, second);
    for (long index = 0; index < stack; ++index)
      kernel::micro::multiply(product, a, a.operand<float>(0) + matrix_of<Call, 0>(index, a.n) * m * k,
                              a.operand<float>(1) + matrix_of<Call, 1>(index, a.n) * k * n, index * m * n,
                              kernel::micro::finish_of<Call, true>());
  }
};

template <>
struct Kernel<Cpu, ops::ProductUpdate> {
  static constexpr bool linear_work = true;
  template <class Call>
  static constexpr long items(long) {
    return 1;
  }
  template <class Call>
  static constexpr auto update_settings() {
    Attributes a;
    for (int i = 0; i < max_attributes - update_settings_begin; ++i) a.word[i] = Call::config().setting[i];
    return unpack<typename Call::Joined::Config>(a);
  }
  template <class Call>
  static void run(const Arguments& arguments, long, long) {
    kernel::micro::check_float<Call>();
    constexpr bool first = Call::Op::first(Call::config()), second = Call::Op::second(Call::config());
    constexpr auto settings = update_settings<Call>();
    constexpr int arrays = Call::operands - 3;
    float* changed[arrays]{arguments.changed<float>(0)};
    for (int k = 1; k < arrays; ++k) changed[k] = arguments.changed<float>(k + 2);
    const auto product = kernel::micro::Product::of(Call::result[0], Call::result[1],
                                                    Call::operand(1).size(first ? 0 : 1, arguments.n), first, second);
    kernel::micro::update_rows(product, arguments.operand<float>(1), arguments.operand<float>(2),
                               arguments.operand<float>(Call::operands - 1), changed, arrays,
                               &kernel::update_by_step<typename Call::Joined, settings, arrays, float, float, float>);
  }
};

}  // namespace tenon
TENON_EXACT_END
TENON_INT_SIZES_END
