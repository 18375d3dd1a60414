// What the compiler knows of a column of images, and its samples as images.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <tenon/core/text/sentence.hpp>
#include <tenon/dataset/stage/column.hpp>
#include <tenon/dataset/stage/sample.hpp>
#include <tenon/vision/image_view.hpp>

namespace tenon::inline TENON_ABI::vision {

namespace detail {

using dataset::any, dataset::Column, dataset::Ragged, dataset::SampleSlot, dataset::SampleView;

/// Extents of a column's samples; `any` where they differ.
template <class S>
struct ExtentsOf;
template <int... Extents>
struct ExtentsOf<Shape<Extents...>> {
  static constexpr int rank = sizeof...(Extents);
  static constexpr int extent[sizeof...(Extents) + 1]{Extents...};
};
template <int... Extents>
struct ExtentsOf<Ragged<Extents...>> : ExtentsOf<Shape<>> {
  static constexpr int rank = sizeof...(Extents);
  static constexpr int extent[sizeof...(Extents) + 1]{Extents...};
};

/// Height, width, channels of a column, or no image: [height, width, 1 .. 4] of uint8 or float32.
template <class In>
struct ImageColumn {
  using T = typename In::type;
  using E = ExtentsOf<typename In::shape>;
  static constexpr bool image = E::rank == 3 && E::extent[E::rank == 3 ? 2 : 0] >= 1 &&
                                E::extent[E::rank == 3 ? 2 : 0] <= 4 &&
                                (std::is_same_v<T, std::uint8_t> || std::is_same_v<T, float>);
  static constexpr int height = image ? E::extent[0] : 1, width = image ? E::extent[image ? 1 : 0] : 1,
                       channels = image ? E::extent[image ? 2 : 0] : 1;
  static constexpr bool fixed = height >= 0 && width >= 0;
};

/// The column [A, B, C], ragged if an extent is any.
template <class T, int A, int B, int C>
using ColumnOf = std::conditional_t<(A < 0 || B < 0 || C < 0), Column<T, Ragged<A, B, C>>,
                                    Column<T, Shape<(A < 0 ? 1 : A), (B < 0 ? 1 : B), (C < 0 ? 1 : C)>>>;

/// The column of images like those of In, Height x Width pixels.
template <class In, int Height, int Width>
using SizedAs = ColumnOf<typename In::type, Height, Width, ImageColumn<In>::channels>;

template <class In>
constexpr void describe_column(Sentence& s) {
  using E = ExtentsOf<typename In::shape>;
  s << "this column has " << name(In::tensor_type.dtype) << " [";
  for (int axis = 0; axis < E::rank; ++axis) {
    if (axis > 0) s << ", ";
    if (E::extent[axis] == any) s << "any";
    else s << E::extent[axis];
  }
  s << "]";
}
/// What transforms of images take.
struct Images {
  template <class In>
  static constexpr Sentence wrong(const char* transform) {
    Sentence s;
    if (ImageColumn<In>::image) return s;
    s << "vision::" << transform << " takes images of uint8 or float32 [height, width, channels], ";
    describe_column<In>(s);
    const bool file = std::is_same_v<typename In::type, std::uint8_t> && ExtentsOf<typename In::shape>::rank == 1;
    if (file) s << ": vision::Decode, which makes images of files, comes before it";
    else if (ExtentsOf<typename In::shape>::rank == 3) s << ": vision::HWC2CHW comes after it";
    return s;
  }
};
/// What transforms of files take.
struct Files {
  template <class In>
  static constexpr Sentence wrong(const char* transform) {
    Sentence s;
    if (std::is_same_v<In, dataset::NamedAs<Column<std::uint8_t, Ragged<any>>, In>>) return s;
    s << "vision::" << transform << " takes the bytes of image files, uint8 [any], ";
    describe_column<In>(s);
    if (ImageColumn<In>::image) s << ": these are images already";
    return s;
  }
};

/// The image in a sample, and room for one.
template <class In>
ImageView<const typename In::type> image_of(const SampleView<In>& in) {
  return {in.data(), static_cast<int>(in.extent(0)), static_cast<int>(in.extent(1)), ImageColumn<In>::channels};
}
template <class Out>
ImageView<typename Out::type> room_for(const SampleSlot<Out>& out, int height, int width) {
  constexpr int channels = ImageColumn<Out>::channels;
  return {out.resize(height, width, channels), height, width, channels};
}
/// Copies the image of a sample into the result and returns it there.
template <class In>
ImageView<typename In::type> copied(const SampleView<In>& in, const SampleSlot<In>& out) {
  const auto image = image_of(in);
  const auto room = room_for(out, image.height, image.width);
  std::copy_n(image.data, image.size(), room.data);
  return room;
}
template <class In>
std::string_view bytes_of(const SampleView<In>& in) {
  return {reinterpret_cast<const char*>(in.data()), static_cast<std::size_t>(in.count())};
}

}  // namespace detail
}  // namespace tenon::vision
