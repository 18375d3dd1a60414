// Launches that have several calls as their parts: what is too small to be a kernel of its own.
#pragma once
#include <cstring>

#include <tenon/backend/cuda/device.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

/// Words of C whose result and operands have one axis, of unknown extent.
template <class C>
struct WordsWithoutShapes {
  static constexpr int types = 1 + C::operands, settings = C::words[0] / 8 % 16, count = 1 + 2 * types + settings;
  static constexpr int at(int i) {
    if (i == 0) return C::words[0];
    if (i > 2 * types) return C::description.attributes.word[i - 1 - 2 * types];
    if (i % 2 == 0) return -1;
    return 16 + int((i == 1 ? C::result : C::operand((i - 3) / 2)).dtype);
  }
};
template <class C, int... I>
Call<typename C::Op, typename C::Joined, WordsWithoutShapes<C>::at(I)...> without_shapes(
    std::integer_sequence<int, I...>);
/// The call C for bodies that need to know types and settings alone: calls of all shapes are then parts of one launch.
template <class C>
using WithoutShapes = decltype(without_shapes<C>(std::make_integer_sequence<int, WordsWithoutShapes<C>::count>()));

/// Parts of a launch, as kernels get them: together below the 4 KB that all parameters may have.
template <class Body, int most>
struct PartList {
  int count = 0;
  unsigned end[most];  // of the blocks of each part
  typename Body::Part part[most];
};
template <class Body>
inline constexpr int most_parts = int((4096 - 64) / (sizeof(typename Body::Part) + sizeof(unsigned)));

template <class Body, int most>
__global__ void __launch_bounds__(Body::threads)
    run_parts(const __grid_constant__ PartList<Body, most> parts, const std::int32_t* unless) {
  wait_for_kernel_before();
  if (unless && *unless != 0) return;
  int own = 0;
  if constexpr (most > 1) {
    for (int last = parts.count - 1; own < last;) {  // the first part that ends after this block
      const int middle = (own + last) / 2;
      if (blockIdx.x < parts.end[middle]) last = middle;
      else own = middle + 1;
    }
  }
  Body::block(parts.part[own], blockIdx.x - (own > 0 ? parts.end[own - 1] : 0));
}

/// Starts `count` parts, in as few launches as their size allows.
template <class Body>
void start_parts(const void* parts, long count) {
  using Part = typename Body::Part;
  const auto start = [&]<int most>(std::integral_constant<int, most>, long first) {
    PartList<Body, most> list;
    for (; list.count < most && first + list.count < count; ++list.count) {
      Part& own = list.part[list.count];
      std::memcpy(&own, static_cast<const std::byte*>(parts) + (first + list.count) * long(sizeof(Part)), sizeof(Part));
      list.end[list.count] = unsigned(Body::blocks(own)) + (list.count > 0 ? list.end[list.count - 1] : 0);
    }
    detail::name_blocks<Body>();
    detail::start_blocks<const PartList<Body, most>, const std::int32_t*>(
        run_parts<Body, most>, long(list.end[list.count - 1]), Body::threads, 0, 1, list, running().unless);
    return list.count;
  };
  if (count == 1) start(std::integral_constant<int, 1>(), 0);
  else {
    for (long first = 0; first < count;) first += start(std::integral_constant<int, most_parts<Body>>(), first);
  }
}

/// Starts one part of `Body`, or lets it wait for more of them, of other calls (merged.hpp). The body has
///
///     struct Part;                                   all that its blocks need to know of a call; its bytes are copied
///     static constexpr int threads;                  of a block, a multiple of 32
///     static long blocks(const Part&);               how many
///     __device__ static void block(const Part&, long block);
template <class Body>
void launch_part(const typename Body::Part& part) {
  static_assert(std::is_trivially_copyable_v<typename Body::Part>);
  SeenCall* const seen = running().seen;
  if (!seen) return start_parts<Body>(&part, 1);
  const auto* const bytes = reinterpret_cast<const std::byte*>(&part);
  ++seen->kernels;
  seen->start = &start_parts<Body>;
  seen->part.assign(bytes, bytes + sizeof part);
}

}  // namespace tenon::kernel::cuda
