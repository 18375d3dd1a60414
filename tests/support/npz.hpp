// Reads .npz files (a zip of .npy arrays, stored or deflated) for tests. Needs zlib, except for stored files.
#pragma once
#include <map>
#if TENON_WITH_ZLIB
#include <zlib.h>
#endif

#include "npy.hpp"

namespace support {

/// The arrays of a .npz file, by name without ".npy".
class Npz {
 public:
  explicit Npz(const std::string& path) : path_(path) {}
  const std::string& path() const { return path_; }
  bool has(const std::string& name) const { return arrays_.contains(name); }
  /// Throws KeyError that lists what is there.
  const NpyArray& operator[](const std::string& name) const {
    if (const auto found = arrays_.find(name); found != arrays_.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [known, array] : arrays_) names.push_back(known);
    throw tenon::KeyError(tenon::text(path_, " has no array '", name, "', it has ", tenon::quoted_list(names)));
  }
  const std::map<std::string, NpyArray>& arrays() const { return arrays_; }
  void add(const std::string& name, NpyArray array) { arrays_[name] = std::move(array); }

 private:
  std::string path_;
  std::map<std::string, NpyArray> arrays_;
};

namespace detail {

/// A zip archive in memory; every access is checked against its size.
class Zip {
 public:
  struct Entry {
    std::string name;
    std::uint64_t method, compressed, size, header, crc;
  };
  Zip(std::string_view file, const std::string& path) : file_(file), path_(path) {}

  std::vector<Entry> entries() const {
    std::uint64_t at = directory();
    const std::uint64_t count = count_;
    std::vector<Entry> result;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (number(at, 4) != 0x02014b50) fail("its directory is damaged");
      const std::uint64_t name = number(at + 28, 2), extra = number(at + 30, 2);
      Entry e{std::string(bytes(at + 46, name)),
              number(at + 10, 2),
              number(at + 20, 4),
              number(at + 24, 4),
              number(at + 42, 4),
              number(at + 16, 4)};
      widen(e, at + 46 + name, extra);
      result.push_back(e);
      at += 46 + name + extra + number(at + 32, 2);
    }
    return result;
  }
  std::string content(const Entry& e) const {
    if (number(e.header, 4) != 0x04034b50) fail("an entry is not where its directory says: " + e.name);
    const std::string_view packed =
        bytes(e.header + 30 + number(e.header + 26, 2) + number(e.header + 28, 2), e.compressed);
    if (e.method == 0) return std::string(packed);
    if (e.method != 8) fail("unknown compression of " + e.name);
    return inflate(packed, e);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw tenon::ValueError(tenon::text("Cannot read the zip file '", path_, "': ", what, "."));
  }
  std::string_view bytes(std::uint64_t at, std::uint64_t count) const {
    if (at > file_.size() || count > file_.size() - at) fail("it is cut off");
    return file_.substr(static_cast<std::size_t>(at), static_cast<std::size_t>(count));
  }
  std::uint64_t number(std::uint64_t at, int size) const {
    std::uint64_t value = 0;
    const std::string_view from = bytes(at, static_cast<std::uint64_t>(size));
    for (int i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(from[static_cast<std::size_t>(i)]);
    return value;
  }
  // Where the directory starts; sets count_.
  std::uint64_t directory() const {
    const std::size_t end = file_.rfind("PK\x05\x06");
    if (end == file_.npos) fail("it is no zip file");
    count_ = number(end + 10, 2);
    const std::uint64_t start = number(end + 16, 4);
    if (count_ != 0xffff && start != 0xffffffff) return start;
    if (end < 20 || number(end - 20, 4) != 0x07064b50) fail("its zip64 part is missing");
    const std::uint64_t wide = number(end - 12, 8);
    count_ = number(wide + 32, 8);
    return number(wide + 48, 8);
  }
  // Sizes above 4 GB stand in the extra field, in this order, as far as the short fields say so.
  void widen(Entry& e, std::uint64_t at, std::uint64_t length) const {
    for (const std::uint64_t end = at + length; at + 4 <= end; at += 4 + number(at + 2, 2)) {
      if (number(at, 2) != 1) continue;
      std::uint64_t from = at + 4;
      for (std::uint64_t* field : {&e.size, &e.compressed, &e.header})
        if (*field == 0xffffffff) *field = number(from, 8), from += 8;
    }
  }
#if TENON_WITH_ZLIB
  std::string inflate(std::string_view packed, const Entry& e) const {
    if (e.size / 1100 > e.compressed + 1) fail(e.name + " claims a size that deflate cannot reach");
    std::string result(static_cast<std::size_t>(e.size), '\0');
    z_stream stream{};
    if (inflateInit2(&stream, -15) != Z_OK) fail("zlib does not start");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(result.data());
    stream.avail_out = static_cast<uInt>(result.size());
    const int code = ::inflate(&stream, Z_FINISH);
    const bool complete = code == Z_STREAM_END && stream.avail_out == 0;
    inflateEnd(&stream);
    if (!complete) fail(e.name + " does not inflate to its size");
    if (crc32(0, reinterpret_cast<const Bytef*>(result.data()), static_cast<uInt>(result.size())) != e.crc)
      fail("the checksum of " + e.name + " is wrong");
    return result;
  }
#else
  std::string inflate(std::string_view, const Entry& e) const {
    fail(e.name + " is deflated, and this test was built without zlib (install zlib1g-dev, define TENON_WITH_ZLIB=1)");
  }
#endif

  std::string_view file_;
  const std::string& path_;
  mutable std::uint64_t count_ = 0;
};

}  // namespace detail

/// Reads every array of a .npz file.
/// throws      RuntimeError if the file cannot be opened, ValueError or TypeError for what stands in it
inline Npz load_npz(const std::string& path) {
  const std::string file = tenon::io::read_file(path);
  const detail::Zip zip(file, path);
  Npz npz(path);
  for (const auto& entry : zip.entries()) {
    const std::string name = entry.name.ends_with(".npy") ? entry.name.substr(0, entry.name.size() - 4) : entry.name;
    npz.add(name, parse_npy(zip.content(entry), path + ":" + name));
  }
  return npz;
}

}  // namespace support
