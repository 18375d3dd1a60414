// Decodes PNG images. libpng stays behind this header; io/png.hpp writes them.
#pragma once
#include <atomic>
#include <bit>
#include <csetjmp>
#include <cstring>
#include <string_view>
#include <vector>

#include <tenon/core/log/log.hpp>
#include <tenon/vision/decode_options.hpp>

namespace tenon::inline TENON_ABI::vision {

/// True if the bytes begin as every PNG file does.
inline bool is_png(std::string_view bytes) { return bytes.substr(0, 8) == std::string_view("\x89PNG\r\n\x1a\n", 8); }

#if defined(TENON_WITH_PNG)
namespace detail {

/// libpng's state for one image; its errors come back by longjmp (see JpegState).
struct PngState {
  png_structp file;
  png_infop info;
  std::string_view bytes;
  std::size_t at;
  bool cut_off;
  char message[128];
  bool wide_gray;  // 16 bits and no channel of alpha: what PIL opens as "I;16"
  png_byte** rows;
  std::jmp_buf back;

  static PngState& of(png_structp file) { return *static_cast<PngState*>(png_get_error_ptr(file)); }
  [[gnu::noinline]] bool guarded(void (*work)(PngState&)) {
    if (setjmp(back)) return false;
    work(*this);
    return true;
  }
  [[noreturn]] static void give_up(png_structp file, png_const_charp why) {
    std::strncpy(of(file).message, why, sizeof message - 1);
    std::longjmp(of(file).back, 1);
  }
  static void stay_silent(png_structp, png_const_charp) {}
  static void read(png_structp file, png_bytep to, png_size_t count) {
    PngState& s = *static_cast<PngState*>(png_get_io_ptr(file));
    if (count > s.bytes.size() - s.at) {
      s.cut_off = true;
      png_error(file, "it is truncated");
    }
    std::memcpy(to, s.bytes.data() + s.at, count);
    s.at += count;
  }
  static void read_header(PngState& s) {
    s.file = png_create_read_struct(PNG_LIBPNG_VER_STRING, &s, give_up, stay_silent);
    if (s.file) s.info = png_create_info_struct(s.file);
    if (!s.info) std::longjmp(s.back, 1);
    png_set_read_fn(s.file, &s, read);
    png_set_user_limits(s.file, 0x7fffffff, 0x7fffffff);  // check_pixels is the limit
    png_set_chunk_cache_max(s.file, 100);
    png_set_chunk_malloc_max(s.file, 1 << 20);
    png_set_crc_action(s.file, PNG_CRC_DEFAULT, PNG_CRC_QUIET_USE);
    png_read_info(s.file, s.info);
  }
  /// Three channels of 8 bits, or, of wide gray, one of 16 bits in this machine's order. Alpha is dropped.
  static void set_output(PngState& s) {
    const int kind = png_get_color_type(s.file, s.info);
    s.wide_gray = kind == PNG_COLOR_TYPE_GRAY && png_get_bit_depth(s.file, s.info) == 16;
    if (!s.wide_gray) png_set_strip_16(s.file);
    else if constexpr (std::endian::native == std::endian::little) png_set_swap(s.file);
    png_set_expand(s.file);
    png_set_strip_alpha(s.file);
    if (!(kind & PNG_COLOR_MASK_COLOR) && !s.wide_gray) png_set_gray_to_rgb(s.file);
    png_set_interlace_handling(s.file);
    png_read_update_info(s.file, s.info);
    if (png_get_channels(s.file, s.info) != (s.wide_gray ? 1 : 3) ||
        png_get_bit_depth(s.file, s.info) != (s.wide_gray ? 16 : 8))
      png_error(s.file, "it is of a kind that is not known");
  }
  static void read_rows(PngState& s) { png_read_image(s.file, s.rows); }
};

}  // namespace detail

/// One PNG image, from its bytes, which must stay where they are: `PngDecoder(bytes).decode(out)`.
///
/// 1 to 16 bits, gray, palette, colours, interlaced. Alpha is dropped and a gamma is not applied. A file that is cut
/// off is refused. All of it is as by PIL's convert("RGB"), or convert("L") for one channel, to the bit:
/// of 16 bits PIL keeps the upper 8 where there are colours or alpha, and of plain gray (its mode "I;16") min(value,
/// 255). The latter makes most such images white, so it is a warning, once in a program.
///
/// source      Pillow 13
class PngDecoder {
 public:
  /// Reads the header. Throws RuntimeError if the bytes are no PNG image; ValueError if it has more pixels than
  /// allowed.
  explicit PngDecoder(std::string_view bytes, const DecodeOptions& options = {}) : options_(options), state_{} {
    detail::check_decode_options(options);
    if (!is_png(bytes))
      throw_error<RuntimeError>("Cannot decode an image of ", bytes.size(),
                                " bytes: it does not begin as a PNG file does.");
    state_.bytes = bytes;
    try {
      if (!state_.guarded(detail::PngState::read_header)) refuse();
      info_.height = int(png_get_image_height(state_.file, state_.info));
      info_.width = int(png_get_image_width(state_.file, state_.info));
      info_.stored_channels = png_get_color_type(state_.file, state_.info) == PNG_COLOR_TYPE_PALETTE
                                  ? 3
                                  : png_get_channels(state_.file, state_.info);
      detail::check_pixels("PNG", info_.height, info_.width, options);
      const std::size_t most_inflated = 1040 * bytes.size();  // what zlib makes of this many bytes, and more than that
      if (png_get_rowbytes(state_.file, state_.info) > most_inflated / std::size_t(info_.height)) {
        state_.cut_off = true;
        refuse();
      }
      if (!state_.guarded(detail::PngState::set_output)) refuse();
    } catch (...) {
      close();
      throw;
    }
  }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;
  ~PngDecoder() { close(); }

