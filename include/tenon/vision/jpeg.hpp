// Decodes JPEG images: whole, a part, or at a fraction of the size. libjpeg-turbo stays behind this header.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

#if defined(TENON_WITH_JPEG)
// jpeglib.h takes FILE and size_t from here
#include <csetjmp>
#include <cstdio>

#include <jerror.h>
#include <jpeglib.h>
#endif

#include <tenon/vision/decode_options.hpp>
#include <tenon/vision/exif_orientation.hpp>

namespace tenon::inline TENON_ABI::vision {

/// True if the bytes begin as every JPEG file does.
inline bool is_jpeg(std::string_view bytes) { return bytes.substr(0, 3) == "\xff\xd8\xff"; }

/// Whether this program can decode JPEG images.
#if defined(TENON_WITH_JPEG)
inline constexpr bool has_jpeg = true;

namespace detail {

/// libjpeg's state for one image. Its errors come back by longjmp, which must not leave out a destructor: between
/// `guarded` and libjpeg stand functions without objects.
struct JpegState {
  jpeg_decompress_struct file;
  jpeg_error_mgr errors;
  jpeg_source_mgr source;
  jpeg_progress_mgr progress;
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
  bool cut_off;
  int most_scans;
  // of decode
  ImageView<std::uint8_t> out;
  Rect part;

  static JpegState& of(j_common_ptr file) { return *static_cast<JpegState*>(file->client_data); }
  static JpegState& of(j_decompress_ptr file) { return *static_cast<JpegState*>(file->client_data); }

  /// False if libjpeg gave up; `message` then says why.
  [[gnu::noinline]] bool guarded(void (*work)(JpegState&)) {
    if (setjmp(back)) return false;
    work(*this);
    return true;
  }
  [[noreturn]] static void give_up(j_common_ptr file) {
    (*file->err->format_message)(file, of(file).message);
    std::longjmp(of(file).back, 1);
  }
  static void stay_silent(j_common_ptr, int) {}
  static void stay_silent(j_common_ptr) {}
  static void begin_source(j_decompress_ptr) {}
  /// All bytes are there from the beginning: what asks for more reads after the end.
  static boolean refill(j_decompress_ptr file) {
    of(file).cut_off = true;
    ERREXIT(file, JERR_INPUT_EOF);
    return FALSE;
  }
  static void skip(j_decompress_ptr file, long count) {
    if (count <= 0) return;
    if (std::size_t(count) > file->src->bytes_in_buffer) refill(file);
    file->src->next_input_byte += count;
    file->src->bytes_in_buffer -= std::size_t(count);
  }
  /// A progressive file of a few bytes can ask for thousands of passes over the image.
  static void count_scans(j_common_ptr file) {
    if (reinterpret_cast<j_decompress_ptr>(file)->input_scan_number > of(file).most_scans) {
      std::strcpy(of(file).message, "it has too many scans");
      std::longjmp(of(file).back, 1);
    }
  }

  void set_callbacks() {
    file = {};
    file.err = jpeg_std_error(&errors);
    errors.error_exit = give_up;
    errors.emit_message = stay_silent;
    errors.output_message = stay_silent;
    file.client_data = this;
    message[0] = 0;
    cut_off = false;
    most_scans = 500;
    source = {};
    source.init_source = begin_source;
    source.fill_input_buffer = refill;
    source.skip_input_data = skip;
    source.resync_to_restart = jpeg_resync_to_restart;
    source.term_source = begin_source;
    progress = {};
    progress.progress_monitor = count_scans;
  }
  static void read_header(JpegState& s) {
    jpeg_create_decompress(&s.file);
    s.file.client_data = &s;
    s.file.src = &s.source;
    s.file.progress = &s.progress;
    jpeg_read_header(&s.file, TRUE);
    jpeg_calc_output_dimensions(&s.file);
  }
  static void calculate_size(JpegState& s) { jpeg_calc_output_dimensions(&s.file); }

