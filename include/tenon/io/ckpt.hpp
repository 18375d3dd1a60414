// Reads and writes checkpoints of MindSpore, files named .ckpt, with the same bytes. Needs protozero.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/io/bytes/crc32.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/path/refuse_file.hpp>
#include <tenon/io/tensors/ckpt_message.hpp>
#include <tenon/io/tensors/dtype_title.hpp>
#include <tenon/io/tensors/held_tensors.hpp>
#include <tenon/io/tensors/named_value.hpp>
#include <tenon/io/tensors/sorted_names.hpp>

namespace tenon::inline TENON_ABI::io {

static_assert(std::endian::native == std::endian::little,
              "checkpoints hold little-endian numbers, used as they lie: this machine is big-endian");

/// Tensors of more bytes are written in parts of this many.
inline constexpr std::size_t ckpt_slice_bytes = std::size_t{512} << 20;

/// The largest file that is read: files of all sizes are, as far as the machine has memory.
inline constexpr std::uint64_t ckpt_file_limit = std::uint64_t{1} << 62;

/// A checkpoint of MindSpore in memory. Reads and checks the whole file on construction, and owns its tensors.
///
/// memory      while it reads, the file and its tensors; later the tensors. Nothing is taken for what a file claims
///             to have
/// throws      RuntimeError if the file cannot be read, is damaged or encrypted, or holds what Tenon does not have:
///             another dtype, more than 8 axes, a MapParameter; names must be unique, UTF-8, and without zero bytes;
///             parts of one tensor must follow each other; a bool is 0 or 1
/// source      MindSpore 1.1 to 2.10. There shapes and lengths are not checked: such files end the process
class Ckpt {
 public:
  explicit Ckpt(const std::string& path) : Ckpt(std::string_view(read_file(path, ckpt_file_limit)), path) {}
  /// Of the bytes of a file; path is for messages.
  Ckpt(std::string_view file, const std::string& path);

  /// The tensors in the order of the file; numbers that append_info added are tensors without axes. The views are valid
  /// as long as this object or the one it is moved to lives.
  std::span<const NamedTensor> tensors() const { return {tensors_.data(), tensors_.size()}; }
  /// The texts that append_info added.
  std::span<const std::pair<std::string, std::string>> texts() const { return {texts_.data(), texts_.size()}; }

  /// The tensor of that name, or a null pointer.
  const AnyTensor* find(std::string_view name) const {
    const std::size_t found = index_.find(name);
    return found == SortedNames::none ? nullptr : &tensors_[found].tensor;
  }

 private:
  AlignedBytes data_;
  std::vector<NamedTensor> tensors_;
  std::vector<std::pair<std::string, std::string>> texts_;
  SortedNames index_;  // of tensors_
};

/// Writes the tensors, then the values, as one file that appears complete or not at all, with the bytes that MindSpore
/// writes: numbers as tensors without axes (int64, float32, bool), texts as such. A tensor without elements is written,
/// too, which MindSpore leaves out.
///
/// tensors     names unique, not empty, UTF-8 without zero bytes; data on the CPU
/// throws      ValueError for a name or tensor that the format cannot hold, and if there is nothing to save;
///             RuntimeError if the file cannot be written
void save_ckpt(const std::string& path, std::span<const NamedTensor> tensors,
               const std::vector<NamedValue>& values = {});

/// Copies the file's tensors into the views of the same names, as load_safetensors does. Texts are left out.
LoadReport load_ckpt(const std::string& path, std::span<const NamedTensor> into, bool strict = true);

namespace detail {

/// A tensor or text of a file: one message, or several whose contents are joined.
struct CkptEntry {
  CkptMessage first;
  std::vector<std::string_view> more;  // the contents after the first one's

