// Reads the weights that Keras saves: .weights.h5 and .keras of Keras 3, .h5 of Keras 2 and 3.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if defined(TENON_WITH_ZLIB)
#include <zlib.h>
#endif

#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/npy.hpp>
#include <tenon/io/path/refuse_file.hpp>
#include <tenon/io/tensors/hdf5.hpp>
#include <tenon/io/tensors/held_tensors.hpp>
#include <tenon/io/tensors/sorted_names.hpp>
#include <tenon/io/tensors/zip.hpp>

namespace tenon::inline TENON_ABI::io {

/// Packed arrays have together at most this many times the bytes of the file, or 1 MB: a few bytes cannot claim all
/// memory.
inline constexpr std::uint64_t most_unpacked = 16;

/// A file of weights of Keras in memory. Reads and checks the whole file on construction, and owns its tensors, which
/// have Keras's layout: `load_keras_weights` of <tenon/train/keras.hpp> converts them for a network. Of a .keras
/// archive it reads model.weights.h5 alone, and of no file a configuration: nothing is executed, no other file opened.
///
/// limit       most bytes accepted, of the file and of its tensors
/// throws      RuntimeError if the file cannot be read, is damaged, above limit, or has what Keras does not write:
///             links, other files' data, filters other than gzip and shuffle, texts
/// source      save, save_weights of Keras 2.2 to 3.15; HDF5 File Format Specification 3.0
class Keras {
 public:
  explicit Keras(const std::string& path, std::uint64_t limit = default_file_limit)
      : Keras(std::string_view(read_file(path, limit)), path, limit) {}
  /// Of the bytes of a file; path is for messages.
  Keras(std::string_view file, const std::string& path, std::uint64_t limit = default_file_limit);

  /// The tensors, by their names with the groups: "layers/dense/vars/0", "model_weights/dense/dense/kernel:0". The
  /// views are valid as long as this object or the one it is moved to lives.
  std::span<const NamedTensor> tensors() const { return {tensors_.data(), tensors_.size()}; }
  /// The tensor of that name, or a null pointer.
  const AnyTensor* find(std::string_view name) const {
    const std::size_t found = index_.find(name);
    return found == SortedNames::none ? nullptr : &tensors_[found].tensor;
  }
  /// The names of layers that Keras 3 writes beside their groups: {"layers/dense/vars", "head"}.
  std::span<const Hdf5Label> labels() const { return {labels_.data(), labels_.size()}; }

