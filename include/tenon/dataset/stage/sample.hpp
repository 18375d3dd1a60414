// One sample of a column, as operations on data see it: elements and extents, known to the compiler or to the sample.
#pragma once
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include <tenon/core/shape.hpp>
#include <tenon/dataset/batch/ragged.hpp>
#if TENON_DEFINES
#include <string>

#include <tenon/core/error.hpp>
#endif

namespace tenon::inline TENON_ABI::dataset {

namespace detail {
template <class S>
struct DeclaredExtents;
template <int... Extents>
struct DeclaredExtents<Shape<Extents...>> {
  static constexpr std::int64_t value[]{Extents..., 0};  // the last is none: there may be no other
};
template <int... Extents>
struct DeclaredExtents<Ragged<Extents...>> {
  static constexpr std::int64_t value[]{Extents..., 0};
};

/// Says that a sample is given no extents, or some that its column does not have.
[[noreturn, gnu::cold]] void refuse_missing_extents(std::string_view column);
[[noreturn, gnu::cold]] void refuse_resize(std::string_view column, std::span<const std::int64_t> declared,
                                           std::span<const std::int64_t> asked);

#if TENON_DEFINES
inline std::string named_column(std::string_view column) {
  return column.empty() ? "The column" : text("The column \"", column, "\"");
}
[[gnu::noinline, gnu::cold]] TENON_INLINE void refuse_missing_extents(std::string_view column) {
  throw_error<ValueError>(named_column(column), " is ragged, and the function that makes its samples has not called "
                                                "resize(). Call it for each sample, with 0 for an empty one.");
}
[[gnu::noinline, gnu::cold]] TENON_INLINE void refuse_resize(std::string_view column,
                                                             std::span<const std::int64_t> declared,
                                                             std::span<const std::int64_t> asked) {
  std::string shape;
  for (const std::int64_t extent : declared) {
    if (!shape.empty()) shape += ", ";
    shape += extent < 0 ? "any" : text(extent);
  }
  throw_error<ValueError>(named_column(column), " has samples of the shape [", shape, "], and resize() was given ",
                          shape_text(asked),
                          ". Give it the extents that the column says, or declare the column with `any` there.");
}
#endif  // TENON_DEFINES
}  // namespace detail

/// A sample of column C that is read.
template <class C>
class SampleView {
 public:
  using column = C;
  using type = typename C::type;

  /// `memory` as read() is given it for this column: the elements, or a RaggedValue.
  explicit SampleView(const void* memory) : memory_(memory) {}

  const type* data() const {
    if constexpr (C::ragged) return static_cast<const type*>(value().data());
    else return static_cast<const type*>(memory_);
  }
  std::span<const std::int64_t> extents() const {
    if constexpr (C::ragged) return value().extents();
    else return {detail::DeclaredExtents<typename C::shape>::value, std::size_t(C::shape::rank)};
  }
  std::int64_t extent(int axis) const { return extents()[static_cast<std::size_t>(axis)]; }
  std::int64_t count() const {
    if constexpr (C::ragged) return value().count();
    else return C::tensor_type.count(1);
  }
  std::span<const type> values() const { return {data(), static_cast<std::size_t>(count())}; }
  /// The elements as a range, as a sample of fixed shape has them: x[0], x.size(), std::ranges::sort ...
  const type& operator[](std::size_t i) const { return data()[i]; }
  std::size_t size() const { return static_cast<std::size_t>(count()); }
  const type* begin() const { return data(); }
  const type* end() const { return data() + count(); }
  /// The bytes of a text.
  std::string_view text() const requires std::is_same_v<type, std::uint8_t>
  {
    return {reinterpret_cast<const char*>(data()), size()};
  }

 private:
  const RaggedValue& value() const { return *static_cast<const RaggedValue*>(memory_); }
  const void* memory_;
};

/// A sample of column C that is written.
template <class C>
class SampleSlot {
 public:
  using column = C;
  using type = typename C::type;

  /// `clears`: the elements of a ragged sample are 0 after resize, else those of an earlier sample.
  explicit SampleSlot(void* memory, bool clears = false) : memory_(memory), clears_(clears) {}

  /// Where the elements go. A ragged sample is given its extents here, for others they are what the column says. Throws
  /// ValueError for extents that are not the column's; `any` of a column is each extent from 0.
  template <class... E>
  type* resize(E... extents) const {
    const std::int64_t asked[]{static_cast<std::int64_t>(extents)..., 0};  // the last is none, as above
    return resize(std::span<const std::int64_t>(asked, sizeof...(E)));
  }
  type* resize(std::span<const std::int64_t> extents) const {
    check(extents);
    if constexpr (C::ragged) {
      RaggedValue& value = *static_cast<RaggedValue*>(memory_);
      void* const elements = value.resize(extents, sizeof(type));
      if (const auto count = std::size_t(value.count()); clears_ && count > 0)
        std::memset(elements, 0, count * sizeof(type));
      return static_cast<type*>(elements);
    } else {
      return static_cast<type*>(memory_);
    }
  }
  /// Before and after the function that writes a sample. Memory serves many samples: a ragged one without resize would
  /// be the one before, which end() refuses with a ValueError.
  void begin() const {
    if constexpr (C::ragged) static_cast<RaggedValue*>(memory_)->begin();
  }
  void end() const {
    if constexpr (C::ragged)
      if (!static_cast<RaggedValue*>(memory_)->resized()) detail::refuse_missing_extents(C::name.view());
  }
  /// The elements of a column of fixed shape.
  std::span<type> values() const requires(!C::ragged)
  {
    return {static_cast<type*>(memory_), static_cast<std::size_t>(C::tensor_type.count(1))};
  }

 private:
  static constexpr std::span<const std::int64_t> declared() {
    return {detail::DeclaredExtents<typename C::shape>::value, std::size_t(C::shape::rank)};
  }
  static void check(std::span<const std::int64_t> extents) {
    bool fits = extents.size() == declared().size() || (!C::ragged && extents.empty());
    for (std::size_t axis = 0; fits && axis < extents.size(); ++axis)
      fits = declared()[axis] < 0 || declared()[axis] == extents[axis];
    if (!fits) detail::refuse_resize(C::name.view(), declared(), extents);
  }

  void* memory_;
  bool clears_;
};

}  // namespace tenon::dataset