  std::uint64_t bytes() const {
    std::uint64_t sum = first.content.size();
    for (const std::string_view part : more) sum += part.size();
    return sum;
  }
};

inline std::string ckpt_entry_name(const CkptMessage& entry) {
  return text("entry ", printable(entry.name), " (byte ", entry.place, ")");
}

/// Joins the parts of long tensors.
inline std::vector<CkptEntry> read_ckpt_entries(std::string_view file, const std::string& path) {
  std::vector<CkptEntry> entries;
  CkptParser(file, path).each([&](const CkptMessage& message) {
    if (!entries.empty() && entries.back().first.name == message.name) {
      const CkptMessage& first = entries.back().first;
      if (first.type != message.type || !std::ranges::equal(first.shape(), message.shape()))
        throw_bad_ckpt(path, text(ckpt_entry_name(message), " goes on with another type or shape"));
      entries.back().more.push_back(message.content);
    } else {
      entries.push_back({message, {}});
    }
  });
  std::vector<std::string_view> names(entries.size());
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = entries[i].first.name;
  if (const SortedNames sorted(names); sorted.twice())
    throw_bad_ckpt(path, text("it has the entry ", printable(*sorted.twice()), " twice"));
  return entries;
}

/// A text is stored with 4 bytes per character.
inline std::string read_ckpt_text(const CkptEntry& entry, const std::string& path) {
  const std::string_view content = entry.first.content;
  if (!entry.more.empty() || content.size() % 4 != 0)
    throw_bad_ckpt(path, text(ckpt_entry_name(entry.first), " is a text of ", entry.bytes(),
                              " bytes, which is no whole number of characters"));
  std::string result;
  for (std::size_t i = 0; i < content.size(); i += 4) {
    std::uint32_t code = 0;
    std::memcpy(&code, content.data() + i, 4);
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
      throw_bad_ckpt(path, text(ckpt_entry_name(entry.first), " is a text, character ", i / 4, " of it is none"));
    append_utf8(result, code);
  }
  return result;
}

/// The view of an entry's tensor, without data: its shape fits its content.
inline AnyTensor ckpt_tensor(const CkptEntry& entry, const std::string& path) {
  const CkptMessage& first = entry.first;
  AnyTensor tensor;
  if (!dtype_of_title(first.type, tensor.dtype))
    throw_bad_ckpt(
        path, text(ckpt_entry_name(first), " has the type ", printable(first.type), ", which Tenon does not have"));
  tensor.rank = int(first.rank);
  std::copy(first.extent.begin(), first.extent.end(), tensor.extent);
  const std::uint64_t found = entry.bytes();
  if (first.rank == 1 && first.extent[0] == 0 && found == size_of(tensor.dtype)) tensor.rank = 0;  // of MindSpore 1
  std::uint64_t bytes = 0;
  if (!bytes_of_shape(tensor.shape(), 8 * unsigned(size_of(tensor.dtype)), bytes))
    throw_bad_ckpt(path, text(ckpt_entry_name(first), " has the impossible shape ", shape_text(first.shape())));
  if (bytes != found)
    throw_bad_ckpt(path, text(ckpt_entry_name(first), " has ", found, " bytes of data, its shape ",
                              shape_text(first.shape()), " of ", first.type, " needs ", bytes));
  return tensor;
}

/// Copies the content, and checks that a bool is 0 or 1: C++ gives no meaning to others.
inline void copy_ckpt_content(const CkptEntry& entry, const AnyTensor& tensor, const std::string& path) {
  char* to = static_cast<char*>(tensor.data);
  const auto add = [&](std::string_view part) { to = std::copy(part.begin(), part.end(), to); };
  add(entry.first.content);
  for (const std::string_view part : entry.more) add(part);
  if (tensor.dtype != Dtype::bool_) return;
  const auto* const bytes = static_cast<const unsigned char*>(tensor.data);
  for (std::size_t i = 0; i < tensor.bytes(); ++i)
    if (bytes[i] > 1)
      throw_bad_ckpt(path, text("element ", i, " of the bool tensor ", printable(entry.first.name), " is ", bytes[i]));
}

/// Without the checksum at the end, which MindSpore writes on request: "crc_num" and a number of 10 bytes.
inline std::string_view without_ckpt_checksum(std::string_view file, const std::string& path) {
  constexpr std::string_view mark = "crc_num";
  constexpr std::size_t digits = 10;
  if (file.size() < mark.size() + digits) return file;
  const std::string_view end = file.substr(file.size() - mark.size() - digits);
  if (!end.starts_with(mark)) return file;
  std::uint64_t said = 0;
  for (const char c : end.substr(mark.size())) said = said << 8 | static_cast<unsigned char>(c);
  file.remove_suffix(end.size());
  if (crc32(file) != said) throw_bad_ckpt(path, "its content is not that of its checksum");
  return file;
}

/// An encrypted checkpoint begins with a byte of d8 to da and these.
inline constexpr std::string_view ckpt_magic_end = "\x5e\x3a\x7f";
inline constexpr std::string_view ckpt_cipher_names[]{"AES-GCM", "AES-CBC", "SM4-CBC"};

/// Which of the ciphers it is encrypted with, or -1.
inline int ckpt_cipher_of(std::string_view file) {
  if (file.size() < 4 || file.substr(1, 3) != ckpt_magic_end) return -1;
  const int which = static_cast<unsigned char>(file[0]) - 0xd8;
  return which >= 0 && which < 3 ? which : -1;
}

}  // namespace detail

inline Ckpt::Ckpt(std::string_view file, const std::string& path) try {
  if (file.empty()) throw_bad_ckpt(path, "it is empty");
  if (const int cipher = detail::ckpt_cipher_of(file); cipher >= 0)
    throw_error<RuntimeError>(
        "Cannot read '", path, "': it is encrypted with ", detail::ckpt_cipher_names[cipher],
        ". Read it with its key: <tenon/io/ckpt_encryption.hpp> has read_encrypted_ckpt(path, key).");
  const std::vector<detail::CkptEntry> entries =
      detail::read_ckpt_entries(detail::without_ckpt_checksum(file, path), path);
  if (entries.empty()) throw_bad_ckpt(path, "it holds no tensor");
  constexpr std::size_t alignment = alignof(std::int64_t);
  std::size_t end = 0;
  std::vector<const detail::CkptEntry*> sources;
  for (const detail::CkptEntry& entry : entries) {
    if (entry.first.type == "str") {
      texts_.emplace_back(entry.first.name, detail::read_ckpt_text(entry, path));
      continue;
    }
    tensors_.push_back({std::string(entry.first.name), detail::ckpt_tensor(entry, path)});
    sources.push_back(&entry);
    end += (tensors_.back().tensor.bytes() + alignment - 1) / alignment * alignment;
  }
  data_ = AlignedBytes(end, content_of(path).c_str());
  std::byte* at = data_.data();
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    AnyTensor& tensor = tensors_[i].tensor;
    tensor.data = at;
    detail::copy_ckpt_content(*sources[i], tensor, path);
    at += (tensor.bytes() + alignment - 1) / alignment * alignment;
  }
  index_ = SortedNames(tensors_);
} catch (const std::bad_alloc&) {
  refuse_file(file.size(), path);
}

