// The fields of protobuf messages from an untrusted file. Needs protozero.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <tenon/io/bytes/protobuf.hpp>

namespace tenon::inline TENON_ABI::io {

/// A field of a message.
struct ProtobufField {
  unsigned number = 0;
  bool has_bytes = false;
  std::uint64_t whole = 0;  // of a number
  std::string_view bytes{};
  std::size_t place = 0;  // where it begins in the file, for messages
};

/// Walks through the fields of messages. Nothing is copied, and no length is believed before the bytes are there.
class ProtobufFields {
 public:
  /// Throws an error that says why the bytes are no such file.
  using Refuse = void(const std::string& path, const std::string& reason);

  /// Path and bytes of the file outlive this object.
  ProtobufFields(std::string_view file, const std::string& path, Refuse& refuse)
      : file_(file), path_(path), refuse_(refuse) {}

  static Message message(std::string_view bytes) { return Message(bytes); }

  /// Steps to the next field of a message; false at its end.
  bool next(Message& message, ProtobufField& field) const {
    MessageField found;
    try {
      if (!message.next(found)) return false;
    } catch (const BadMessage& bad) {
      fail(place_of(bad.at), bad.reason);
    }
    field = {.number = found.number,
             .has_bytes = found.kind == MessageField::Kind::bytes,
             .whole = found.whole,
             .bytes = found.content,
             .place = place_of(found.at)};
    return true;
  }
  /// f(number) for the numbers of a repeated field: one per field, or, as newer writers may, all in one. `what` says
  /// for an error which field it is.
  template <class F, class... What>
  void each_number(const ProtobufField& field, F f, const What&... what) const {
    if (!field.has_bytes) return f(field.whole);
    const char* at = field.bytes.data();
    for (const char* const end = at + field.bytes.size(); at != end;) {
      std::uint64_t number = 0;
      try {
        number = protozero::decode_varint(&at, end);
      } catch (const protozero::exception& error) {
        fail(field.place, what..., " is none (", error.what(), ")");
      }
      f(number);
    }
  }
  std::string_view bytes_of(const ProtobufField& field, std::string_view what) const {
    if (!field.has_bytes) fail(field.place, what, " is no field with bytes");
    return field.bytes;
  }
  /// The same of a field that a message has at most once.
  void take_once(std::string_view& into, const ProtobufField& field, std::string_view what) const {
    if (into.data()) fail(field.place, what, " is there twice");
    into = bytes_of(field, what);
  }
  template <class... Reason>
  [[noreturn]] void fail(std::size_t place, const Reason&... reason) const {
    refuse_(path_, text(reason..., ", at byte ", place));
    __builtin_unreachable();
  }

 private:
  std::size_t place_of(const char* at) const { return static_cast<std::size_t>(at - file_.data()); }

  std::string_view file_;
  const std::string& path_;
  Refuse& refuse_;
};

}  // namespace tenon::io
