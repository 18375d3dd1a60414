// Reads .npy bytes (NumPy's array format 1 to 3) for tests: little-endian, row-major numbers.
#pragma once
#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/dtype.hpp>
#include <tenon/core/error.hpp>
#include <tenon/io/file.hpp>

namespace support {

/// An array as NumPy stored it.
struct NpyArray {
  tenon::Dtype dtype = tenon::Dtype::float32;
  std::vector<std::int64_t> shape;
  std::string bytes;  // row-major

  std::int64_t count() const {
    std::int64_t product = 1;
    for (std::int64_t e : shape) product *= e;
    return product;
  }
  /// The elements as T. Throws TypeError if the array holds another dtype.
  template <class T>
  std::vector<T> values() const {
    if (tenon::dtype_of<T> != dtype)
      throw tenon::TypeError(
          tenon::text("this array holds ", tenon::name(dtype), ", asked for ", tenon::name(tenon::dtype_of<T>)));
    std::vector<T> v(static_cast<std::size_t>(count()));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = element<T>(i);
    return v;
  }
  /// The elements as double, whatever the dtype.
  std::vector<double> numbers() const {
    std::vector<double> v(static_cast<std::size_t>(count()));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = number(i);
    return v;
  }

 private:
  template <class T>
  T element(std::size_t i) const {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return value;
  }
  double number(std::size_t i) const {
    using tenon::Dtype;
    switch (dtype) {
      case Dtype::bool_:
      case Dtype::uint8: return element<std::uint8_t>(i);
      case Dtype::int8: return element<std::int8_t>(i);
      case Dtype::int16: return element<std::int16_t>(i);
      case Dtype::int32: return element<std::int32_t>(i);
      case Dtype::int64: return static_cast<double>(element<std::int64_t>(i));
      case Dtype::uint16: return element<std::uint16_t>(i);
      case Dtype::uint32: return element<std::uint32_t>(i);
      case Dtype::uint64: return static_cast<double>(element<std::uint64_t>(i));
      case Dtype::float16: return element<tenon::float16>(i);
      case Dtype::float32: return element<float>(i);
      case Dtype::float64: return element<double>(i);
      default: throw tenon::TypeError(tenon::text("no array of NumPy holds ", tenon::name(dtype)));
    }
  }
};

namespace detail {

// The text behind `'key':` in the header's Python dictionary, up to the comma that ends it (not one inside a tuple).
inline std::string_view header_value(std::string_view header, std::string_view key, const std::string& where) {
  for (char quote : {'\'', '"'}) {
    const std::string quoted = std::string(1, quote) + std::string(key) + quote;
    const std::size_t at = header.find(quoted), colon = at == header.npos ? at : header.find(':', at);
    if (colon == header.npos) continue;
    std::string_view rest = header.substr(colon + 1);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    return rest.substr(0, rest.starts_with('(') ? rest.find(')') : rest.find_first_of(",}"));
  }
  throw tenon::ValueError(tenon::text(where, ": the header of this .npy has no '", key, "': ", header));
}

inline tenon::Dtype npy_dtype(std::string_view descr, const std::string& where) {
  struct Row {
    std::string_view code;
    tenon::Dtype dtype;
  };
  using enum tenon::Dtype;
  static constexpr Row rows[]{{"b1", bool_},  {"i1", int8},    {"u1", uint8},   {"i2", int16},
                              {"i4", int32},  {"i8", int64},   {"u2", uint16},  {"u4", uint32},
                              {"u8", uint64}, {"f2", float16}, {"f4", float32}, {"f8", float64}};
  for (const Row& row : rows)
    if (descr.size() == 5 && (descr[1] == '<' || descr[1] == '|') && descr.substr(2, 2) == row.code) return row.dtype;
  throw tenon::TypeError(tenon::text(where, ": this reader for tests knows little-endian numbers, not ", descr));
}

inline std::vector<std::int64_t> npy_shape(std::string_view tuple, const std::string& where) {
  std::vector<std::int64_t> shape;
  for (std::size_t i = 1; i < tuple.size();) {
    if (tuple[i] < '0' || tuple[i] > '9') {
      ++i;
      continue;
    }
    std::int64_t extent = 0;
    for (; i < tuple.size() && tuple[i] >= '0' && tuple[i] <= '9'; ++i) {
      if (extent > (std::int64_t{1} << 40))
        throw tenon::ValueError(tenon::text(where, ": an extent of this .npy is absurd: ", tuple));
      extent = extent * 10 + (tuple[i] - '0');
    }
    shape.push_back(extent);
  }
  return shape;
}

}  // namespace detail

/// Parses the bytes of a .npy file; `where` is for messages.
/// throws      ValueError, TypeError (complex, text, big-endian) that say what is wrong in `where`
inline NpyArray parse_npy(std::string_view file, const std::string& where) {
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(file[i])); };
  if (file.size() < 12 || !file.starts_with("\x93NUMPY"))
    throw tenon::ValueError(tenon::text(where, ": this is no .npy file"));
  const std::size_t start = file[6] == 1 ? 10 : 12;
  const std::size_t length = byte(8) | byte(9) << 8 | (start == 12 ? byte(10) << 16 | byte(11) << 24 : 0);
  if (length > file.size() - start) throw tenon::ValueError(tenon::text(where, ": the header of this .npy is cut off"));
  const std::string_view header = file.substr(start, length), data = file.substr(start + length);
  NpyArray array;
  array.dtype = detail::npy_dtype(detail::header_value(header, "descr", where), where);
  array.shape = detail::npy_shape(detail::header_value(header, "shape", where), where);
  std::size_t expected = tenon::size_of(array.dtype);
  for (std::int64_t extent : array.shape)
    if (__builtin_mul_overflow(expected, static_cast<std::size_t>(extent), &expected))
      throw tenon::ValueError(tenon::text(where, ": the shape of this .npy is absurd"));
  if (array.shape.size() > 1 && detail::header_value(header, "fortran_order", where).starts_with("True"))
    throw tenon::ValueError(tenon::text(where, ": column-major arrays are not for tests"));
  if (data.size() != expected)
    throw tenon::ValueError(
        tenon::text(where, ": this .npy has ", data.size(), " bytes of data, its shape needs ", expected));
  array.bytes = data;
  return array;
}

inline NpyArray load_npy(const std::string& path) { return parse_npy(tenon::io::read_file(path), path); }

}  // namespace support
