// A value that is to be written into a field of a MindRecord file, and how it becomes one of the field's type.
#pragma once
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/io/mind_record/integer_array.hpp>
#include <tenon/io/mind_record/schema.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::io {

/// A number, a text, bytes, or an array of numbers. Owns nothing: it is made where it is written.
class MindRecordValue {
 public:
  enum class Kind : unsigned char { number, text, array };

  /// A number of any element type.
  template <class T>
  requires(Element<T> && !std::is_pointer_v<T>)
  MindRecordValue(const T& number) : kind_(Kind::number), array_(dtype_of<T>, {}, nullptr) {
    static_assert(sizeof(T) <= sizeof number_);
    std::memcpy(&number_, &number, sizeof number);
  }
  /// A text, or bytes.
  MindRecordValue(std::string_view chars) : kind_(Kind::text), text_(chars) {}
  MindRecordValue(const char* chars) : kind_(Kind::text), text_(chars) {}
  MindRecordValue(const std::string& chars) : kind_(Kind::text), text_(chars) {}
  template <class Range>
  requires(std::ranges::contiguous_range<const Range> && std::ranges::sized_range<const Range> &&
           std::same_as<std::ranges::range_value_t<const Range>, std::byte>)
  MindRecordValue(const Range& bytes)
      : kind_(Kind::text),
        text_(reinterpret_cast<const char*>(std::ranges::data(bytes)), std::size_t(std::ranges::size(bytes))) {}
  /// An array; one of uint8 or int8 also stands for bytes.
  MindRecordValue(const AnyTensor& array) : kind_(Kind::array), array_(array) {}
  /// The same of a vector, std::array, or span of numbers: an array of one axis.
  template <class Range>
  requires(std::ranges::contiguous_range<const Range> && std::ranges::sized_range<const Range> &&
           Element<std::ranges::range_value_t<const Range>> && !std::convertible_to<const Range&, std::string_view>)
  MindRecordValue(const Range& elements) : kind_(Kind::array) {
    using T = std::ranges::range_value_t<const Range>;
    const std::int64_t extent[]{std::int64_t(std::ranges::size(elements))};
    array_ = AnyTensor(dtype_of<T>, extent, const_cast<std::remove_const_t<T>*>(std::ranges::data(elements)));
  }

  Kind kind() const { return kind_; }
  std::string_view chars() const { return text_; }
  const AnyTensor& array() const { return array_; }
  Dtype dtype() const { return array_.dtype; }
  /// The number, or the elements.
  const void* elements() const { return kind_ == Kind::number ? static_cast<const void*>(&number_) : array_.data; }
  std::string description() const {
    if (kind_ == Kind::text) return text("a text or bytes (", text_.size(), " bytes)");
    return kind_ == Kind::number ? text("a number (", name(dtype()), ")")
                                 : text("an array of ", name(dtype()), shape_text(array_.shape()));
  }

 private:
  Kind kind_;
  std::uint64_t number_ = 0;
  std::string_view text_{};
  AnyTensor array_{};
};

/// A value and the name of its field.
using MindRecordCell = std::pair<std::string_view, MindRecordValue>;

/// A number or a text of a row, as the file holds it.
struct MindRecordScalar {
  enum class Kind : unsigned char { none, whole, real, text };
  Kind kind = Kind::none;
  std::int64_t whole = 0;
  double real = 0;
  std::string text{};
};