  bool is_cmyk() const { return file.out_color_space == JCS_CMYK; }
  void decode_part();
  void copy_pixels(const JSAMPLE* from, std::uint8_t* to, int count) const;
};

/// Colours of count pixels. Adobe's CMYK files, the only ones there are, hold 255 - ink. As PIL's convert("RGB").
inline void JpegState::copy_pixels(const JSAMPLE* from, std::uint8_t* to, int count) const {
  if (!is_cmyk()) {
    std::memcpy(to, from, std::size_t(count) * std::size_t(out.channels));
    return;
  }
  for (int x = 0; x < count; ++x, from += 4, to += out.channels) {
    const auto mixed = [black = from[3]](int free_of_ink) {
      const int product = (255 - free_of_ink) * black + 128;
      const int less = ((product >> 8) + product) >> 8;
      return black > less ? black - less : 0;
    };
    const int red = mixed(from[0]), green = mixed(from[1]), blue = mixed(from[2]);
    if (out.channels == 1) {
      to[0] = luma(red, green, blue);
    } else {
      to[0] = static_cast<std::uint8_t>(red);
      to[1] = static_cast<std::uint8_t>(green);
      to[2] = static_cast<std::uint8_t>(blue);
    }
  }
}

/// Decodes `part` into `out`; rows below it are not looked at, of those above and of what lies beside it only the
/// Huffman codes are read.
inline void JpegState::decode_part() {
  jpeg_start_decompress(&file);
  const int width = int(file.output_width), components = file.output_components;
  int left = 0, top = 0;
#if defined(LIBJPEG_TURBO_VERSION_NUMBER)
  if (part.width < width) {
    // Upsampled chroma looks at a neighbour on each side, which must be there as in the whole image.
    JDIMENSION first = JDIMENSION(part.left > 0 ? part.left - 1 : 0);
    const int end = part.left + part.width + 1 < width ? part.left + part.width + 1 : width;
    JDIMENSION count = JDIMENSION(end) - first;
    jpeg_crop_scanline(&file, &first, &count);
    left = int(first);
  }
  if (part.top > 0) top = int(jpeg_skip_scanlines(&file, JDIMENSION(part.top)));
#endif
  if (part.width == width && !is_cmyk()) {
    constexpr int most_rows = 16;
    while (top < part.top) {  // not skipped: there is room for it, it is written over
      JSAMPROW row = out.data;
      top += int(jpeg_read_scanlines(&file, &row, 1));
    }
    for (int y = 0; y < part.height;) {
      JSAMPROW rows[most_rows];
      const int count = part.height - y < most_rows ? part.height - y : most_rows;
      for (int k = 0; k < count; ++k) rows[k] = out.row(y + k);
      y += int(jpeg_read_scanlines(&file, rows, JDIMENSION(count)));
    }
  } else {
    JSAMPARRAY row = (*file.mem->alloc_sarray)(reinterpret_cast<j_common_ptr>(&file), JPOOL_IMAGE,
                                               file.output_width * JDIMENSION(components), 1);
    for (int y = top; y < part.top + part.height; ++y) {
      jpeg_read_scanlines(&file, row, 1);
      if (y >= part.top) copy_pixels(row[0] + (part.left - left) * components, out.row(y - part.top), part.width);
    }
  }
}

}  // namespace detail

/// One JPEG image, from its bytes, which must stay where they are: `JpegDecoder(bytes).decode(out)`.
///
/// Baseline and progressive, gray, YCbCr, RGB, CMYK, YCCK; 8 bits. Pixels are those of libjpeg-turbo's accurate inverse
/// DCT and smooth chroma, the same as PIL's, torchvision's and MindSpore's. Errors in the middle of the data give wrong
/// blocks, as there; a file that is cut off is refused.
class JpegDecoder {
 public:
  /// Reads the header. Throws RuntimeError if the bytes are no JPEG image, or too few for its size; ValueError if it
  /// has more pixels than allowed.
  explicit JpegDecoder(std::string_view bytes, const DecodeOptions& options = {}) : bytes_(bytes), options_(options) {
    detail::check_decode_options(options);
    state_.set_callbacks();
    state_.source.next_input_byte = reinterpret_cast<const JOCTET*>(bytes.data());
    state_.source.bytes_in_buffer = bytes.size();
    if (!is_jpeg(bytes)) {
      throw_error<RuntimeError>("Cannot decode an image of ", bytes.size(),
                                " bytes: it does not begin as a JPEG file does.");
    }
    if (!state_.guarded(detail::JpegState::read_header)) refuse();
    try {
      set_output();
    } catch (...) {
      jpeg_destroy_decompress(&state_.file);
      throw;
    }
  }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;
  ~JpegDecoder() { jpeg_destroy_decompress(&state_.file); }

  const ImageInfo& info() const { return info_; }

