// Zip archives, as far as NumPy uses them: members that are stored or deflated, also above 4 GB. zlib inflates.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#if defined(TENON_WITH_ZLIB)
#include <zlib.h>
#endif

#include <tenon/core/error.hpp>
#include <tenon/io/bytes/crc32.hpp>
#include <tenon/io/tensors/sorted_names.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace tenon::inline TENON_ABI::io {

[[noreturn]] inline void throw_bad_zip(const std::string& path, const std::string& reason) {
  throw_error<RuntimeError>("Cannot read '", path, "' as a zip file: ", reason,
                            ". The file is damaged or of another format: save or download it again.");
}

/// A file in an archive; packed: its bytes as they lie in the archive.
struct ZipMember {
  std::string_view name, packed;
  bool deflated = false;
  std::uint64_t size = 0, compressed = 0, header = 0;
  std::uint32_t crc = 0;
};

namespace detail {

/// Reads the directory at an archive's end, and the header before each member, which must say the same.
class ZipReader {
 public:
  ZipReader(std::string_view file, const std::string& path) : file_(file), path_(path) {}

  std::vector<ZipMember> members() const {
    std::uint64_t at = 0, count = 0;
    find_directory(at, count);
    std::vector<ZipMember> result;
    std::uint64_t packed = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (number(at, 4) != 0x02014b50) fail("its directory is damaged");
      const std::uint64_t name = number(at + 28, 2), extra = number(at + 30, 2);
      ZipMember member{bytes(at + 46, name),
                       {},
                       method(at + 8),
                       number(at + 24, 4),
                       number(at + 20, 4),
                       number(at + 42, 4),
                       std::uint32_t(number(at + 16, 4))};
      widen(member, bytes(at + 46 + name, extra));
      open(member);
      packed += member.compressed;
      if (packed > file_.size()) fail("members overlap");  // a few bytes would become many files
      result.push_back(member);
      at += 46 + name + extra + number(at + 32, 2);
    }
    if (const SortedNames names(result); names.twice())
      fail(text("it has the member ", printable(*names.twice()), " twice"));
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { throw_bad_zip(path_, reason); }
  std::string_view bytes(std::uint64_t at, std::uint64_t count) const {
    if (at > file_.size() || count > file_.size() - at) fail("it is cut off");
    return file_.substr(std::size_t(at), std::size_t(count));
  }
  std::uint64_t number(std::uint64_t at, unsigned size) const { return number_in(bytes(at, size)); }
  static std::uint64_t number_in(std::string_view little_endian) {
    std::uint64_t value = 0;
    for (std::size_t i = little_endian.size(); i-- > 0;)
      value = value << 8 | static_cast<unsigned char>(little_endian[i]);
    return value;
  }
  /// Of the flags and the method that stand there: whether it is deflated.
  bool method(std::uint64_t at) const {
    if (number(at, 2) & 1) fail("a member is encrypted");
    const std::uint64_t code = number(at + 2, 2);
    if (code != 0 && code != 8) fail(text("a member is compressed by method ", code, ", known are 0 and 8"));
    return code == 8;
  }
  void find_directory(std::uint64_t& at, std::uint64_t& count) const {
    constexpr std::size_t record = 22;
    const std::size_t end = file_.rfind("PK\x05\x06");
    if (end == file_.npos || file_.size() - end < record || number(end + 20, 2) != file_.size() - end - record)
      fail("there is no directory at its end");
    at = number(end + 16, 4), count = number(end + 10, 2);
    if (at != 0xffffffff && count != 0xffff) return;
    if (end < 20 || number(end - 20, 4) != 0x07064b50) return;
    const std::uint64_t wide = number(end - 12, 8);
    if (number(wide, 4) != 0x06064b50) fail("its directory of more than 4 GB is damaged");
    count = number(wide + 32, 8), at = number(wide + 48, 8);
  }
  /// Numbers above 4 GB stand in the extra field, in this order, as far as the short ones say so.
  void widen(ZipMember& member, std::string_view extra) const {
    while (extra.size() >= 4) {
      const std::uint64_t id = number_in(extra.substr(0, 2)), length = number_in(extra.substr(2, 2));
      if (length > extra.size() - 4) fail("its directory is damaged");
      std::string_view field = extra.substr(4, std::size_t(length));
      extra.remove_prefix(4 + std::size_t(length));
      if (id != 1) continue;
      for (std::uint64_t* wide : {&member.size, &member.compressed, &member.header})
        if (*wide == 0xffffffff) {
          if (field.size() < 8) fail("its directory is damaged");
          *wide = number_in(field.substr(0, 8));
          field.remove_prefix(8);
        }
    }
  }
  /// Finds the bytes of a member.
  void open(ZipMember& member) const {
    const std::uint64_t at = member.header;
    if (number(at, 4) != 0x04034b50) fail(text(printable(member.name), " is not where the directory says"));
    const std::uint64_t name = number(at + 26, 2), extra = number(at + 28, 2);
    ZipMember local{{}, {}, false, number(at + 22, 4), number(at + 18, 4), 0, std::uint32_t(number(at + 14, 4))};
    widen(local, bytes(at + 30 + name, extra));
    const bool has_sizes = !(number(at + 6, 2) & 8);  // else they follow the bytes
    if (bytes(at + 30, name) != member.name || method(at + 6) != member.deflated ||
        (has_sizes && (local.size != member.size || local.compressed != member.compressed || local.crc != member.crc)))
      fail(text(printable(member.name), " is another one than the directory says"));
    if (!member.deflated && member.size != member.compressed)
      fail(text(printable(member.name), " is stored with ", member.compressed, " bytes of ", member.size));
    member.packed = bytes(at + 30 + name + extra, member.compressed);
  }

