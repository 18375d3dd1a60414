// A file of which any thread reads any piece.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/path/file_version.hpp>
#include <tenon/io/path/place.hpp>

namespace tenon::inline TENON_ABI::io {

/// A piece of a file of up to a terabyte in 8 bytes.
struct FilePiece {
  static constexpr std::uint64_t longest = (1 << 24) - 1, longest_file = (std::uint64_t{1} << 40) - 1;
  std::uint64_t begin : 40, bytes : 24;

  FilePiece(std::uint64_t at, std::uint64_t count) : begin(at & longest_file), bytes(count & longest) {}
};

/// A regular file, open for reading. It is not mapped: where another process cuts it short, that is an error here, and
/// not the end of the program.
class RandomAccessFile {
 public:
  /// Throws RuntimeError if it is absent, a directory, or not permitted.
  explicit RandomAccessFile(std::string path)
      : path_(std::move(path)), file_(open_to_read(path_)), version_(version_of(file_, path_)) {
    size_ = size_of_file(file_, path_);
  }

  const std::string& path() const { return path_; }
  /// Of the file that is read, whatever is at its path since.
  const FileVersion& version() const { return version_; }
  /// Bytes when it was opened; 0 for a pipe.
  std::uint64_t size() const { return size_; }

  /// Fills `to` with the bytes from `at` on. Throws RuntimeError if the file ends before.
  void read(std::uint64_t at, std::span<char> to) const {
    const std::size_t count = detail::read_part(file_, to.data(), to.size(), at, path_);
    if (count < to.size())
      throw_error<RuntimeError>("Cannot read '", path_, "': it had ", size_, " bytes when it was opened and ends at ",
                                at + count, " now; is it being written?");
  }
  /// Calls f(bytes, place) for one piece of the file after the other.
  template <class F>
  void each_block(F f) const {
    std::vector<char> block(static_cast<std::size_t>(std::min<std::uint64_t>(size_, 1 << 20)));
    for (std::uint64_t at = 0; at < size_; at += block.size()) {
      const std::span piece(block.data(), static_cast<std::size_t>(std::min<std::uint64_t>(block.size(), size_ - at)));
      read(at, piece);
      f(std::string_view(piece.data(), piece.size()), at);
    }
  }
  /// The line that a place is in, counted from 1. `returns`: a \r alone ends a line, too. For messages, as it reads all
  /// that is before the place.
  [[gnu::cold]] std::uint64_t line_of(std::uint64_t place, bool returns = false) const {
    std::uint64_t line = 1;
    char last = '\0';  // \r\n ends one line
    each_block([&](std::string_view bytes, std::uint64_t at) {
      for (const char c : bytes.substr(0, at < place ? place - at : 0)) {
        if (returns ? c == '\r' || (c == '\n' && last != '\r') : c == '\n') ++line;
        last = c;
      }
    });
    return line;
  }

 private:
  std::string path_;
  FileHandle file_;
  FileVersion version_;
  std::uint64_t size_ = 0;
};

}  // namespace tenon::io
