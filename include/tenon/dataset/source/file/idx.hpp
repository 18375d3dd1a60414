// Reads IDX, the format of MNIST's files: a magic number, the extents, the bytes (yann.lecun.com/exdb/mnist).
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include <tenon/core/tensor/any_tensor.hpp>
#if TENON_DEFINES
#include <string_view>
#include <utility>

#include <tenon/io/bytes/gzip.hpp>
#endif

namespace tenon::inline TENON_ABI::dataset {

/// The content of an IDX file of unsigned bytes.
class Idx {
 public:
  /// Reads a file, plain or .gz. Throws RuntimeError if the file cannot be read, is no IDX file of bytes, does not have
  /// exactly `rank` axes, or contains more or less data than its header states. Memory is allocated only for data that
  /// the file really contains.
  Idx(const std::string& path, int rank, std::uint64_t limit);

  /// Takes the content of a file; path is for messages.
  Idx(const std::string& path, std::string content, int rank);

  std::span<const std::int64_t> shape() const { return {extent_, static_cast<std::size_t>(rank_)}; }
  std::span<const std::uint8_t> values() const {
    return {reinterpret_cast<const std::uint8_t*>(content_.data()) + header_bytes(), content_.size() - header_bytes()};
  }

 private:
  std::size_t header_bytes() const { return 4 + 4 * static_cast<std::size_t>(rank_); }
  std::uint32_t big_endian(std::size_t at) const;
  [[gnu::cold]] void check_magic(const std::string& path) const;

  std::string content_;
  int rank_;
  std::int64_t extent_[AnyTensor::max_axes]{};
};

#if TENON_DEFINES
namespace detail {
[[noreturn, gnu::cold]] inline void refuse_idx(const std::string& path, const std::string& found,
                                               std::string_view next = "Download or copy it again.") {
  throw_error<RuntimeError>("Cannot use '", path, "' as an IDX file: ", found, ". ", next);
}
[[gnu::cold]] inline std::string bytes_text(std::uint64_t n) { return text(n, n == 1 ? " byte" : " bytes"); }
[[gnu::cold]] inline std::string axes_text(std::uint64_t n) { return text(n, n == 1 ? " axis" : " axes"); }
}  // namespace detail

[[gnu::cold]] TENON_INLINE_CONSTRUCTOR Idx::Idx(const std::string& path, int rank, std::uint64_t limit)
    : Idx(path, io::read_gzip_or_plain(path, limit), rank) {}
TENON_INLINE std::uint32_t Idx::big_endian(std::size_t at) const {
  std::uint32_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<unsigned char>(content_[i]);
  return value;
}
[[gnu::cold]] TENON_INLINE void Idx::check_magic(const std::string& path) const {
  const std::uint32_t magic = big_endian(0), type = magic >> 8, found = magic & 255u;
  const auto asked = static_cast<std::uint32_t>(rank_);
  if (magic >> 16 != 0)
    detail::refuse_idx(path, text("it begins with the number ", magic, ", an IDX file of bytes with ",
                                  detail::axes_text(asked), " begins with ", 0x800 + asked));
  if (type != 8)
    detail::refuse_idx(path, text("its elements are of IDX type ", type, ", only 8 (unsigned byte) is read"));
  if (found != asked)
    detail::refuse_idx(path, text("it has ", detail::axes_text(found), ", not ", asked),
                       "Are the files of images and of labels mixed up?");
}
[[gnu::cold]] TENON_INLINE_CONSTRUCTOR Idx::Idx(const std::string& path, std::string content, int rank)
    : content_(std::move(content)), rank_(rank) {
  if (rank < 1 || rank > AnyTensor::max_axes)
    throw_error<ValueError>("An IDX file was asked for ", rank, " axes, legal are 1 .. ", +AnyTensor::max_axes, ".");
  if (content_.size() >= 4) check_magic(path);
  if (content_.size() < header_bytes())
    detail::refuse_idx(
        path, text("it has ", detail::bytes_text(content_.size()), ", the header alone takes ", header_bytes()));
  const std::uint64_t held = content_.size() - header_bytes();
  std::uint64_t claimed = 1;
  bool overflow = false;
  for (int axis = 0; axis < rank_; ++axis) {
    extent_[axis] = big_endian(4 + 4 * static_cast<std::size_t>(axis));
    overflow |= __builtin_mul_overflow(claimed, static_cast<std::uint64_t>(extent_[axis]), &claimed);
  }
  if (overflow || claimed != held)
    detail::refuse_idx(path,
                       text("its header says ", shape_text(shape()),
                            overflow ? ", more bytes than can be counted" : text(" = ", detail::bytes_text(claimed)),
                            ", it holds ", held));
}
#endif  // TENON_DEFINES

}  // namespace tenon::dataset
