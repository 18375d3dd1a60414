// Reads and writes safetensors files, the container of parameters that other frameworks read as well.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/elsewhere.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/core/memory/growing.hpp>
#include <tenon/core/memory/owned.hpp>
#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/tensors/held_tensors.hpp>
#include <tenon/io/tensors/sorted_names.hpp>
#if TENON_DEFINES
#include <algorithm>
#include <cstring>

#include <tenon/io/path/refuse_file.hpp>
#include <tenon/io/tensors/safetensors_header.hpp>
#endif

namespace tenon::inline TENON_ABI::detail {
template <class... A>
inline constexpr bool is_included<Header::safetensors, A...> = true;
}  // namespace tenon::detail

namespace tenon::inline TENON_ABI::io {

static_assert(std::endian::native == std::endian::little,
              "safetensors files hold little-endian numbers, used as they lie: this machine is big-endian");

struct SafetensorsEntry;  // io/tensors/safetensors_header.hpp

/// A safetensors file in memory. Reads and checks the whole file on construction, and owns its bytes.
///
/// throws      RuntimeError if the file cannot be read, is damaged, breaks a rule of the format, or holds a bool other
///             than 0 and 1; the header is checked before memory is taken for the data
/// source      the format of huggingface/safetensors; stricter in that names must be unique, a tensor has no member but
///             dtype, shape and data_offsets, at most 8 axes, and only spaces follow the header
class Safetensors {
 public:
  [[gnu::cold]] explicit Safetensors(const std::string& path);

  /// The tensors in the order of their bytes. The views are valid as long as this object or the one it is moved to
  /// lives.
  std::span<const NamedTensor> tensors() const { return {tensors_.data(), tensors_.size()}; }
  /// The tensors whose element type Tenon does not have.
  std::span<const ForeignTensor> foreign() const { return {foreign_.begin(), foreign_.size()}; }
  std::span<const std::pair<std::string, std::string>> metadata() const { return {metadata_.data(), metadata_.size()}; }

  /// The tensor of that name, or a null pointer. Throws TypeError if it is there with an element type that Tenon does
  /// not have.
  const AnyTensor* find(std::string_view name) const;

 private:
  [[gnu::cold]] void add(SafetensorsEntry& entry);
  /// C++ gives no meaning to a bool with another byte than 0 or 1.
  [[gnu::cold]] void check_bools(const std::string& name, std::span<const std::byte> bytes) const;

  std::string path_;
  AlignedBytes data_;
  tenon::detail::Growing<AlignedBytes> copies_;  // tensors whose place in the file is not aligned
  std::vector<NamedTensor> tensors_;
  tenon::detail::Growing<ForeignTensor> foreign_;
  std::vector<std::pair<std::string, std::string>> metadata_;
  SortedNames index_;  // of tensors_
};

/// Writes the tensors as one file that appears complete or not at all, with the bytes that the reference implementation
/// writes: sorted by dtype, widest first, then by name; the header padded to a multiple of 8 bytes.
///
/// tensors     names unique, not empty, UTF-8, not "__metadata__"; data on the CPU
/// metadata    keys unique; keys and values UTF-8
/// throws      ValueError for a name, text or tensor that the format cannot hold, RuntimeError if the file cannot be
///             written
void save_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                      std::vector<std::pair<std::string, std::string>> metadata = {});

/// Copies the file's tensors into the views of the same names. With strict nothing is written unless everything
/// matches; without, what matches is.
///
/// into        names unique; data on the CPU
/// strict      refuse if a name is only in the file or only in into, or has another shape or dtype there
/// result      the names that were left out; all lists are empty with strict
/// throws      KeyError for unmatched names, TypeError for another dtype, ValueError for another shape (all strict);
///             ValueError for a bad view, RuntimeError if the file cannot be read
LoadReport load_safetensors(const std::string& path, std::span<const NamedTensor> into, bool strict = true);

