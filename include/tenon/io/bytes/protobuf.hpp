// Walks through messages of protocol buffers that strangers wrote. Needs protozero.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#if __has_include(<protozero/pbf_reader.hpp>)
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#else
#include <this part of Tenon needs protozero. On Debian: apt-get install libprotozero-dev>
#endif

#include <tenon/core/error.hpp>

namespace tenon::inline TENON_ABI::io {

/// What is wrong with a message, and at which of the bytes in memory.
struct BadMessage {
  std::string reason;
  const char* at;
};

/// One field: a view into the message.
struct MessageField {
  enum class Kind { varint, fixed32, fixed64, bytes };

  unsigned number = 0;
  Kind kind = Kind::varint;
  std::uint64_t whole = 0;  // of a number, its bits
  std::string_view content{};
  const char* at = nullptr;

  /// The field as what it should be. `what` is for the message. Throws BadMessage if it is of another kind.
  std::string_view bytes(std::string_view what) const {
    expect(Kind::bytes, what);
    return content;
  }
  std::int64_t integer(std::string_view what) const {
    expect(Kind::varint, what);
    return static_cast<std::int64_t>(whole);
  }
  double real(std::string_view what) const {
    expect(Kind::fixed64, what);
    return std::bit_cast<double>(whole);
  }
  float single(std::string_view what) const {
    expect(Kind::fixed32, what);
    return std::bit_cast<float>(static_cast<std::uint32_t>(whole));
  }

 private:
  void expect(Kind wanted, std::string_view what) const {
    if (kind != wanted) throw BadMessage{text(what, " is a field of another type"), at};
  }
};

/// Walks through the fields of a message: `for (MessageField field; message.next(field);)`. Nothing is copied, and no
/// length is believed before the bytes are there.
class Message {
 public:
  explicit Message(std::string_view bytes) : reader_(bytes.data(), bytes.size()) {}

  /// Throws BadMessage.
  bool next(MessageField& field) {
    field = {};
    field.at = reader_.data().data();
    try {
      if (!reader_.next()) return false;
      field.number = reader_.tag();
      take(field);
      return true;
    } catch (const protozero::end_of_buffer_exception&) {
      throw BadMessage{"a field ends past the end of what holds it; the file was cut off or damaged", field.at};
    } catch (const protozero::exception& error) {
      throw BadMessage{text("there is no field of a protobuf message (", error.what(), ")"), field.at};
    }
  }

 private:
  void take(MessageField& field) {
    switch (reader_.wire_type()) {
      case protozero::pbf_wire_type::varint: field.whole = reader_.get_uint64(); return;
      case protozero::pbf_wire_type::fixed64:
        field.kind = MessageField::Kind::fixed64;
        field.whole = reader_.get_fixed64();
        return;
      case protozero::pbf_wire_type::fixed32:
        field.kind = MessageField::Kind::fixed32;
        field.whole = reader_.get_fixed32();
        return;
      case protozero::pbf_wire_type::length_delimited: {
        check_length(field);
        const protozero::data_view view = reader_.get_view();
        field.kind = MessageField::Kind::bytes;
        field.content = {view.data(), view.size()};
        return;
      }
      default: throw BadMessage{"there is no field of a protobuf message", field.at};
    }
  }
  /// protozero takes the lower 32 bits of a length.
  void check_length(const MessageField& field) const {
    const protozero::data_view rest = reader_.data();
    const char* at = rest.data();
    const char* const end = at + rest.size();
    const std::uint64_t length = protozero::decode_varint(&at, end);
    if (length > static_cast<std::uint64_t>(end - at))
      throw BadMessage{text("a field announces ", length, " bytes, ", end - at, " are left"), field.at};
  }

  protozero::pbf_reader reader_;
};

/// Calls f(element) for the elements of a repeated field of numbers of this size, which writers may pack or not. Throws
/// BadMessage.
template <class Number, class F>
void each_number(const MessageField& field, std::string_view what, F f) {
  static_assert(std::is_floating_point_v<Number> && std::endian::native == std::endian::little);
  if (field.kind != MessageField::Kind::bytes) {
    if constexpr (sizeof(Number) == 4) return f(field.single(what));
    else return f(field.real(what));
  }
  if (field.content.size() % sizeof(Number) != 0)
    throw BadMessage{text(what, " has ", field.content.size(), " bytes, which is no whole number of elements"),
                     field.at};
  for (std::size_t i = 0; i < field.content.size(); i += sizeof(Number)) {
    Number number;
    std::memcpy(&number, field.content.data() + i, sizeof number);
    f(number);
  }
}
/// The same for integers of variable length.
template <class F>
void each_integer(const MessageField& field, std::string_view what, F f) {
  if (field.kind != MessageField::Kind::bytes) return f(field.integer(what));
  const char* at = field.content.data();
  for (const char* const end = at + field.content.size(); at != end;) {
    std::uint64_t number = 0;
    try {
      number = protozero::decode_varint(&at, end);
    } catch (const protozero::exception& error) {
      throw BadMessage{text(what, " has an element that is no number (", error.what(), ")"), field.at};
    }
    f(static_cast<std::int64_t>(number));
  }
}
/// Adds a repeated field of numbers in its packed form.
template <class Number>
void add_packed(protozero::pbf_writer& message, unsigned field, const std::vector<Number>& numbers) {
  static_assert(std::endian::native == std::endian::little);
  if (!numbers.empty())
    message.add_bytes(field, reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number));
}

}  // namespace tenon::io