namespace detail {

inline void check_ckpt_text(const std::string& path, std::string_view what, std::string_view s) {
  if (find_bad_utf8(s) != s.npos)
    throw_error<ValueError>("Cannot save '", path, "': the ", what, " ", printable(s), " is not UTF-8.");
}

inline void check_ckpt_before_save(const std::string& path, std::span<const NamedTensor> tensors,
                                   const std::vector<NamedValue>& values) {
  if (tensors.empty() && values.empty()) throw_error<ValueError>("Cannot save '", path, "': there is nothing to save.");
  std::vector<std::string_view> names;
  for (const NamedTensor& named : tensors) names.push_back(named.name);
  for (const NamedValue& named : values) names.push_back(named.name);
  for (const std::string_view name : names) {
    if (name.empty()) throw_error<ValueError>("Cannot save '", path, "': an entry has an empty name; give it one.");
    if (name.find('\0') != name.npos)
      throw_error<ValueError>("Cannot save '", path, "': the name ", printable(name), " has a zero byte.");
    check_ckpt_text(path, "name", name);
  }
  check_tensors("save", path, tensors);
  check_names_differ("save", path, SortedNames(names));
  for (const NamedValue& named : values)
    if (const auto* const said = std::get_if<std::string>(&named.value)) check_ckpt_text(path, "text", *said);
}

/// The parts of a file: heads of messages, which it owns, and contents, which others own.
class CkptWriter {
 public:
  CkptWriter(const std::string& path, std::span<const NamedTensor> tensors, const std::vector<NamedValue>& values) {
    check_ckpt_before_save(path, tensors, values);
    for (const NamedTensor& tensor : tensors) add(tensor);
    for (const NamedValue& value : values) std::visit([&](const auto& v) { add(value.name, v); }, value.value);
  }
  std::span<const std::span<const std::byte>> parts() const { return {parts_.data(), parts_.size()}; }