  std::string_view file_;
  const std::string& path_;
};

#if defined(TENON_WITH_ZLIB)
/// Memory is taken as the bytes come, not for the size that is said.
inline std::string inflate_member(const ZipMember& member, const std::string& path) {
  z_stream stream{};
  if (::inflateInit2(&stream, -15) != Z_OK)
    throw_error<RuntimeError>("Cannot read '", path, "': zlib did not start; is memory exhausted?");
  constexpr std::size_t most = 1u << 30;  // zlib counts in 32 bits
  std::string content;
  std::size_t filled = 0, taken = 0;
  int code = Z_OK;
  while (code == Z_OK) {
    if (filled == content.size()) {
      if (filled > member.size) break;
      const std::size_t step = std::max<std::size_t>({1 << 16, filled / 2, 2 * member.packed.size()});
      content.resize(std::size_t(std::min<std::uint64_t>(filled + step, member.size + 1)));
    }
    const std::size_t given = std::min(member.packed.size() - taken, most),
                      room = std::min(content.size() - filled, most);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(member.packed.data() + taken));
    stream.avail_in = static_cast<uInt>(given);
    stream.next_out = reinterpret_cast<Bytef*>(content.data() + filled);
    stream.avail_out = static_cast<uInt>(room);
    code = ::inflate(&stream, Z_NO_FLUSH);
    taken += given - stream.avail_in;
    filled += room - stream.avail_out;
  }
  ::inflateEnd(&stream);
  if (code != Z_STREAM_END || filled != member.size || taken != member.packed.size())
    throw_bad_zip(path, text(printable(member.name), " does not inflate to its ", member.size, " bytes"));
  content.resize(filled);
  return content;
}
#else
inline std::string inflate_member(const ZipMember& member, const std::string& path) {
  throw_error<RuntimeError>(
      "Cannot read '", path, "': ", printable(member.name),
      " is compressed, and this program was built without zlib. Install the package zlib1g-dev and define "
      "TENON_WITH_ZLIB (CMake: find_package(tenon COMPONENTS zlib)), or save it with numpy.savez.");
}
#endif

}  // namespace detail

/// The members of an archive. Throws RuntimeError for what is damaged, encrypted, or there twice; path is for messages.
inline std::vector<ZipMember> zip_members(std::string_view file, const std::string& path) {
  return detail::ZipReader(file, path).members();
}

/// Throws RuntimeError unless the content has the checksum of the archive.
inline void check_content(const ZipMember& member, std::string_view content, const std::string& path) {
  if (crc32(content) != member.crc) throw_bad_zip(path, text("the checksum of ", printable(member.name), " is wrong"));
}
/// The content of a member, inflated if it is deflated. Throws RuntimeError if its checksum is another one.
inline std::string zip_content(const ZipMember& member, const std::string& path) {
  std::string content = member.deflated ? detail::inflate_member(member, path) : std::string(member.packed);
  check_content(member, content, path);
  return content;
}

/// Makes an archive of stored members. The heads stand before the contents, which are the caller's.
class ZipWriter {
 public:
  /// What stands before the content of one more member.
  std::string head(std::string_view name, std::uint64_t size, std::uint32_t crc) {
    const bool ascii = std::ranges::all_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    Text local, central;
    local.add(0x04034b50, 4).add(45, 2);
    central.add(0x02014b50, 4).add(45, 2).add(45, 2);
    for (Text* record : {&local, &central}) {
      const bool is_central = record == &central;
      record->add(ascii ? 0 : 0x800, 2).add(0, 2).add(0, 2).add(0x21, 2).add(crc, 4);  // stored, on 1 January 1980
      const Text wide = wide_field(size, is_central);
      record->add(narrow(size), 4).add(narrow(size), 4).add(name.size(), 2).add(wide.bytes.size(), 2);
      if (is_central) record->add(0, 2).add(0, 2).add(0, 2).add(0, 4).add(narrow(end_), 4);
      record->bytes += name;
      record->bytes += wide.bytes;
    }
    directory_ += central.bytes;
    ++count_;
    end_ += local.bytes.size() + size;
    return local.bytes;
  }
  /// What follows the last member.
  std::string tail() const {
    Text end;
    const std::uint64_t length = directory_.size(), behind = end_ + length;
    if (narrow(end_) == 0xffffffff || count_ >= 0xffff) {
      end.add(0x06064b50, 4).add(44, 8).add(45, 2).add(45, 2).add(0, 4).add(0, 4);
      end.add(count_, 8).add(count_, 8).add(length, 8).add(end_, 8);
      end.add(0x07064b50, 4).add(0, 4).add(behind, 8).add(1, 4);
    }
    const std::uint64_t shown = std::min<std::uint64_t>(count_, 0xffff);
    end.add(0x06054b50, 4).add(0, 4).add(shown, 2).add(shown, 2).add(narrow(length), 4).add(narrow(end_), 4).add(0, 2);
    return directory_ + end.bytes;
  }

 private:
  struct Text {
    std::string bytes;
    Text& add(std::uint64_t value, int size) {
      for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> 8 * i & 255);
      return *this;
    }
  };
  static std::uint64_t narrow(std::uint64_t value) { return std::min<std::uint64_t>(value, 0xffffffff); }
  Text wide_field(std::uint64_t size, bool is_central) const {
    Text numbers, field;
    if (narrow(size) == 0xffffffff) numbers.add(size, 8).add(size, 8);
    if (is_central && narrow(end_) == 0xffffffff) numbers.add(end_, 8);
    if (!numbers.bytes.empty()) field.add(1, 2).add(numbers.bytes.size(), 2).bytes += numbers.bytes;
    return field;
  }

  std::string directory_;
  std::uint64_t end_ = 0, count_ = 0;
};

}  // namespace tenon::io