  const ImageInfo& info() const { return info_; }

  /// Writes the image, of info()'s extents and options' channels. Once. Throws RuntimeError if it is cut off or
  /// damaged; `out` then holds anything.
  void decode(ImageView<std::uint8_t> out) {
    detail::check_result("decode", out, info_.height, info_.width, options_.channels);
    if (state_.wide_gray) return decode_wide_gray(out);
    const ImageView<std::uint8_t> shape{nullptr, info_.height, info_.width, 3};
    std::vector<std::uint8_t> colours(options_.channels == 1 ? shape.size() : 0);
    const ImageView<std::uint8_t> rgb{options_.channels == 1 ? colours.data() : out.data, info_.height, info_.width, 3};
    std::vector<png_byte*> rows(std::size_t(info_.height));
    for (int y = 0; y < info_.height; ++y) rows[std::size_t(y)] = rgb.row(y);
    state_.rows = rows.data();
    if (!state_.guarded(detail::PngState::read_rows)) refuse();
    if (options_.channels == 1)
      for (std::size_t i = 0; i < out.size(); ++i)
        out.data[i] = detail::luma(colours[3 * i], colours[3 * i + 1], colours[3 * i + 2]);
  }

 private:
  DecodeOptions options_;
  ImageInfo info_;
  detail::PngState state_;

  void decode_wide_gray(ImageView<std::uint8_t> out) {
    const auto width = std::size_t(info_.width), height = std::size_t(info_.height);
    std::vector<std::uint16_t> values(width * height);
    std::vector<png_byte*> rows(height);
    for (std::size_t y = 0; y < height; ++y) rows[y] = reinterpret_cast<png_byte*>(values.data() + y * width);
    state_.rows = rows.data();
    if (!state_.guarded(detail::PngState::read_rows)) refuse();
    bool clipped = false;
    for (std::size_t i = 0; i < values.size(); ++i) {
      clipped |= values[i] > 255;
      const auto value = std::uint8_t(values[i] > 255 ? 255 : values[i]);
      for (int c = 0; c < options_.channels; ++c) out.data[i * std::size_t(options_.channels) + std::size_t(c)] = value;
    }
    static std::atomic<bool> told{false};
    if (clipped && !told.exchange(true))
      logging::warning("A PNG image of 16-bit gray has values above 255, which become 255, as PIL's convert does with "
                       "mode I;16: it may be all white. Save such images with 8 bits, in Python by "
                       "Image.fromarray((numpy.asarray(image) >> 8).astype('uint8')).");
  }
  void close() { png_destroy_read_struct(&state_.file, &state_.info, nullptr); }
  [[noreturn, gnu::cold]] void refuse() const {
    throw_error<RuntimeError>("Cannot decode a PNG image of ", state_.bytes.size(), " bytes: ",
                              state_.cut_off      ? "it is truncated"
                              : state_.message[0] ? static_cast<const char*>(state_.message)
                                                  : "memory is exhausted",
                              ". Download or copy it again.");
  }
};

#else

class PngDecoder {
 public:
  explicit PngDecoder(std::string_view bytes, const DecodeOptions& = {}) {
    throw_error<RuntimeError>(
        "Cannot decode a PNG image of ", bytes.size(),
        " bytes: this program was built without libpng. Install the package libpng-dev and define "
        "TENON_WITH_PNG (CMake: find_package(tenon COMPONENTS png), link tenon::png).");
  }
  const ImageInfo& info() const { return info_; }
  void decode(ImageView<std::uint8_t>) {}

 private:
  ImageInfo info_;
};
#endif

}  // namespace tenon::vision
