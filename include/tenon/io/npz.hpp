// Reads and writes NumPy's .npz files: arrays with names, in a zip archive.
#pragma once
#include <cstddef>
#include <cstdint>
#include <list>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/npy.hpp>
#include <tenon/io/path/refuse_file.hpp>
#include <tenon/io/tensors/held_tensors.hpp>
#include <tenon/io/tensors/sorted_names.hpp>
#include <tenon/io/tensors/zip.hpp>

namespace tenon::inline TENON_ABI::io {

/// A .npz file in memory. Reads and checks the whole file on construction, and owns its arrays, which are row-major in
/// this machine's form, whatever they are in the file.
///
/// limit       most bytes of arrays accepted; a compressed file of a few bytes may claim any number
/// throws      RuntimeError if the file cannot be read, is damaged, larger than limit, compressed where Tenon is built
///             without zlib, or holds an array of elements that Tenon does not have: texts, complex numbers, objects
/// source      NumPy's savez and savez_compressed. There a name may be there twice; here it is refused
class Npz {
 public:
  explicit Npz(const std::string& path, std::uint64_t limit = default_file_limit)
      : Npz(std::string_view(read_file(path, limit)), path, limit) {}
  /// Of the bytes of a file; path is for messages.
  Npz(std::string_view file, const std::string& path, std::uint64_t limit = default_file_limit);

  /// The arrays in the order of the file, named without ".npy". The views are valid as long as this object or the one
  /// it is moved to lives.
  std::span<const NamedTensor> tensors() const { return {tensors_.data(), tensors_.size()}; }
  /// The array of that name, or a null pointer.
  const AnyTensor* find(std::string_view name) const {
    const std::size_t found = index_.find(name);
    return found == SortedNames::none ? nullptr : &tensors_[found].tensor;
  }

 private:
  std::vector<AlignedBytes> data_;
  std::vector<NamedTensor> tensors_;
  SortedNames index_;  // of tensors_
};

inline Npz::Npz(std::string_view file, const std::string& path, std::uint64_t limit) try {
  constexpr std::string_view suffix = ".npy";
  std::uint64_t left = limit;
  for (const ZipMember& member : zip_members(file, path)) {
    if (!member.name.ends_with(suffix))
      throw_bad_zip(path, text("its member ", printable(member.name), " is no array: its name has no '.npy'",
                               member.name.ends_with("data.pkl") ? "; " : "",
                               member.name.ends_with("data.pkl") ? torch_save_advice : std::string_view()));
    if (member.size > left) throw_file_too_large(path, text("arrays of more than ", limit), limit);
    left -= member.size;
    const std::string where = path + ":" + std::string(member.name), content = zip_content(member, path);
    const NpyHeader header = parse_npy_header(content, where);
    AnyTensor tensor(header.dtype, header.shape(), nullptr);
    tensor.data = data_.emplace_back(tensor.bytes(), content_of(path).c_str()).data();
    copy_npy_elements(header, content, tensor, where);
    tensors_.push_back({std::string(member.name.substr(0, member.name.size() - suffix.size())), tensor});
  }
  index_ = SortedNames(tensors_);
} catch (const std::bad_alloc&) {
  refuse_file(file.size(), path);
}

/// Writes the tensors as one file that appears complete or not at all, as numpy.savez does. NumPy has no bfloat16: such
/// tensors become float32, with the same values.
///
/// tensors     names unique, UTF-8; data on the CPU
/// throws      ValueError for a name or tensor that the format cannot hold, RuntimeError if the file cannot be written
inline void save_npz(const std::string& path, std::span<const NamedTensor> tensors) try {
  check_tensors("save", path, tensors);
  std::list<std::string> owned;  // the parts point into them
  std::vector<std::span<const std::byte>> parts;
  const auto add = [&](std::string text) {
    parts.push_back(std::as_bytes(std::span(static_cast<const std::string&>(owned.emplace_back(std::move(text))))));
  };
  ZipWriter zip;
  for (const NamedTensor& named : tensors) {
    if (named.name.size() > 60000 || find_bad_utf8(named.name) != named.name.npos)
      throw_error<ValueError>("Cannot save '", path, "': the name ", printable(named.name), " is not UTF-8, or long.");
    const AnyTensor& tensor = named.tensor;
    std::string_view content(static_cast<const char*>(tensor.data), tensor.bytes());
    const bool widened = tensor.dtype == Dtype::bfloat16;
    if (widened) {
      std::string& wide = owned.emplace_back();
      for (const bfloat16 value : tensor.as<bfloat16>()) {
        const float single = value;
        wide.append(reinterpret_cast<const char*>(&single), sizeof single);
      }
      content = wide;
    }
    std::string header = npy_header(widened ? Dtype::float32 : tensor.dtype, tensor.shape());
    const std::uint32_t crc = crc32(content, crc32(header));
    add(zip.head(named.name + ".npy", header.size() + content.size(), crc));
    add(std::move(header));
    parts.push_back(std::as_bytes(std::span(content.data(), content.size())));
  }
  add(zip.tail());
  write_file(path, {parts.data(), parts.size()});
} catch (const std::bad_alloc&) {
  refuse_file(bytes_of(tensors), path);
}

}  // namespace tenon::io