#if TENON_DEFINES
namespace detail {
[[gnu::cold]] inline void read_exactly(const FileHandle& file, const std::string& path, std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t count = ::read(file.get(), into.data(), into.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_system_error("read", path);
    if (count == 0)
      throw_bad_safetensors(path, text("it became shorter while it was read, ", into.size(), " bytes are missing"));
    into = into.subspan(static_cast<std::size_t>(count));
  }
}

[[gnu::cold]] inline std::string read_header(const FileHandle& file, const std::string& path, std::uint64_t size) {
  if (size == 0) throw_bad_safetensors(path, "it is empty, or a pipe, whose size is not known before its end");
  if (size < 8)
    throw_bad_safetensors(
        path, text("it has ", size, size == 1 ? " byte" : " bytes", ", the length of the header alone takes 8"));
  std::uint64_t length = 0;
  read_exactly(file, path, {reinterpret_cast<std::byte*>(&length), sizeof length});
  if ((length & 0xffffffff) == 0x04034b50)  // "PK\3\4"
    throw_bad_safetensors(path, text("it is a zip archive, as numpy.savez writes; or ", torch_save_advice));
  const std::string announced = text("its first 8 bytes announce a header of ", length, " bytes, ");
  if (length > safetensors_header_limit)
    throw_bad_safetensors(path, text(announced, "at most ", safetensors_header_limit, " are allowed"));
  if (length > size - 8) throw_bad_safetensors(path, text(announced, "the file has only ", size - 8, " more"));
  std::string json(static_cast<std::size_t>(length), '\0');
  read_exactly(file, path, {reinterpret_cast<std::byte*>(json.data()), json.size()});
  return json;
}
}  // namespace detail

TENON_INLINE_CONSTRUCTOR Safetensors::Safetensors(const std::string& path) try {
  const FileHandle file = open_to_read(path);
  const std::uint64_t size = size_of_file(file, path);
  const std::string json = detail::read_header(file, path, size);
  const std::uint64_t data_bytes = size - 8 - json.size();
  SafetensorsHeader header = parse_safetensors_header(json, data_bytes, path);
  data_ = AlignedBytes(static_cast<std::size_t>(data_bytes), content_of(path).c_str());
  detail::read_exactly(file, path, {data_.data(), static_cast<std::size_t>(data_bytes)});
  metadata_ = std::move(header.metadata);
  path_ = path;
  for (SafetensorsEntry& entry : header.entries) add(entry);
  index_ = SortedNames(tensors_);
} catch (const std::bad_alloc&) {
  refuse_file(0, path);
}
TENON_INLINE const AnyTensor* Safetensors::find(std::string_view name) const {
  if (const std::size_t found = index_.find(name); found != SortedNames::none) return &tensors_[found].tensor;
  for (const ForeignTensor& tensor : foreign_)
    if (tensor.name == name) detail::throw_foreign(path_, tensor);
  return nullptr;
}

TENON_INLINE void Safetensors::add(SafetensorsEntry& entry) {
  std::byte* bytes = data_.data() + entry.begin;
  const auto size = static_cast<std::size_t>(entry.end - entry.begin);
  if (!entry.dtype->known) {
    foreign_.push_back(
        {std::move(entry.name), entry.dtype->name, {entry.shape().begin(), entry.shape().end()}, {bytes, size}});
    return;
  }
  if (entry.dtype->dtype == Dtype::bool_) check_bools(entry.name, {bytes, size});
  if (entry.begin % size_of(entry.dtype->dtype) != 0) {  // writers that do not sort by size
    std::byte* const copy = copies_.push_back(AlignedBytes(size)).data();
    std::memcpy(copy, bytes, size);
    bytes = copy;
  }
  tensors_.push_back({std::move(entry.name), AnyTensor(entry.dtype->dtype, entry.shape(), bytes)});
}
TENON_INLINE void Safetensors::check_bools(const std::string& name, std::span<const std::byte> bytes) const {
  const auto bad = std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; });
  if (bad == bytes.end()) return;
  throw_bad_safetensors(path_, text("element ", bad - bytes.begin(), " of the bool tensor ", printable(name), " is ",
                                    std::to_integer<int>(*bad)));
}