 private:
  std::vector<AlignedBytes> data_;
  std::vector<NamedTensor> tensors_;
  std::vector<Hdf5Label> labels_;
  SortedNames index_;  // of tensors_
};

namespace detail {

/// The content of a chunk without its filters, in memory of its size.
inline void unpack_chunk(const Hdf5Chunk& chunk, const Hdf5Array& array, std::string& out, const std::string& path) {
  std::string inflated;
  std::string_view plain = chunk.packed;
  if (chunk.deflated) {
#if defined(TENON_WITH_ZLIB)
    inflated.resize(out.size());
    uLongf filled = uLongf(out.size());
    const int code = ::uncompress(reinterpret_cast<Bytef*>(inflated.data()), &filled,
                                  reinterpret_cast<const Bytef*>(plain.data()), uLong(plain.size()));
    if (code != Z_OK || filled != out.size())
      throw_bad_hdf5(path, text("a chunk of ", printable(array.name), " does not inflate to its size"));
    plain = inflated;
#else
    throw_bad_hdf5(path, text(printable(array.name),
                              " is compressed, and this program was built without zlib. Install the package "
                              "zlib1g-dev and define TENON_WITH_ZLIB (CMake: find_package(tenon COMPONENTS zlib))"));
#endif
  }
  if (plain.size() != out.size())
    throw_bad_hdf5(path, text("a chunk of ", printable(array.name), " has another size than its shape says"));
  const std::size_t size = size_of(array.dtype), count = out.size() / size;
  if (!chunk.shuffled) std::memcpy(out.data(), plain.data(), out.size());
  else
    for (std::size_t i = 0; i < out.size(); ++i) out[i % count * size + i / count] = plain[i];
}
/// Copies a chunk to its place, row by row, without what lies outside of the array.
inline void place_chunk(const Hdf5Chunk& chunk, const Hdf5Array& array, const std::string& from, std::byte* to) {
  const std::size_t rank = array.extents.size(), size = size_of(array.dtype);
  const auto within = [&](std::size_t axis) {
    return std::min(array.chunk_extents[axis], array.extents[axis] - chunk.first[axis]);
  };
  std::vector<std::int64_t> index(rank);
  for (bool is_left = true; is_left;) {
    std::uint64_t source = 0, target = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      source = source * std::uint64_t(array.chunk_extents[axis]) + std::uint64_t(index[axis]);
      target = target * std::uint64_t(array.extents[axis]) + std::uint64_t(chunk.first[axis] + index[axis]);
    }
    std::memcpy(to + target * size, from.data() + source * size, std::size_t(within(rank - 1)) * size);
    is_left = false;
    for (std::size_t axis = rank - 1; axis-- > 0 && !is_left;) {
      if (++index[axis] < within(axis)) is_left = true;
      else index[axis] = 0;
    }
  }
}
/// Throws RuntimeError unless each chunk is there once.
inline void check_chunks(const Hdf5Array& array, const std::string& path) {
  std::uint64_t needed = 1;
  for (std::size_t axis = 0; axis < array.extents.size(); ++axis) {
    const std::uint64_t along =
        std::uint64_t((array.extents[axis] + array.chunk_extents[axis] - 1) / array.chunk_extents[axis]);
    if (__builtin_mul_overflow(needed, along, &needed)) needed = ~std::uint64_t{0};
  }
  std::set<std::vector<std::int64_t>> places;
  for (const Hdf5Chunk& chunk : array.chunks) places.insert(chunk.first);
  if (places.size() != needed || array.chunks.size() != needed || array.extents.empty())
    throw_bad_hdf5(path, text(printable(array.name), " has ", array.chunks.size(), " chunks where its shape needs ",
                              needed, " different ones"));
}
/// Copies the elements of an array, whose size is checked, to memory.
inline void copy_array(const Hdf5Array& array, const AnyTensor& to, const std::string& path) {
  const std::size_t size = size_of(array.dtype);
  const std::span<std::byte> own(static_cast<std::byte*>(to.data), std::size_t(to.bytes()));
  if (own.empty()) return;
  if (!array.is_chunked) std::memcpy(own.data(), array.content.data(), own.size());
  std::uint64_t elements = 1;
  for (const std::int64_t extent : array.chunk_extents) elements *= std::uint64_t(extent);
  std::string plain(array.is_chunked ? std::size_t(elements) * size : 0, '\0');
  for (const Hdf5Chunk& chunk : array.chunks) {
    unpack_chunk(chunk, array, plain, path);
    place_chunk(chunk, array, plain, own.data());
  }
  if (array.is_swapped) swap_bytes(own, size);
}
/// The HDF5 file: the whole of it, or a member of the archive.
inline std::string_view weights_of(std::string_view file, const std::string& path, std::uint64_t limit,
                                   std::string& content) {
  if (!file.starts_with("PK")) return file;
  for (const ZipMember& member : zip_members(file, path)) {
    if (member.name != "model.weights.h5") continue;
    if (member.size > limit) throw_file_too_large(path, text("weights of ", member.size), limit);
    content = zip_content(member, path);
    return content;
  }
  throw_bad_hdf5(path, "its archive has no 'model.weights.h5', so Keras has not written it");
}
}  // namespace detail

inline Keras::Keras(std::string_view file, const std::string& path, std::uint64_t limit) try {
  std::string content;
  const std::string_view weights = detail::weights_of(file, path, limit, content);
  Hdf5Reader reader(weights, path);
  labels_ = std::move(reader.labels);
  std::uint64_t left = std::min(limit, std::max<std::uint64_t>(most_unpacked * weights.size(), 1 << 20));
  for (const Hdf5Array& array : reader.arrays) {
    std::uint64_t bytes = 0;
    if (!bytes_of_shape(array.extents, 8 * unsigned(size_of(array.dtype)), bytes))
      throw_bad_hdf5(path, text(printable(array.name), " has an impossible shape"));
    if (!array.is_chunked && array.content.size() != bytes)
      throw_bad_hdf5(
          path, text(printable(array.name), " has ", array.content.size(), " bytes where its shape needs ", bytes));
    if (array.is_chunked) detail::check_chunks(array, path);
    if (bytes > left)
      throw_bad_hdf5(path, text("its arrays have more than ", most_unpacked, " times as many bytes as the file, or ",
                                "than the limit of ", limit));
    left -= bytes;
    AnyTensor view(array.dtype, array.extents, nullptr);
    view.data = data_.emplace_back(std::size_t(bytes), content_of(path).c_str()).data();
    detail::copy_array(array, view, path);
    tensors_.push_back({array.name, view});
  }
  check_tensors("load", path, tensors_);
  index_ = SortedNames(tensors_);
} catch (const std::bad_alloc&) {
  refuse_file(file.size(), path);
}

}  // namespace tenon::io
