// One sample of a column, as operations on data see it: elements and extents, known to the compiler or to the sample.
#pragma once
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include <tenon/core/shape.hpp>
#include <tenon/dataset/batch/ragged.hpp>

namespace tenon::inline TENON_ABI::dataset {

namespace detail {
template <class S>
struct FixedExtents;
template <int... Extents>
struct FixedExtents<Shape<Extents...>> {
  static constexpr std::int64_t value[]{Extents..., 0};  // the last is none: there may be no other
};
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
    else return {detail::FixedExtents<typename C::shape>::value, std::size_t(C::shape::rank)};
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

  /// Where the elements go. A ragged sample is given its extents here, for others they are what the column says.
  template <class... E>
  type* resize([[maybe_unused]] E... extents) const {
    if constexpr (C::ragged) {
      const std::int64_t asked[]{static_cast<std::int64_t>(extents)...};
      return resize(std::span<const std::int64_t>(asked));
    } else {
      return static_cast<type*>(memory_);
    }
  }
  type* resize(std::span<const std::int64_t> extents) const {
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
  /// The elements of a column of fixed shape.
  std::span<type> values() const requires(!C::ragged)
  {
    return {static_cast<type*>(memory_), static_cast<std::size_t>(C::tensor_type.count(1))};
  }

 private:
  void* memory_;
  bool clears_;
};

}  // namespace tenon::dataset
