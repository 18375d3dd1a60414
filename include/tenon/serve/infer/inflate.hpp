// Bodies of requests that are compressed (Content-Encoding), by zlib.
#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#if defined(TENON_WITH_ZLIB)
#include <zlib.h>
#endif

#include <tenon/core/function_ref.hpp>
#include <tenon/serve/signature.hpp>

namespace tenon::inline TENON_ABI::serving {

/// Content codings that a program with zlib reads: deflate is the form of zlib, as HTTP says.
enum class Coding : unsigned char { none, gzip, deflate, other };

#if defined(TENON_WITH_ZLIB)
inline constexpr bool has_codings = true;
inline constexpr std::string_view which_codings = "the body has a Content-Encoding other than gzip and deflate";

/// The content of a compressed body, of `most` bytes at most. Its memory grows with it: `take` gets the number of bytes
/// before each growth, and may throw.
///
/// throws  Refusal, also of bytes that are damaged, cut off, or followed by others
inline std::string inflated(std::string_view body, Coding coding, std::size_t most, FunctionRef<std::size_t> take) {
  struct Stream : ::z_stream {
    Stream() : ::z_stream{} {}
    ~Stream() { ::inflateEnd(this); }
  } stream;
  if (::inflateInit2(&stream, coding == Coding::gzip ? 15 + 16 : 15) != Z_OK) throw Refusal{503, "out of memory"};
  constexpr std::size_t at_once = std::size_t{1} << 30;  // zlib counts in 32 bits
  std::string content;
  std::size_t filled = 0;
  for (int code = Z_OK; code != Z_STREAM_END;) {
    if (filled == content.size()) {
      if (filled > most) throw Refusal{413, "the body inflates to more than the limit"};
      std::size_t step = std::max({std::size_t{1} << 14, filled, 2 * body.size()});
      if (most - filled < step) step = most - filled + 1;  // one more than the limit shows that there is more
      take(step);
      content.resize(filled + step);
    }
    const std::size_t given = std::min(body.size(), at_once), room = std::min(content.size() - filled, at_once);
    stream.next_in = reinterpret_cast<::Bytef*>(const_cast<char*>(body.data()));
    stream.avail_in = static_cast<::uInt>(given);
    stream.next_out = reinterpret_cast<::Bytef*>(content.data() + filled);
    stream.avail_out = static_cast<::uInt>(room);
    code = ::inflate(&stream, Z_NO_FLUSH);
    body.remove_prefix(given - stream.avail_in);
    filled += room - stream.avail_out;
    if (code == Z_BUF_ERROR || (code == Z_OK && body.empty() && stream.avail_out > 0))
      throw Refusal{400, "the compressed body ends too early"};
    if (code != Z_OK && code != Z_STREAM_END) throw Refusal{400, "the compressed body is damaged"};
  }
  if (filled > most) throw Refusal{413, "the body inflates to more than the limit"};
  if (!body.empty()) throw Refusal{400, "bytes follow the compressed body"};
  content.resize(filled);
  return content;
}
#else
inline constexpr bool has_codings = false;
inline constexpr std::string_view which_codings =
    "the body is compressed, and the server was built without zlib: send it as it is";

inline std::string inflated(std::string_view, Coding, std::size_t, FunctionRef<std::size_t>) {
  throw Refusal{415, std::string(which_codings)};
}
#endif

}  // namespace tenon::serving
