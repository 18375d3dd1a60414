// Updates of optimizers, from the same function of one element as on the CPU.
#pragma once
#include <tenon/backend/cuda/step/neighbours.hpp>
#include <tenon/backend/cuda/step/parts.hpp>
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

/// Operands 0, 2, 3, ... are changed by a gradient, operand 1, and by numbers, the last operand. C without shapes.
template <class C>
struct UpdateElements {
  using T = typename C::Result;
  using Gradient = typename C::template Operand<1>;
  static constexpr int threads = 128, together = together_of<T>, arrays = C::operands - 2;
  using Number = typename C::template Operand<arrays + 1>;
  struct Part {
    T* changed[arrays];
    const Gradient* gradient;
    const Number* numbers;
    long count;
  };

  static Part part(const Arguments& a, long count) {
    Part own{{a.changed<T>(0)}, a.operand<Gradient>(1), a.operand<Number>(arrays + 1), count};
    for (int k = 1; k < arrays; ++k) own.changed[k] = a.changed<T>(k + 1);
    return own;
  }
  static long blocks(const Part& part) { return blocks_for(part.count, threads * together); }
  __device__ static void block(const Part& part, long block) {
    const long first = (block * threads + threadIdx.x) * together, left = part.count - first;
    if (left <= 0) return;
    C::Op::template step<C::config(), Compute<T>>(part.numbers, Each{part, {first, left}});
  }

 private:
  struct Each {
    const Part& part;
    Own<together> own;

    template <class F>
    __device__ void operator()(F f) const {
      own.template update<arrays>(f, part.changed, load_neighbours<together>(part.gradient, own.first, own.left));
    }
  };
};

}  // namespace kernel::cuda

template <class Op>
requires requires { requires tenon::detail::is_set(Op::updates_elements); }
struct Kernel<Cuda, Op> : kernel::cuda::Whole {
  static constexpr KernelFacts facts{.together = true, .half_gradient = true};
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using Body = kernel::cuda::UpdateElements<kernel::cuda::WithoutShapes<Call>>;
    kernel::cuda::launch_part<Body>(Body::part(a, kernel::cuda::result_count<Call>(a.n)));
  }
};

}  // namespace tenon
TENON_EXACT_END
