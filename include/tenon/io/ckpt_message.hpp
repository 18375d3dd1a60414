// The messages that a MindSpore checkpoint is made of, one behind the other: each is a tensor, a part of a long one, or
// a text. Only this file includes protozero.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if __has_include(<protozero/pbf_reader.hpp>)
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#else
#error "<tenon/io/ckpt.hpp> needs protozero. On Debian: apt-get install libprotozero-dev"
#endif

#include <tenon/core/error.hpp>
#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/io/escaped_text.hpp>

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
  CkptParser(std::string_view file, const std::string& path) : file_(file), path_(path) {}

  /// f(CkptMessage) for each message.
  template <class F>
  void each(F f) const {
    Field field;
    for (protozero::pbf_reader checkpoint(file_.data(), file_.size()); next(checkpoint, field);)
      if (field.number == 1) f(value(field));
  }

 private:
  struct Field {
    unsigned number = 0;
    bool has_bytes = false;
    std::uint64_t whole = 0;  // of a number
    std::string_view bytes{};
    std::size_t place = 0;
  };

  template <class... Reason>
  [[noreturn]] void fail(std::size_t place, const Reason&... reason) const {
    throw_bad_ckpt(path_, text(reason..., ", at byte ", place));
  }
  std::size_t place_of(const char* at) const { return static_cast<std::size_t>(at - file_.data()); }

  /// Steps to the next field of a message; false at its end.
  bool next(protozero::pbf_reader& message, Field& field) const {
    field = {.place = place_of(message.data().data())};
    try {
      if (!message.next()) return false;
      field.number = message.tag();
      switch (message.wire_type()) {
        case protozero::pbf_wire_type::varint: field.whole = message.get_uint64(); return true;
        case protozero::pbf_wire_type::length_delimited: {
          field.has_bytes = true;
          check_length(message, field);
          const protozero::data_view view = message.get_view();
          field.bytes = {view.data(), view.size()};
          return true;
        }
        default: message.skip(); return true;
      }
    } catch (const protozero::end_of_buffer_exception&) {
      fail(field.place, "a field ends behind the end of what holds it; the file was cut off or damaged");
    } catch (const protozero::exception& error) {
      fail(field.place, "there is no field of a protobuf message (", error.what(), ")");
    }
  }
  /// protozero takes the lower 32 bits of a length.
  void check_length(const protozero::pbf_reader& message, const Field& field) const {
    const protozero::data_view rest = message.data();
    const char* at = rest.data();
    const char* const end = at + rest.size();
    const std::uint64_t length = protozero::decode_varint(&at, end);
    if (length > static_cast<std::uint64_t>(end - at))
      fail(field.place, "a field announces ", length, " bytes, ", end - at, " are left");
  }
  std::string_view bytes_of(const Field& field, std::string_view what) const {
    if (!field.has_bytes) fail(field.place, what, " is no field with bytes");
    return field.bytes;
  }
  void take_once(std::string_view& into, const Field& field, std::string_view what) const {
    if (into.data()) fail(field.place, what, " is there twice");
    into = bytes_of(field, what);
  }

  CkptMessage value(const Field& outer) const {
    CkptMessage result;
    result.place = outer.place;
    const std::string_view all = bytes_of(outer, "an entry");
    std::string_view tensor;
    Field field;
    for (protozero::pbf_reader value(all.data(), all.size()); next(value, field);) {
      if (field.number == 1) take_once(result.name, field, "the name of an entry");
      else if (field.number == 2) take_once(tensor, field, "the tensor of an entry");
      else if (field.number == 3) fail(field.place, "an entry is a MapParameter, which Tenon does not read");
    }
    if (result.name.empty()) fail(outer.place, "an entry has no name");
    if (find_bad_utf8(result.name) != result.name.npos || result.name.find('\0') != result.name.npos)
      fail(outer.place, "the name ", printable(result.name), " is not UTF-8 without zero bytes");
    if (!tensor.data()) fail(outer.place, "entry ", printable(result.name), " has no tensor");
    for (protozero::pbf_reader parts(tensor.data(), tensor.size()); next(parts, field);) {
      if (field.number == 1) add_extents(result, field);
      else if (field.number == 2) take_once(result.type, field, "a tensor's type");
      else if (field.number == 3) take_once(result.content, field, "a tensor's content");
    }
    if (!result.type.data()) fail(outer.place, "entry ", printable(result.name), " has no type");
    return result;
  }
  /// One number per field, or, as newer writers may, all in one.
  void add_extents(CkptMessage& message, const Field& field) const {
    if (!field.has_bytes) return add_extent(message, field.whole, field.place);
    const char* at = field.bytes.data();
    for (const char* const end = at + field.bytes.size(); at != end;) {
      std::uint64_t extent = 0;
      try {
        extent = protozero::decode_varint(&at, end);
      } catch (const protozero::exception& error) {
        fail(field.place, "the shape of entry ", printable(message.name), " is none (", error.what(), ")");
      }
      add_extent(message, extent, field.place);
    }
  }
  void add_extent(CkptMessage& message, std::uint64_t extent, std::size_t place) const {
    if (message.rank == message.extent.size())
      fail(place, "entry ", printable(message.name), " has more than the ", message.rank, " axes that Tenon reads");
    message.extent[message.rank++] = static_cast<std::int64_t>(extent);
  }

  std::string_view file_;
  const std::string& path_;
};

}  // namespace detail

/// What stands in front of the content of one message: `length` bytes follow.
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