  /// Writes the image, of info()'s extents and options' channels. Once. Throws RuntimeError if it is cut off or
  /// damaged; `out` then holds anything.
  void decode(ImageView<std::uint8_t> out) { decode(out, {0, 0, info_.height, info_.width}); }

  /// Writes a part of the image, the same pixels as in the whole; less is decoded for it. Throws ValueError unless the
  /// part lies inside.
  void decode(ImageView<std::uint8_t> out, const Rect& part) {
    const ImageView<const std::uint8_t> whole{nullptr, info_.height, info_.width, options_.channels};
    detail::check_inside("decode", whole, part);
    detail::check_result("decode", out, part.height, part.width, options_.channels);
    const int orientation = info_.orientation;
    state_.part = stored_rect(part, orientation, int(state_.file.output_height), int(state_.file.output_width));
    state_.out = out;
    std::vector<std::uint8_t> stored;
    if (orientation != 1) {
      stored.resize(out.size());
      state_.out = {stored.data(), state_.part.height, state_.part.width, out.channels};
    }
    if (!state_.guarded([](detail::JpegState& s) { s.decode_part(); })) refuse();
    if (orientation != 1) turn_upright(ImageView<const std::uint8_t>(state_.out), orientation, out);
  }

 private:
  std::string_view bytes_;
  DecodeOptions options_;
  ImageInfo info_;
  detail::JpegState state_;

  void set_output() {
    jpeg_decompress_struct& file = state_.file;
    const std::int64_t height = file.image_height, width = file.image_width;
    detail::check_pixels("JPEG", height, width, options_);
    // A block of 8 x 8 pixels takes a bit, in strange but legal files of larger blocks a sixteenth.
    if (!file.arith_code && height * width / (64 * 8 * 16) > std::int64_t(bytes_.size())) {
      state_.cut_off = true;
      refuse_cut_off();
    }
    const std::int64_t pixels = height * width, most = std::min(options_.max_pixels, state_.most_scans * pixels);
    state_.most_scans = int(std::min<std::int64_t>(state_.most_scans, 20 * most / pixels));
    const bool cmyk = file.jpeg_color_space == JCS_CMYK || file.jpeg_color_space == JCS_YCCK;
    file.out_color_space = cmyk ? JCS_CMYK : options_.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    file.scale_num = static_cast<unsigned>(options_.eighths);
    file.scale_denom = 8;
    if (!state_.guarded(detail::JpegState::calculate_size)) throw_refused();
    info_.orientation = options_.upright ? exif_orientation(bytes_) : 1;
    const bool exchanged = exchanges_axes(info_.orientation);
    info_.height = int(exchanged ? file.output_width : file.output_height);
    info_.width = int(exchanged ? file.output_height : file.output_width);
    info_.stored_channels = file.num_components;
  }
  [[noreturn, gnu::cold]] void refuse_cut_off() const {
    throw_error<RuntimeError>("Cannot decode a JPEG image of ", bytes_.size(),
                              " bytes: it is truncated. Download or copy it again.");
  }
  [[noreturn, gnu::cold]] void throw_refused() const {
    if (state_.cut_off) refuse_cut_off();
    throw_error<RuntimeError>("Cannot decode a JPEG image of ", bytes_.size(),
                              " bytes: ", static_cast<const char*>(state_.message),
                              ". It is damaged or of a kind that libjpeg-turbo does not know.");
  }
  /// In the constructor nothing else would free what libjpeg has.
  [[noreturn, gnu::cold]] void refuse() {
    jpeg_destroy_decompress(&state_.file);  // may be done again
    throw_refused();
  }
};

#else
inline constexpr bool has_jpeg = false;

class JpegDecoder {
 public:
  explicit JpegDecoder(std::string_view bytes, const DecodeOptions& = {}) {
    throw_error<RuntimeError>("Cannot decode a JPEG image of ", bytes.size(),
                              " bytes: this program was built without libjpeg-turbo. Install the package libjpeg-dev "
                              "and define TENON_WITH_JPEG (CMake: find_package(tenon COMPONENTS jpeg), link "
                              "tenon::jpeg).");
  }
  const ImageInfo& info() const { return info_; }
  void decode(ImageView<std::uint8_t>) {}
  void decode(ImageView<std::uint8_t>, const Rect&) {}

 private:
  ImageInfo info_;
};
#endif

}  // namespace tenon::vision
