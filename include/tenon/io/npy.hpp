// NumPy's arrays, the bytes of a .npy file: the header, and elements in any order.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/io/tensors/held_tensors.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::io {

[[noreturn]] inline void throw_bad_npy(const std::string& path, const std::string& reason) {
  throw_error<RuntimeError>("Cannot read '", path, "' as an array of NumPy: ", reason, ".");
}

/// What stands before the elements.
struct NpyHeader {
  Dtype dtype = Dtype::float32;
  bool big_endian = false, column_major = false;
  std::array<std::int64_t, AnyTensor::max_axes> extent{};
  std::size_t rank = 0;
  std::size_t length = 0;  // the elements begin there

  std::span<const std::int64_t> shape() const { return {extent.data(), rank}; }
};

namespace detail {

struct NpyType {
  std::string_view code;
  Dtype dtype;
};
/// bfloat16 is no type of NumPy's own.
inline constexpr NpyType npy_types[]{{"b1", Dtype::bool_},   {"i1", Dtype::int8},    {"i2", Dtype::int16},
                                     {"i4", Dtype::int32},   {"i8", Dtype::int64},   {"u1", Dtype::uint8},
                                     {"u2", Dtype::uint16},  {"u4", Dtype::uint32},  {"u8", Dtype::uint64},
                                     {"f2", Dtype::float16}, {"f4", Dtype::float32}, {"f8", Dtype::float64}};

/// Reads the one form of Python that a header can have: a dictionary of descr, fortran_order, and shape. Nothing is
/// evaluated.
class NpyParser {
 public:
  NpyParser(std::string_view dictionary, const std::string& path) : python_(dictionary), path_(path) {}

  NpyHeader parse() {
    constexpr std::string_view keys[]{"descr", "fortran_order", "shape"};
    unsigned seen = 0;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      const std::size_t which = std::size_t(std::ranges::find(keys, key) - keys);
      if (which == std::size(keys)) fail(text("its header has the unknown key ", printable(key)));
      if (seen >> which & 1) fail(text("its header has '", key, "' twice"));
      seen |= 1u << which;
      expect(':');
      if (which == 0) type();
      else if (which == 1) order();
      else shape();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (seen != 7) fail("its header lacks one of descr, fortran_order, shape");
    if (next() != python_.size()) fail("something follows its header's dictionary");
    return header_;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { throw_bad_npy(path_, reason); }

  std::size_t next() { return at_ = std::min(python_.find_first_not_of(" \t\r\n", at_), python_.size()); }
  bool accept(char c) {
    if (next() == python_.size() || python_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c))
      fail(text("its header has no '", std::string_view(&c, 1), "' at character ", at_, ": ", printable(python_)));
  }
  std::string_view string() {
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const std::size_t begin = at_, end = python_.find(quote, begin);
    if (end == python_.npos) fail("a text in its header does not end");
    at_ = end + 1;
    return python_.substr(begin, end - begin);
  }
  void type() {
    if (next() < python_.size() && python_[at_] == '[') fail("its elements are structures, which Tenon does not have");
    const std::string_view said = string();
    const bool has_order = !said.empty() && std::string_view("<>|=").find(said[0]) != std::string_view::npos;
    const auto* const row = std::ranges::find(npy_types, said.substr(has_order), &NpyType::code);
    if (!has_order || row == std::end(npy_types) || (said[0] == '|' && size_of(row->dtype) != 1))
      fail(text("its elements are ", printable(said), ", which Tenon does not have"));
    header_.dtype = row->dtype;
    header_.big_endian = said[0] == '>';
  }
  void order() {
    const std::string_view rest = python_.substr(next());
    header_.column_major = rest.starts_with("True");
    if (!header_.column_major && !rest.starts_with("False")) fail("fortran_order is neither True nor False");
    at_ += header_.column_major ? 4 : 5;
  }
  void shape() {
    expect('(');
    bool comma = true;
    while (!accept(')')) {
      if (!comma) fail("its shape is no tuple of whole numbers");
      if (header_.rank == header_.extent.size()) fail(text("it has more than the ", header_.rank, " axes of a tensor"));
      header_.extent[header_.rank++] = number();
      comma = accept(',');
    }
    if (header_.rank == 1 && !comma) fail("its shape is no tuple of whole numbers");
  }
  std::int64_t number() {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const std::size_t begin = next();
    std::int64_t value = 0;
    for (; at_ < python_.size() && python_[at_] >= '0' && python_[at_] <= '9'; ++at_) {
      const std::int64_t digit = python_[at_] - '0';
      if (value > (most - digit) / 10) fail("an extent is larger than 2^63 - 1");
      value = value * 10 + digit;
    }
    if (at_ == begin) fail("its shape is no tuple of whole numbers from 0 on");
    at_ += python_.substr(at_).starts_with('L');  // Python 2 writes its long integers as 2L
    return value;
  }