 private:
  void add(std::string_view name, std::string_view type, std::span<const std::int64_t> shape,
           std::span<const std::byte> content) {
    do {
      const auto part = content.first(std::min(content.size(), ckpt_slice_bytes));
      content = content.subspan(part.size());
      const std::string& head = heads_.emplace_back(ckpt_message_head(name, type, shape, part.size()));
      parts_.push_back(std::as_bytes(std::span(head)));
      parts_.push_back(part);
    } while (!content.empty());
  }
  void add(const NamedTensor& named) {
    const AnyTensor& tensor = named.tensor;
    add(named.name, title(tensor.dtype), tensor.shape(), {static_cast<const std::byte*>(tensor.data), tensor.bytes()});
  }
  /// A part of the file that the writer owns.
  std::span<const std::byte> keep(const void* bytes, std::size_t count) {
    return std::as_bytes(std::span(heads_.emplace_back(static_cast<const char*>(bytes), count)));
  }
  void add(std::string_view name, std::int64_t value) { add(name, "Int64", {}, keep(&value, sizeof value)); }
  void add(std::string_view name, bool value) { add(name, "Bool", {}, keep(&value, sizeof value)); }
  void add(std::string_view name, double value) {
    const float single = static_cast<float>(value);
    add(name, "Float32", {}, keep(&single, sizeof single));
  }
  void add(std::string_view name, const std::string& value) {
    std::u32string wide;
    for (std::size_t i = 0; i < value.size();) {
      const auto lead = static_cast<unsigned char>(value[i]);
      const int more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
      char32_t code = more == 0 ? lead : lead & (0x3fu >> more);
      for (int k = 0; k < more; ++k) code = code << 6 | (static_cast<unsigned char>(value[++i]) & 0x3fu);
      wide += code;
      ++i;
    }
    const std::int64_t no_extent = 0;
    add(name, "str", {&no_extent, 1}, keep(wide.data(), wide.size() * sizeof(char32_t)));
  }

  std::list<std::string> heads_;  // the parts point into them
  std::vector<std::span<const std::byte>> parts_;
};

}  // namespace detail

inline void save_ckpt(const std::string& path, std::span<const NamedTensor> tensors,
                      const std::vector<NamedValue>& values) try {
  write_file(path, detail::CkptWriter(path, tensors, values).parts());
} catch (const std::bad_alloc&) {
  refuse_file(bytes_of(tensors), path);
}

inline LoadReport load_ckpt(const std::string& path, std::span<const NamedTensor> into, bool strict) {
  check_tensors("load", path, into);
  const Ckpt file(path);
  return load_tensors({path, file.tensors()}, into, strict);
}

}  // namespace tenon::io