namespace detail {

[[gnu::cold, gnu::noinline]] inline void check_text(const std::string& path, std::string_view what,
                                                    std::string_view s) {
  if (const std::size_t bad = find_bad_utf8(s); bad != s.npos)
    throw_error<ValueError>("Cannot save '", path, "': the ", what, " ", printable(s), " is not UTF-8 at byte ", bad,
                            ".");
}

[[gnu::cold]] inline void check_before_save(const std::string& path, std::span<const NamedTensor> tensors,
                                            std::span<const std::pair<std::string, std::string>> metadata) {
  for (const NamedTensor& named : tensors) {
    if (named.name.empty())
      throw_error<ValueError>("Cannot save '", path, "': a tensor has an empty name; give it one.");
    if (named.name == "__metadata__")
      throw_error<ValueError>("Cannot save '", path,
                              "': the name '__metadata__' belongs to the format; choose another one.");
    check_text(path, "name", named.name);
  }
  check_tensors("save", path, tensors);
  std::vector<std::string_view> keys(metadata.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    check_text(path, "metadata key", keys[i] = metadata[i].first);
    check_text(path, "metadata value", metadata[i].second);
  }
  check_names_differ("save", path, SortedNames(keys));
}

}  // namespace detail

[[gnu::cold]] TENON_INLINE void save_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                                                 std::vector<std::pair<std::string, std::string>> metadata) try {
  detail::check_before_save(path, tensors, {metadata.data(), metadata.size()});
  tenon::detail::Growing<SortKey> order;
  order.fill(tensors.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = {std::uint64_t(std::end(safetensors_dtypes) - &safetensors_dtype(tensors[i].tensor.dtype)), 0,
                tensors[i].name, i};
  sort_keys(order);
  SafetensorsHeader header{{}, std::move(metadata)};
  // length, header, tensors
  const tenon::detail::Owned<std::span<const std::byte>[]> parts(new std::span<const std::byte>[order.size() + 2]);
  header.entries.fill(order.size());
  std::size_t part = 2;
  std::uint64_t end = 0;
  for (const SortKey& key : order) {
    const auto& [name, tensor] = tensors[key.index];
    SafetensorsEntry& entry = header.entries[part - 2];
    entry.name = name;
    entry.dtype = &safetensors_dtype(tensor.dtype);
    entry.rank = tensor.shape().size();
    std::copy(tensor.shape().begin(), tensor.shape().end(), entry.extent.begin());
    entry.begin = end;
    entry.end = end += tensor.bytes();
    parts[part++] = {static_cast<const std::byte*>(tensor.data), tensor.bytes()};
  }
  const std::string json = write_safetensors_header(header);
  const std::uint64_t length = json.size();
  if (length > safetensors_header_limit)
    throw_error<ValueError>("Cannot save '", path, "': the header has ", length, " bytes, at most ",
                            safetensors_header_limit, " are allowed; save fewer tensors per file.");
  parts[0] = {reinterpret_cast<const std::byte*>(&length), sizeof length};
  parts[1] = {reinterpret_cast<const std::byte*>(json.data()), json.size()};
  write_file(path, std::span<const std::span<const std::byte>>(parts.get(), part));
} catch (const std::bad_alloc&) {
  refuse_file(bytes_of(tensors), path);
}
TENON_INLINE LoadReport load_safetensors(const std::string& path, std::span<const NamedTensor> into, bool strict) {
  check_tensors("load", path, into);
  const Safetensors file(path);
  return load_tensors({path, file.tensors(), file.foreign()}, into, strict);
}
#endif  // TENON_DEFINES

}  // namespace tenon::io
