// Reads IDX, the format of MNIST's files: a magic number, the extents, the bytes (yann.lecun.com/exdb/mnist).
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/any_tensor.hpp>
#include <tenon/io/gzip.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// The content of an IDX file of unsigned bytes.
class Idx {
 public:
  /// Reads a file, plain or .gz. Throws RuntimeError if it cannot be read, is no IDX file of bytes, has not exactly
  /// `rank` axes, or holds more or less than its header says; no memory is taken on the header's word.
  Idx(const std::string& path, int rank, std::uint64_t limit) : Idx(path, io::read_gzip_or_plain(path, limit), rank) {}

  /// Takes the content of a file; path is for messages.
  Idx(const std::string& path, std::string content, int rank) : content_(std::move(content)), rank_(rank) {
    if (rank < 1 || rank > AnyTensor::max_axes)
      throw_error<ValueError>("An IDX file was asked for ", rank, " axes, legal are 1 .. ", +AnyTensor::max_axes, ".");
    if (content_.size() >= 4) check_magic(path);
    if (content_.size() < header_bytes())
      fail(path, text("it has ", bytes(content_.size()), ", the header alone takes ", header_bytes()));
    const std::uint64_t held = content_.size() - header_bytes();
    std::uint64_t claimed = 1;
    bool overflow = false;
    for (int axis = 0; axis < rank_; ++axis) {
      extent_[axis] = big_endian(4 + 4 * static_cast<std::size_t>(axis));
      overflow |= __builtin_mul_overflow(claimed, static_cast<std::uint64_t>(extent_[axis]), &claimed);
    }
    if (overflow || claimed != held)
      fail(path,
           text("its header says ", shape_text(shape()),
                overflow ? ", more bytes than can be counted" : text(" = ", bytes(claimed)), ", it holds ", held));
  }

  std::span<const std::int64_t> shape() const { return {extent_, static_cast<std::size_t>(rank_)}; }
  std::span<const std::uint8_t> values() const {
    return {reinterpret_cast<const std::uint8_t*>(content_.data()) + header_bytes(), content_.size() - header_bytes()};
  }

 private:
  std::size_t header_bytes() const { return 4 + 4 * static_cast<std::size_t>(rank_); }
  std::uint32_t big_endian(std::size_t at) const {
    std::uint32_t value = 0;
    for (std::size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<unsigned char>(content_[i]);
    return value;
  }
  [[noreturn, gnu::cold]] static void fail(const std::string& path, const std::string& found,
                                           std::string_view next = "Download or copy it again.") {
    throw_error<RuntimeError>("Cannot use '", path, "' as an IDX file: ", found, ". ", next);
  }
  [[gnu::cold]] static std::string bytes(std::uint64_t n) { return text(n, n == 1 ? " byte" : " bytes"); }
  [[gnu::cold]] static std::string axes(std::uint64_t n) { return text(n, n == 1 ? " axis" : " axes"); }
  [[gnu::cold]] void check_magic(const std::string& path) const {
    const std::uint32_t magic = big_endian(0), type = magic >> 8, found = magic & 255u;
    const auto asked = static_cast<std::uint32_t>(rank_);
    if (magic >> 16 != 0)
      fail(path, text("it begins with the number ", magic, ", an IDX file of bytes with ", axes(asked), " begins with ",
                      0x800 + asked));
    if (type != 8) fail(path, text("its elements are of IDX type ", type, ", only 8 (unsigned byte) is read"));
    if (found != asked)
      fail(path, text("it has ", axes(found), ", not ", asked), "Are the files of images and of labels mixed up?");
  }

  std::string content_;
  int rank_;
  std::int64_t extent_[AnyTensor::max_axes]{};
};

}  // namespace tenon::dataset
