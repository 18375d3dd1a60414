// Reads and writes the files of MindSpore's print_file_path: texts and tensors in the order in which they were printed.
// Needs protozero.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/core/tensor/text_or_tensor.hpp>
#include <tenon/io/bytes/protobuf_fields.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/path/refuse_file.hpp>
#include <tenon/io/tensors/dtype_title.hpp>
#include <tenon/io/tensors/held_tensors.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::io {

/// The largest file that is read: files of all sizes are, as far as the machine has memory.
inline constexpr std::uint64_t print_file_limit = std::uint64_t{1} << 62;

/// What a print file holds. Reads and checks the whole file on construction, and owns its values.
///
/// memory      while it reads, the file and its values; later the values. Nothing is taken for what a file claims to
///             have
/// throws      RuntimeError if the file cannot be read; ValueError if it is empty, cut off, damaged, or holds what
///             Tenon does not have: another dtype, more than 8 axes
/// source      MindSpore's parse_print, which returns a list of str and Tensor
class PrintFile {
 public:
  explicit PrintFile(const std::string& path) : PrintFile(std::string_view(read_file(path, print_file_limit)), path) {}
  /// Of the bytes of a file; path is for messages.
  PrintFile(std::string_view file, const std::string& path);

  /// In the order of the file; valid as long as this object or the one it is moved to lives.
  std::span<const TextOrTensor> values() const { return {values_.data(), values_.size()}; }

 private:
  AlignedBytes data_;
  std::vector<TextOrTensor> values_;
};

/// The texts and tensors of a print file: `for (const TextOrTensor& value : parse_print(path).values())`. Throws as
/// PrintFile does.
inline PrintFile parse_print(const std::string& path) { return PrintFile(path); }

/// The bytes that one print adds to a file. Tensors are on the CPU. What is not UTF-8 in a text, which the format
/// cannot hold, becomes U+FFFD.
std::string print_message(std::span<const TextOrTensor> values);

namespace detail {

// Print { repeated Value value = 1; }
// Value { oneof desc { string = 1; tensor = 2; } }
// Tensor { repeated int64 dims = 1; string tensor_type = 2; bytes tensor_content = 3; }

[[noreturn]] inline void throw_bad_print_file(const std::string& path, const std::string& reason) {
  throw_error<ValueError>("Cannot read '", path, "' as a print file: ", reason,
                          ". The file is damaged, or not one that print_file_path names.");
}

/// Makes values of the messages of a file; they point into it.
class PrintParser {
 public:
  PrintParser(std::string_view file, const std::string& path)
      : file_(file), fields_(file, path, throw_bad_print_file) {}

  std::vector<TextOrTensor> values() const {
    std::vector<TextOrTensor> result;
    ProtobufField field;
    for (Message print = fields_.message(file_); fields_.next(print, field);) {
      if (field.number != 1) fields_.fail(field.place, "a print has a field of the number ", field.number);
      result.push_back(value(field));
    }
    return result;
  }

