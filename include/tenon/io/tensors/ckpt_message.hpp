// The messages that a MindSpore checkpoint is made of, one after the other: each is a tensor, a part of a long one, or
// a text.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/io/bytes/protobuf_fields.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::io {

[[noreturn]] inline void throw_bad_ckpt(const std::string& path, const std::string& reason) {
  throw_error<RuntimeError>("Cannot read '", path, "' as a MindSpore checkpoint: ", reason,
                            ". The file is damaged or of another format: save or download it again.");
}

/// One message: a view into the file's bytes.
struct CkptMessage {
  std::string_view name, type, content;  // type: "Float32", "str"
  std::array<std::int64_t, AnyTensor::max_axes> extent{};
  std::size_t rank = 0;
  std::size_t place = 0;  // where it begins, for messages

  std::span<const std::int64_t> shape() const { return {extent.data(), rank}; }
};

namespace detail {

// Checkpoint { repeated Value value = 1; }
// Value { string tag = 1; TensorProto tensor = 2; MapTensor maptensor = 3; }
// TensorProto { repeated int64 dims = 1; string tensor_type = 2; bytes tensor_content = 3; }

/// Walks through the messages of a file. Nothing is copied, and no length is believed before the bytes are there.
class CkptParser {
 public:
  CkptParser(std::string_view file, const std::string& path) : file_(file), fields_(file, path, throw_bad_ckpt) {}

  /// f(CkptMessage) for each message.
  template <class F>
  void each(F f) const {
    ProtobufField field;
    for (Message checkpoint = fields_.message(file_); fields_.next(checkpoint, field);)
      if (field.number == 1) f(value(field));
  }

 private:
  CkptMessage value(const ProtobufField& outer) const {
    CkptMessage result;
    result.place = outer.place;
    std::string_view tensor;
    ProtobufField field;
    for (Message value = fields_.message(fields_.bytes_of(outer, "an entry")); fields_.next(value, field);) {
      if (field.number == 1) fields_.take_once(result.name, field, "the name of an entry");
      else if (field.number == 2) fields_.take_once(tensor, field, "the tensor of an entry");
      else if (field.number == 3) fields_.fail(field.place, "an entry is a MapParameter, which Tenon does not read");
    }
    if (result.name.empty()) fields_.fail(outer.place, "an entry has no name");
    if (find_bad_utf8(result.name) != result.name.npos || result.name.find('\0') != result.name.npos)
      fields_.fail(outer.place, "the name ", printable(result.name), " is not UTF-8 without zero bytes");
    if (!tensor.data()) fields_.fail(outer.place, "entry ", printable(result.name), " has no tensor");
    for (Message parts = fields_.message(tensor); fields_.next(parts, field);) {
      if (field.number == 1)
        fields_.each_number(
            field, [&](std::uint64_t extent) { add_extent(result, extent, field.place); }, "the shape of entry ",
            printable(result.name));
      else if (field.number == 2) fields_.take_once(result.type, field, "a tensor's type");
      else if (field.number == 3) fields_.take_once(result.content, field, "a tensor's content");
    }
    if (!result.type.data()) fields_.fail(outer.place, "entry ", printable(result.name), " has no type");
    return result;
  }
  void add_extent(CkptMessage& message, std::uint64_t extent, std::size_t place) const {
    if (message.rank == message.extent.size())
      fields_.fail(place, "entry ", printable(message.name), " has more than the ", message.rank,
                   " axes that Tenon reads");
    message.extent[message.rank++] = static_cast<std::int64_t>(extent);
  }

  std::string_view file_;
  ProtobufFields fields_;
};

}  // namespace detail

/// What stands before the content of one message: `length` bytes follow.
inline std::string ckpt_message_head(std::string_view name, std::string_view type, std::span<const std::int64_t> shape,
                                     std::size_t length) {
  const auto begin_bytes = [](std::string& out, unsigned number, std::size_t bytes) {
    protozero::add_varint_to_buffer(&out, number << 3 | 2u);
    protozero::add_varint_to_buffer(&out, bytes);
  };
  std::string tensor, value, head;
  protozero::pbf_writer parts(tensor);
  for (const std::int64_t extent : shape) parts.add_int64(1, extent);
  parts.add_string(2, type.data(), type.size());
  begin_bytes(tensor, 3, length);
  protozero::pbf_writer(value).add_string(1, name.data(), name.size());
  begin_bytes(value, 2, tensor.size() + length);
  begin_bytes(head, 1, value.size() + tensor.size() + length);
  return head + value + tensor;
}

}  // namespace tenon::io
