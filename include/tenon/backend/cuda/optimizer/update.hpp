// Updates of optimizers, from the same function of one element as on the CPU.
#pragma once
#include <tenon/backend/cuda/neighbours.hpp>
#include <tenon/target/update_arity.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace kernel::cuda {

/// The elements of an update of which a thread takes care: `left` from `first` on, at most `together`.
template <int together>
struct Own {
  long first, left;

  /// Calls f(read..., changed...) for each of them, and stores what it has changed. It has the elements of `changed`,
  /// or the first ones. `read[k]` are Neighbours.
  template <int most, class T, class F, class... R>
  __device__ void update(F f, T* const (&changed)[most], const R&... read) const {
    using C = Compute<T>;
    constexpr int own = update_arity<F, C, int(sizeof...(R)), most>();
    [&]<int... K>(std::integer_sequence<int, K...>) {
      Neighbours<T, together> value[]{load_neighbours<together>(changed[K], first, left)...};
#pragma unroll
      for (int i = 0; i < together; ++i) {
        C one[]{static_cast<C>(value[K].element[i])...};
        f(static_cast<C>(read.element[i])..., one[K]...);
        ((value[K].element[i] = static_cast<T>(one[K])), ...);
      }
      (store_neighbours(value[K], changed[K], first, left), ...);
    }(std::make_integer_sequence<int, own>());
  }
};

/// Operands 0, 2, 3, ... are changed by a gradient, operand 1, and by numbers, the last operand.
template <class C>
struct UpdateElements {
  using T = typename C::Result;
  static constexpr int threads = 128, together = together_of<T>, arrays = C::operands - 2;

  static long blocks(long n) { return blocks_for(blocks_for(result_count<C>(n), together), threads); }
  __device__ static void block(const Arguments& a) {
    const long first = thread_of_grid() * together, left = result_count<C>(a.n) - first;
    if (left <= 0) return;
    using Number = typename C::template Operand<arrays + 1>;
    C::Op::template step<C::config(), Compute<T>>(a.operand<Number>(arrays + 1), Each{a, {first, left}});
  }

 private:
  struct Each {
    const Arguments& a;
    Own<together> own;

    template <class F>
    __device__ void operator()(F f) const {
      T* changed[arrays]{a.template changed<T>(0)};
#pragma unroll
      for (int k = 1; k < arrays; ++k) changed[k] = a.template changed<T>(k + 1);
      const auto* const gradient = a.template operand<typename C::template Operand<1>>(1);
      own.template update<arrays>(f, changed, load_neighbours<together>(gradient, own.first, own.left));
    }
  };
};

}  // namespace kernel::cuda

template <class Op>
requires requires { requires tenon::detail::is_set(Op::updates_elements); }
struct Kernel<Cuda, Op> : kernel::cuda::Launches<kernel::cuda::UpdateElements> {
  static constexpr KernelFacts facts{.half_gradient = true};
};

}  // namespace tenon
TENON_EXACT_END