 private:
  TextOrTensor value(const ProtobufField& outer) const {
    TextOrTensor result;
    ProtobufField field;
    bool any = false;
    for (Message value = fields_.message(fields_.bytes_of(outer, "a value")); fields_.next(value, field); any = true) {
      if (any || field.number < 1 || field.number > 2)
        fields_.fail(field.place, "a value is more or less than one text or one tensor");
      result.is_tensor = field.number == 2;
      const std::string_view bytes = fields_.bytes_of(field, result.is_tensor ? "a tensor" : "a text");
      if (result.is_tensor) result.tensor = tensor(bytes, field.place);
      else if (find_bad_utf8(bytes) == bytes.npos) result.text = bytes;
      else fields_.fail(field.place, "a text is not UTF-8");
    }
    if (!any) fields_.fail(outer.place, "a value is more or less than one text or one tensor");
    return result;
  }
  AnyTensor tensor(std::string_view bytes, std::size_t place) const {
    AnyTensor result;
    std::string_view type, content;
    ProtobufField field;
    for (Message parts = fields_.message(bytes); fields_.next(parts, field);) {
      if (field.number == 1)
        fields_.each_number(
            field, [&](std::uint64_t extent) { add_extent(result, extent, field.place); }, "a tensor's shape");
      else if (field.number == 2) fields_.take_once(type, field, "a tensor's type");
      else if (field.number == 3) fields_.take_once(content, field, "a tensor's content");
    }
    if (!dtype_of_title(type, result.dtype))
      fields_.fail(place, "a tensor has the type ", printable(type), ", which Tenon does not have");
    std::uint64_t needed = 0;
    if (!bytes_of_shape(result.shape(), 8 * unsigned(size_of(result.dtype)), needed))
      fields_.fail(place, "a tensor has the impossible shape ", shape_text(result.shape()));
    if (needed != content.size())
      fields_.fail(place, "a tensor has ", content.size(), " bytes of data, its shape ", shape_text(result.shape()),
                   " of ", type, " needs ", needed);
    for (const char c : content)
      if (result.dtype == Dtype::bool_ && (c & ~1)) fields_.fail(place, "an element of a bool tensor is not 0 or 1");
    result.data = const_cast<char*>(content.data());
    return result;
  }
  void add_extent(AnyTensor& tensor, std::uint64_t extent, std::size_t place) const {
    if (tensor.rank == AnyTensor::max_axes)
      fields_.fail(place, "a tensor has more than the ", tensor.rank, " axes that Tenon reads");
    tensor.extent[tensor.rank++] = static_cast<std::int64_t>(extent);
  }

  std::string_view file_;
  ProtobufFields fields_;
};

}  // namespace detail

inline PrintFile::PrintFile(std::string_view file, const std::string& path) try {
  if (file.empty()) detail::throw_bad_print_file(path, "it is empty");
  values_ = detail::PrintParser(file, path).values();
  const auto size = [](const TextOrTensor& value) {
    constexpr std::size_t alignment = alignof(std::int64_t);
    const std::size_t bytes = value.is_tensor ? value.tensor.bytes() : value.text.size();
    return (bytes + alignment - 1) / alignment * alignment;
  };
  std::size_t all = 0;
  for (const TextOrTensor& value : values_) all += size(value);
  data_ = AlignedBytes(all, content_of(path).c_str());
  std::byte* to = data_.data();
  for (TextOrTensor& value : values_) {
    if (value.is_tensor) {
      if (value.tensor.bytes()) std::memcpy(to, value.tensor.data, value.tensor.bytes());
      value.tensor.data = to;
    } else {
      value.text.copy(reinterpret_cast<char*>(to), value.text.size());
      value.text = {reinterpret_cast<const char*>(to), value.text.size()};
    }
    to += size(value);
  }
} catch (const std::bad_alloc&) {
  refuse_file(file.size(), path);
}

namespace detail {
inline std::string as_utf8(std::string_view text) {
  std::string result;
  for (std::size_t bad; (bad = find_bad_utf8(text)) != text.npos; text.remove_prefix(bad + 1)) {
    result += text.substr(0, bad);
    append_utf8(result, 0xfffd);
  }
  return result += text;
}
}  // namespace detail

inline std::string print_message(std::span<const TextOrTensor> values) {
  std::string print;
  for (const TextOrTensor& value : values) {
    protozero::pbf_writer message(print);
    protozero::pbf_writer desc(message, 1);
    if (!value.is_tensor) {
      desc.add_string(1, detail::as_utf8(value.text));
      continue;
    }
    const AnyTensor& x = value.tensor;
    protozero::pbf_writer tensor(desc, 2);
    for (const std::int64_t extent : x.shape()) tensor.add_int64(1, extent);
    tensor.add_string(2, title(x.dtype).data(), title(x.dtype).size());
    tensor.add_bytes(3, static_cast<const char*>(x.data), x.bytes());
  }
  return print;
}

}  // namespace tenon::io
