// TFRecord: the frame of event files and of data sets of TensorFlow. Per record its length, the checksum of that, the
// data, and its checksum.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/io/bytes/crc32c.hpp>
#include <tenon/io/bytes/little_endian.hpp>

namespace tenon::inline TENON_ABI::io {

/// Bytes of a record beside its data.
inline constexpr std::size_t tf_record_overhead = 8 + 4 + 4;

/// The record of some data.
inline std::string tf_record(std::string_view data) {
  std::string record;
  record.reserve(data.size() + tf_record_overhead);
  detail::append_little_endian(record, std::uint64_t{data.size()});
  detail::append_little_endian(record, masked_crc32c(record));
  record += data;
  detail::append_little_endian(record, masked_crc32c(data));
  return record;
}

/// Walks through the records of a file that lies in memory: `for (std::string_view data; records.next(data);)`. Every
/// checksum is verified, nothing is copied, and no length is believed before the bytes are there.
class TfRecords {
 public:
  /// path is for messages.
  TfRecords(std::string_view file, std::string path) : file_(file), path_(std::move(path)) {}

  /// The data of the next record; false at the end, also where the last record is not complete, as long as its program
  /// runs or after it was killed. Throws RuntimeError, with the place, where a checksum is wrong.
  bool next(std::string_view& data) {
    const std::string_view rest = file_.substr(at_);
    if (rest.size() < length_bytes + crc_bytes) return false;
    if (detail::little_endian<std::uint32_t>(rest.substr(length_bytes)) != masked_crc32c(rest.substr(0, length_bytes)))
      fail("the checksum of a record's length is wrong");
    const auto length = detail::little_endian<std::uint64_t>(rest);
    const std::size_t left = rest.size() - length_bytes - crc_bytes;
    if (left < crc_bytes || length > left - crc_bytes) return false;
    data = rest.substr(length_bytes + crc_bytes, static_cast<std::size_t>(length));
    if (detail::little_endian<std::uint32_t>(rest.substr(length_bytes + crc_bytes + data.size())) !=
        masked_crc32c(data))
      fail("the checksum of a record's data is wrong");
    place_ = at_ + length_bytes + crc_bytes;
    at_ += data.size() + tf_record_overhead;
    return true;
  }
  /// Where the data of the last record that next() found begins.
  std::size_t place() const { return place_; }
  /// Bytes after the last complete record, after next() was false.
  std::size_t unfinished() const { return file_.size() - at_; }

 private:
  static constexpr std::size_t length_bytes = 8, crc_bytes = 4;

  [[noreturn, gnu::cold]] void fail(std::string_view reason) const {
    throw_error<RuntimeError>("Cannot read '", path_, "': ", reason, ", at byte ", at_,
                              ". The file is damaged or no file of TFRecords: save or download it again.");
  }

  std::string_view file_;
  std::string path_;
  std::size_t at_ = 0, place_ = 0;
};

}  // namespace tenon::io