namespace detail {

/// The number as another type, if that has it. What is real may be rounded to float, everything else has to stay.
template <class To, class From>
bool survives(From number, To& to) {
  if constexpr (!std::is_arithmetic_v<From>) return survives<To>(float(number), to);  // 16-bit floats
  else if constexpr (std::is_same_v<From, bool>) return to = To(number), true;
  else if constexpr (std::is_integral_v<From> && std::is_integral_v<To>) {
    if (!std::in_range<To>(number)) return false;
    to = To(number);
    return true;
  } else if constexpr (std::is_integral_v<From>) {
    to = To(number);
    std::uint64_t size = std::uint64_t(number);
    if constexpr (std::is_signed_v<From>) size = number < 0 ? 0 - size : size;
    return size == 0 || size >> std::countr_zero(size) >> std::numeric_limits<To>::digits == 0;
  } else if constexpr (std::is_integral_v<To>) {
    const double value = number, edge = -double(std::numeric_limits<To>::min());
    if (!(value >= -edge && value < edge) || value != std::trunc(value)) return false;
    to = To(value);
    return true;
  } else {
    to = To(number);
    return std::isfinite(to) || !std::isfinite(number);
  }
}

/// Calls f with a pointer of the dtype's type to the elements.
template <class F>
auto with_elements(Dtype dtype, const void* elements, F f) {
  switch (dtype) {
    case Dtype::bool_: return f(static_cast<const bool*>(elements));
    case Dtype::int8: return f(static_cast<const std::int8_t*>(elements));
    case Dtype::int16: return f(static_cast<const std::int16_t*>(elements));
    case Dtype::int32: return f(static_cast<const std::int32_t*>(elements));
    case Dtype::int64: return f(static_cast<const std::int64_t*>(elements));
    case Dtype::uint8: return f(static_cast<const std::uint8_t*>(elements));
    case Dtype::uint16: return f(static_cast<const std::uint16_t*>(elements));
    case Dtype::uint32: return f(static_cast<const std::uint32_t*>(elements));
    case Dtype::uint64: return f(static_cast<const std::uint64_t*>(elements));
    case Dtype::float16: return f(static_cast<const float16*>(elements));
    case Dtype::bfloat16: return f(static_cast<const bfloat16*>(elements));
    case Dtype::float32: return f(static_cast<const float*>(elements));
    case Dtype::float64: break;
  }
  return f(static_cast<const double*>(elements));
}

/// The elements as those of the field: `store(span)` is called with them. What does not fit is a reason.
template <class To, class Store>
std::string with_cast_elements(const MindRecordValue& value, Store store) {
  const std::size_t count = value.kind() == MindRecordValue::Kind::number ? 1 : std::size_t(value.array().count());
  if (value.dtype() == dtype_of<To>) {
    store(std::span<const To>(static_cast<const To*>(value.elements()), count));
    return "";
  }
  std::vector<To> cast(count);
  const std::size_t stopped = with_elements(value.dtype(), value.elements(), [&](const auto* from) {
    std::size_t i = 0;
    while (i < count && survives(from[i], cast[i])) ++i;
    return i;
  });
  if (stopped < count)
    return text("its element ", stopped, " (", name(value.dtype()), ") does not fit into ", name(dtype_of<To>));
  store(std::span<const To>(cast));
  return "";
}

/// Why an array has not the field's shape, or nothing. One axis with as many elements stands for any shape.
[[gnu::cold]] inline std::string fault_of_shape(const MindRecordField& field, const AnyTensor& array) {
  std::int64_t known = 1;
  bool open = false;
  for (const std::int64_t extent : field.shape) extent == -1 ? void(open = true) : void(known *= extent);
  bool fits = false;
  if (array.rank == 1) fits = open ? array.extent[0] % known == 0 : array.extent[0] == known;
  else if (array.rank == int(field.shape.size())) {
    fits = true;
    for (int axis = 0; axis < array.rank; ++axis)
      fits = fits && (field.shape[std::size_t(axis)] == -1 || field.shape[std::size_t(axis)] == array.extent[axis]);
  }
  return fits ? "" : text("its shape ", shape_text(array.shape()), " is not ", shape_text(field.shape));
}

/// Makes the number or text of a field. Returns why it cannot, or nothing.
inline std::string make_scalar(const MindRecordField& field, const MindRecordValue& value, MindRecordScalar& to) {
  if (field.type == MindRecordType::string) {
    if (value.kind() != MindRecordValue::Kind::text) return text("it got ", value.description());
    if (find_bad_utf8(value.chars()) != std::string_view::npos) return "its text is not in UTF-8";
    to.kind = MindRecordScalar::Kind::text;
    to.text.assign(value.chars());
    return "";
  }
  if (value.kind() != MindRecordValue::Kind::number) return text("it got ", value.description());
  const auto whole = [&](auto numbers) {
    to.kind = MindRecordScalar::Kind::whole;
    to.whole = std::int64_t(numbers[0]);
  };
  const auto real = [&](auto numbers) {
    to.kind = MindRecordScalar::Kind::real;
    to.real = double(numbers[0]);
  };
  std::string fault;
  switch (field.type) {
    case MindRecordType::int32: fault = with_cast_elements<std::int32_t>(value, whole); break;
    case MindRecordType::int64: fault = with_cast_elements<std::int64_t>(value, whole); break;
    case MindRecordType::float32: fault = with_cast_elements<float>(value, real); break;
    default: fault = with_cast_elements<double>(value, real);
  }
  return fault.empty() ? "" : text("its number (", name(value.dtype()), ") does not fit");
}

/// Appends the bytes or the elements of a field, and adds up what the compression saves. Returns why it cannot, or
/// nothing.
inline std::string append_blob(const MindRecordField& field, const MindRecordValue& value, std::string& out,
                               std::int64_t& saved) {
  const bool is_array = value.kind() == MindRecordValue::Kind::array;
  if (is_array && value.array().device != Device{}) return "its array is not on the CPU";
  if (!field.is_array()) {
    const bool octets = is_array && (value.dtype() == Dtype::uint8 || value.dtype() == Dtype::int8);
    if (value.kind() != MindRecordValue::Kind::text && !octets) return text("it got ", value.description());
    if (octets) out.append(static_cast<const char*>(value.array().data), value.array().bytes());
    else out.append(value.chars());
    return "";
  }
  if (!is_array) return text("it got ", value.description());
  if (std::string fault = fault_of_shape(field, value.array()); !fault.empty()) return fault;
  const auto plain = [&](auto elements) {
    out.append(reinterpret_cast<const char*>(elements.data()), elements.size_bytes());
  };
  const auto compressed = [&](auto elements) {
    const std::size_t before = out.size();
    append_compressed(elements, out);
    saved += std::int64_t(elements.size_bytes()) - std::int64_t(out.size() - before);
  };
  switch (field.type) {
    case MindRecordType::int32: return with_cast_elements<std::int32_t>(value, compressed);
    case MindRecordType::int64: return with_cast_elements<std::int64_t>(value, compressed);
    case MindRecordType::float32: return with_cast_elements<float>(value, plain);
    default: return with_cast_elements<double>(value, plain);
  }
}

}  // namespace detail

}  // namespace tenon::io
