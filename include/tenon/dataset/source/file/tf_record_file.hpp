// The records of a TFRecord file, found by their lengths once and read in any order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/dataset/stage/scratch.hpp>
#include <tenon/io/path/random_access_file.hpp>
#include <tenon/io/path/refuse_file.hpp>
#include <tenon/io/tf_record.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// An open file with the places of its records, 8 bytes for each.
class TfRecordFile {
 public:
  /// Finds the records by their lengths, whose checksums are verified. Throws RuntimeError if the file cannot be read,
  /// is compressed, has no record, a wrong checksum, a record above the limit, or ends inside of one.
  TfRecordFile(std::string path, std::uint64_t record_limit) : file_(std::move(path)) { find_records(record_limit); }

  const std::string& path() const { return file_.path(); }
  const io::FileVersion& version() const { return file_.version(); }
  long size() const { return static_cast<long>(begin_.size()) - 1; }
  /// The data of a record, in memory of `scratch`. Throws RuntimeError if its checksum is wrong.
  std::string_view read(long record, Scratch& scratch) const {
    const std::uint64_t begin = begin_[static_cast<std::size_t>(record)] + head;
    const std::size_t bytes = static_cast<std::size_t>(begin_[static_cast<std::size_t>(record) + 1] - begin);
    char* const to = reinterpret_cast<char*>(scratch.bytes(bytes));
    file_.read(begin, {to, bytes});
    const std::string_view data(to, bytes - crc), checksum(to + data.size(), crc);
    if (io::detail::little_endian<std::uint32_t>(checksum) != io::masked_crc32c(data))
      refuse(record, begin - head, "the checksum of the record's data is wrong");
    return data;
  }
  /// Says what is wrong with a record.
  [[noreturn, gnu::cold]] void refuse_record(long record, const std::string& reason) const {
    refuse(record, begin_[static_cast<std::size_t>(record)], reason);
  }

 private:
  void find_records(std::uint64_t record_limit) try {
    for (std::uint64_t at = 0; at < file_.size();) {
      begin_.push_back(at);
      at += length_at(at, record_limit) + io::tf_record_overhead;
    }
    if (begin_.empty()) refuse(0, 0, "it has no record; it is empty, or a pipe");
    begin_.push_back(file_.size());
  } catch (const std::bad_alloc&) {
    io::refuse_file(file_.size(), file_.path());
  }
  static constexpr std::size_t head = 12, crc = 4;  // the length and its checksum; the checksum of the data

  [[noreturn, gnu::cold]] void refuse(long record, std::uint64_t place, const std::string& reason) const {
    throw_error<RuntimeError>("Cannot read '", file_.path(), "' as a file of TFRecords: ", reason, " (record ", record,
                              ", at byte ", place, ").");
  }
  std::uint64_t length_at(std::uint64_t at, std::uint64_t record_limit) const {
    const long record = static_cast<long>(begin_.size()) - 1;
    if (file_.size() - at < io::tf_record_overhead) refuse(record, at, "it ends inside of a record; it was cut off");
    char bytes[head];
    file_.read(at, bytes);
    const std::string_view length(bytes, 8), checksum(bytes + 8, crc);
    if (io::detail::little_endian<std::uint32_t>(checksum) != io::masked_crc32c(length))
      refuse(record, at,
             at == 0 && length.starts_with("\x1f\x8b") ? "it is compressed with gzip; unpack it, gzip -d"
                                                       : "the checksum of the record's length is wrong");
    const auto count = io::detail::little_endian<std::uint64_t>(length);
    if (count > file_.size() - at - io::tf_record_overhead)
      refuse(record, at, text("the record has ", count, " bytes and the file ends before; it was cut off"));
    if (count > record_limit)
      refuse(record, at, text("the record has ", count, " bytes, at most ", record_limit, " are allowed"));
    return count;
  }

  io::RandomAccessFile file_;
  std::vector<std::uint64_t> begin_;  // and the end of the last one
};

}  // namespace tenon::dataset
