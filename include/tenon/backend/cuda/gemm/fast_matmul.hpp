// Products of matrices by NVIDIA's libraries, where a step asks for Math::tf32.
#pragma once
#include <tenon/backend/cpu/elementwise/fused.hpp>
#include <tenon/backend/cuda/device.hpp>
#include <tenon/backend/cuda/fast/fast_math.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Add;
struct Gelu;
struct Relu;
}

namespace kernel::cuda {

/// Steps of an epilogue that a library has: a bias of each column, then nothing, relu, or gelu.
struct FastEpilogue {
  bool known = false;
  FastActivation activation = FastActivation::none;
};
template <class C>
constexpr FastEpilogue fast_epilogue() {
  if constexpr (C::steps == 1 || C::steps == 2) {
    constexpr Step add = C::Joined::at(0), last = C::Joined::at(C::steps - 1);
    if (C::operands != C::Op::operands_before_epilogue + 1 || !is<ops::Add>(add) ||
        add.source[0] + add.source[1] != 1 || epilogue_operand<C, 0> != channels)
      return {};
    if (C::steps == 1) return {true};
    if (last.source[0] != step_result || last.source[1] != no_source) return {};
    if (is<ops::Relu>(last)) return {true, FastActivation::relu};
    if (is<ops::Gelu>(last)) return {true, FastActivation::gelu};
  }
  return {};
}

/// Brings the products at a.workspace to where `Put` stores them.
template <class C, class Put>
struct PutElements {
  using T = typename C::Result;
  static constexpr int threads = 256;
  static long blocks(long n) { return blocks_for(result_count<C>(n), threads); }
  __device__ static void block(const Arguments& a) {
    constexpr long columns = Put::template sizes<C>(1).n;
    const long i = thread_of_grid();
    if (i < result_count<C>(a.n))
      Put::template element<C>(a, i, i % columns, reinterpret_cast<const T*>(a.workspace)[i]);
  }
};

namespace detail {
/// Elements between the matrices of operand `which` in a stack; -1 if they are not at equal distances.
template <class C, class Put, int which>
long next_matrix(long stack, long elements, long n) {
  const long next = stack > 1 ? Put::template matrix_of<C, which>(1, n) : 0;
  for (long i = 2; i < stack; ++i)
    if (Put::template matrix_of<C, which>(i, n) != i * next) return -1;
  return next * elements;
}
}  // namespace detail

/// Computes the products of a call, whose first factor is operand `at`, if the step asks for it, it pays, and a library
/// can. `Put`, as MatrixProduct has it, stores them; `stores_alone`: as they are, after an epilogue.
template <class C, int at, class Put, bool stores_alone>
bool multiply_fast(const Arguments& a) {
  using T = typename C::Result;
  if constexpr (!is_fast_type<T>) return false;
  else {
    if (running().math == Math::exact) return false;
    const auto s = Put::template sizes<C>(a.n);
    FastProduct p{dtype_of<T>, s.m, s.n, s.k, s.stack, C::Op::first(C::config()), C::Op::second(C::config())};
    if (p.multiply_adds() < least_fast_multiply_adds()) return false;
    p.a_next = detail::next_matrix<C, Put, 0>(s.stack, s.m * s.k, a.n);
    p.b_next = detail::next_matrix<C, Put, 1>(s.stack, s.k * s.n, a.n);
    if (p.a_next < 0 || p.b_next < 0 || (stores_alone && running().unless)) return false;
    if (is_only_seen()) return true;
    p.a = a.operand<T>(at), p.b = a.operand<T>(at + 1);
    const std::size_t bytes = std::size_t(s.m * s.n * s.stack) * sizeof(T);
    p.result =
        stores_alone ? reinterpret_cast<std::byte*>(a.result<T>()) : LaneMemory::take(LaneMemory::products, bytes);
    constexpr FastEpilogue epilogue = fast_epilogue<C>();
    if constexpr (epilogue.known)
      p.bias = a.operand<T>(C::Op::operands_before_epilogue), p.activation = epilogue.activation;
    if (!need_fast_math().multiply(p)) return false;
    if constexpr (!stores_alone || (C::steps > 0 && !epilogue.known)) {
      Arguments put = a;
      put.workspace = static_cast<std::byte*>(p.result);
      launch_blocks<PutElements<C, Put>>(put);
    }
    return true;
  }
}

}  // namespace kernel::cuda

}  // namespace tenon
