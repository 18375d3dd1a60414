// Indices and ranges into a tensor: checks that name what is wrong, and the shapes of parts.
#pragma once
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/shape.hpp>

namespace tenon::inline TENON_ABI {

/// begin .. end - 1 of an axis; without an end, up to its last. Negative numbers count from the end of the axis.
struct Range {
  static constexpr long open = std::numeric_limits<long>::max();
  long begin = 0, end = open;
};

namespace detail {

[[noreturn]] inline void throw_bad_index(long index, int axis, long extent) {
  if (extent == 0) throw_error<ValueError>("Index ", index, " into axis ", axis, ", which has the extent 0.");
  throw_error<ValueError>("Index ", index, " is outside axis ", axis, " of extent ", extent, ", legal are ", -extent,
                          " .. ", extent - 1, ".");
}
/// The index from 0 on.
inline long checked_index(long index, int axis, long extent) {
  if (index < -extent || index >= extent) throw_bad_index(index, axis, extent);
  return index < 0 ? index + extent : index;
}
/// Both ends from 0 on.
inline Range checked_range(Range asked, long extent) {
  const Range r{asked.begin < 0 ? asked.begin + extent : asked.begin, asked.end == Range::open ? extent
                                                                      : asked.end < 0          ? asked.end + extent
                                                                                               : asked.end};
  if (r.begin < 0 || r.begin > r.end || r.end > extent)
    throw_error<ValueError>(text("Range ", asked.begin, " .. ",
                                 asked.end == Range::open ? std::string("end") : text(asked.end),
                                 " is outside axis 0 of extent ", extent, "."));
  return r;
}

template <class S>
struct PartOf;
template <int First, int... Rest>
struct PartOf<Shape<First, Rest...>> {
  using Without = Shape<Rest...>;
  template <int Leading>
  using WithLeading = Shape<Leading, Rest...>;
};
/// The shape without its leading axis, and with another leading extent.
template <class S>
using Without = typename PartOf<S>::Without;
template <class S, int Leading>
using WithLeading = typename PartOf<S>::template WithLeading<Leading>;

template <int Axis, int Extent, int... E, int... Axes>
Shape<(Axes == Axis ? Extent : E)...> with_extent(Shape<E...>, std::integer_sequence<int, Axes...>);
/// The shape with another extent of one axis.
template <class S, int Axis, int Extent>
using WithExtent = decltype(with_extent<Axis, Extent>(S{}, std::make_integer_sequence<int, S::rank>{}));

/// Copies begin .. end - 1 of an inner axis: one block per index of the axes before it.
inline void copy_columns(const TensorType& type, long n, int axis, long begin, long end, const std::byte* from,
                         std::byte* to) {
  long outer = 1;
  for (int a = 0; a < axis; ++a) outer *= type.size(a, n);
  const std::size_t inner = static_cast<std::size_t>(type.span(axis + 1, type.rank)) * size_of(type.dtype);
  const std::size_t row = inner * static_cast<std::size_t>(type.extent[axis]),
                    kept = inner * static_cast<std::size_t>(end - begin);
  if (kept == 0) return;
  for (long i = 0; i < outer; ++i)
    std::memcpy(to + static_cast<std::size_t>(i) * kept,
                from + static_cast<std::size_t>(i) * row + inner * static_cast<std::size_t>(begin), kept);
}

}  // namespace detail
}  // namespace tenon