  std::string_view python_;
  const std::string& path_;
  std::size_t at_ = 0;
  NpyHeader header_;
};

/// Turns the bytes of each element round.
inline void swap_bytes(std::span<std::byte> elements, std::size_t size) {
  for (std::size_t i = 0; i < elements.size(); i += size)
    std::reverse(elements.begin() + std::ptrdiff_t(i), elements.begin() + std::ptrdiff_t(i + size));
}

/// Copies elements whose first index runs fastest to where the last one does.
inline void copy_column_major(const char* from, const AnyTensor& to) {
  const std::size_t size = size_of(to.dtype), count = to.bytes() / size;
  std::array<std::size_t, AnyTensor::max_axes> index{};
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t place = 0;
    for (int axis = to.rank; axis-- > 0;) place = place * std::size_t(to.extent[axis]) + index[std::size_t(axis)];
    std::memcpy(static_cast<char*>(to.data) + i * size, from + place * size, size);
    for (int axis = to.rank; axis-- > 0;) {
      if (++index[std::size_t(axis)] < std::size_t(to.extent[axis])) break;
      index[std::size_t(axis)] = 0;
    }
  }
}

}  // namespace detail

/// Reads and checks the header; what follows has as many bytes as the shape needs.
///
/// throws      RuntimeError for another format, an element type that Tenon does not have, a shape that the bytes do not
///             have; path is for messages
/// source      NumPy's format 1.0 to 3.0
inline NpyHeader parse_npy_header(std::string_view file, const std::string& path) {
  const auto byte = [&](std::size_t i) { return std::size_t(static_cast<unsigned char>(file[i])); };
  if (file.size() < 12 || !file.starts_with("\x93NUMPY")) throw_bad_npy(path, "it does not begin as one");
  if (byte(6) < 1 || byte(6) > 3 || byte(7) != 0)
    throw_bad_npy(path, text("its format is version ", byte(6), ".", byte(7), ", known are 1.0 to 3.0"));
  const std::size_t begin = byte(6) == 1 ? 10 : 12;
  const std::size_t length = byte(8) | byte(9) << 8 | (begin == 12 ? byte(10) << 16 | byte(11) << 24 : 0);
  if (length > file.size() - begin)
    throw_bad_npy(path, text("it announces a header of ", length, " bytes, ", file.size() - begin, " are left"));
  NpyHeader header = detail::NpyParser(file.substr(begin, length), path).parse();
  header.length = begin + length;
  std::uint64_t bytes = 0;
  if (!bytes_of_shape(header.shape(), 8 * unsigned(size_of(header.dtype)), bytes))
    throw_bad_npy(path, text("its shape ", shape_text(header.shape()), " is impossible"));
  if (bytes != file.size() - header.length)
    throw_bad_npy(path, text("it has ", file.size() - header.length, " bytes of data, its shape ",
                             shape_text(header.shape()), " of ", name(header.dtype), " needs ", bytes));
  return header;
}

/// Copies the elements to a tensor of the header's dtype and shape, in its order and this machine's form.
inline void copy_npy_elements(const NpyHeader& header, std::string_view file, const AnyTensor& to,
                              const std::string& path) {
  const char* const from = file.data() + header.length;
  if (to.bytes() == 0) return;
  if (header.column_major) detail::copy_column_major(from, to);
  else std::memcpy(to.data, from, to.bytes());
  const std::span<std::byte> bytes(static_cast<std::byte*>(to.data), to.bytes());
  if (header.big_endian) detail::swap_bytes(bytes, size_of(to.dtype));
  if (to.dtype == Dtype::bool_ && std::ranges::any_of(bytes, [](std::byte b) { return b > std::byte{1}; }))
    throw_bad_npy(path, "an element of a bool array is neither 0 nor 1");
}

/// The header that NumPy writes before row-major elements of this shape.
inline std::string npy_header(Dtype dtype, std::span<const std::int64_t> shape) {
  const auto* const row = std::ranges::find(detail::npy_types, dtype, &detail::NpyType::dtype);
  std::string extents;
  for (const std::int64_t extent : shape) extents += text(extents.empty() ? "" : ", ", extent);
  std::string python = text("{'descr': '", size_of(dtype) == 1 ? "|" : "<", row->code, "', 'fortran_order': False, ",
                            "'shape': (", extents, shape.size() == 1 ? ",), }" : "), }");
  constexpr std::size_t before = 10, alignment = 64;
  python.append((alignment - (before + python.size() + 1) % alignment) % alignment, ' ');
  python += '\n';
  const char length[]{static_cast<char>(python.size() & 255), static_cast<char>(python.size() >> 8)};
  return std::string("\x93NUMPY\x01\0", 8) + std::string(length, 2) + python;
}

}  // namespace tenon::io
