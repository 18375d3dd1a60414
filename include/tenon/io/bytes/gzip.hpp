// Reads a whole file that may be compressed with gzip. zlib stays behind this header.
#pragma once
#include <cstdint>
#include <new>
#include <string>
#include <string_view>

#if defined(TENON_WITH_ZLIB)
#include <zlib.h>
#endif

#include <tenon/core/math/min_max.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/path/refuse_file.hpp>

namespace tenon::inline TENON_ABI::io {

/// True if the bytes begin as every gzip file does.
inline bool is_gzip(std::string_view bytes) { return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b'; }

#if defined(TENON_WITH_ZLIB)

namespace detail {

/// zlib's state for one member of a gzip file.
class Inflater {
 public:
  explicit Inflater(const std::string& path) : path_(path) {
    if (::inflateInit2(&stream_, 15 + 16) != Z_OK)
      throw_error<RuntimeError>("Cannot read '", path, "': zlib did not start; is memory exhausted?");
  }
  Inflater(const Inflater&) = delete;
  ~Inflater() { ::inflateEnd(&stream_); }

  /// Inflates from input to output as far as either goes and shortens both. True at the end of a member.
  [[gnu::cold]] bool step(std::string_view& input, char*& output, std::size_t& room) {
    constexpr std::size_t most = 1u << 30;  // zlib counts in 32 bits
    const uInt given = static_cast<uInt>(math::min(input.size(), most)),
               offered = static_cast<uInt>(math::min(room, most));
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream_.avail_in = given;
    stream_.next_out = reinterpret_cast<Bytef*>(output);
    stream_.avail_out = offered;
    const int code = ::inflate(&stream_, Z_NO_FLUSH);
    input.remove_prefix(given - stream_.avail_in);
    output += offered - stream_.avail_out;
    room -= offered - stream_.avail_out;
    if (code == Z_STREAM_END) return true;
    if (code == Z_BUF_ERROR || (code == Z_OK && input.empty() && room > 0))
      throw_error<RuntimeError>("The gzip file '", path_,
                                "' ends too early: it was cut off. Download or copy it again.");
    if (code != Z_OK)
      throw_error<RuntimeError>("The gzip file '", path_,
                                "' is damaged: ", stream_.msg ? stream_.msg : "zlib refuses it",
                                ". Download or copy it again.");
    return false;
  }
  /// Makes ready for the next member.
  void restart() { ::inflateReset(&stream_); }

 private:
  const std::string& path_;
  z_stream stream_{};
};

[[noreturn, gnu::cold]] inline void throw_inflates_too_far(const std::string& path, std::uint64_t limit) {
  throw_error<RuntimeError>("The gzip file '", path, "' inflates to more than the ", limit,
                            " bytes allowed here; is it the right file?");
}

}  // namespace detail

/// The content of gzip-compressed bytes; path is for messages. Several members in a row are joined, as gzip does, and
/// zero bytes after the last one (padding of tapes) are ignored; the checksums are verified.
///
/// limit       most bytes accepted; a file that would inflate to more is given up there, before memory is taken for it
/// throws      RuntimeError if the data is cut off, damaged, followed by something else, or larger than limit
[[gnu::cold]] inline std::string gunzip(std::string_view compressed, const std::string& path, std::uint64_t limit) try {
  detail::Inflater inflater(path);
  std::string content;
  std::size_t filled = 0;
  for (bool member_ended = false;;) {
    if (member_ended) {
      if (compressed.find_first_not_of('\0') == std::string_view::npos) break;
      if (!is_gzip(compressed))
        throw_error<RuntimeError>("The gzip file '", path, "' is damaged: ", compressed.size(),
                                  " bytes of something else follow its end.");
      inflater.restart();
    }
    if (filled == content.size()) {
      if (filled > limit) detail::throw_inflates_too_far(path, limit);
      const std::uint64_t wanted =
          math::max<std::uint64_t>(filled + filled / 2, math::max<std::uint64_t>(1 << 16, compressed.size() * 2));
      // one more than the limit shows that it is exceeded
      content.resize(static_cast<std::size_t>(math::min(wanted, limit) + 1));
    }
    char* output = content.data() + filled;
    std::size_t room = content.size() - filled;
    member_ended = inflater.step(compressed, output, room);
    filled = content.size() - room;
  }
  if (filled > limit) detail::throw_inflates_too_far(path, limit);
  content.resize(filled);
  return content;
} catch (const std::bad_alloc&) {
  refuse_file(compressed.size(), path);
}

#else

inline std::string gunzip(std::string_view, const std::string& path, std::uint64_t) {
  throw_error<RuntimeError>(
      "Cannot read '", path,
      "': it is compressed with gzip, and this program was built without zlib. Install the package zlib1g-dev and "
      "define TENON_WITH_ZLIB (CMake: find_package(tenon COMPONENTS zlib)), or unpack the file with gunzip.");
}

#endif

/// The content of a file, inflated if it begins as a gzip file does; the name does not matter.
///
/// limit       most bytes of content accepted
/// throws      RuntimeError as read_file and gunzip do
inline std::string read_gzip_or_plain(const std::string& path, std::uint64_t limit = default_file_limit) {
  const std::uint64_t overhead = limit / 1024 + 4096;  // what cannot be compressed grows by less
  std::string bytes = read_file(path, limit + overhead < limit ? limit : limit + overhead);
  if (is_gzip(bytes)) return gunzip(bytes, path, limit);
  if (bytes.size() > limit) throw_file_too_large(path, text(bytes.size()), limit);
  return bytes;
}

}  // namespace tenon::io
