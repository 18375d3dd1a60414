// FileKind: which of the formats that are read a file is of.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/io/bytes/crc32c.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/text/escaped_text.hpp>

namespace inspect {
using namespace tenon;

enum class FileKind { safetensors, ckpt, npz, npy, events, print, dump, other };

/// The first bytes of a file; fewer if it is shorter, none if it cannot be read.
inline std::string begin_of(const std::string& path, std::size_t most = 16) {
  std::string begin(most, '\0');
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (!file) return {};
  begin.resize(std::fread(begin.data(), 1, most, file));
  std::fclose(file);
  return begin;
}
/// Event files begin with the length of a record, and its checksum.
inline bool begins_with_record(std::string_view begin) {
  if (begin.size() < 12) return false;
  std::uint32_t checksum;
  std::memcpy(&checksum, begin.data() + 8, sizeof checksum);
  return io::masked_crc32c(begin.substr(0, 8)) == checksum;
}
inline bool is_text(std::string_view bytes) {
  for (const char c : bytes)
    if ((static_cast<unsigned char>(c) < 0x20 && !std::strchr("\t\n\r", c)) || c == 0x7f) return false;
  return true;
}
/// A print file is a sequence of messages with the tag 0a, which is a line feed in a text.
inline bool begins_as_print(const std::string& path, std::string_view begin) {
  return begin.starts_with('\n') && !is_text(begin_of(path, 256));
}
/// What a path is: files of tensors by their suffix, others by their begin.
inline FileKind kind_of(const std::string& path) {
  if (io::directory_exists(path)) return FileKind::dump;
  if (path.ends_with(".safetensors")) return FileKind::safetensors;
  if (path.ends_with(".ckpt")) return FileKind::ckpt;
  if (path.ends_with(".npz")) return FileKind::npz;
  const std::string begin = begin_of(path);
  if (path.ends_with(".npy") || begin.starts_with("\x93NUMPY")) return FileKind::npy;
  if (begins_with_record(begin)) return FileKind::events;
  return begins_as_print(path, begin) ? FileKind::print : FileKind::other;
}

/// Says what a file is, if its begin tells it, and what is read.
[[noreturn]] inline void refuse_unknown(const std::string& path) {
  if (!io::file_exists(path)) throw_error<RuntimeError>("There is no file '", path, "'.");
  const std::string begin = begin_of(path);
  if (begin.empty()) throw_error<ValueError>("'", path, "' is empty, or cannot be read.");
  if (begin.starts_with("SQLite format 3"))
    throw_error<ValueError>("'", path,
                            "' is a database of SQLite. The index of a MindRecord file is one: "
                            "`tenon-inspect record FILE` takes the file beside it, without .db.");
  if (begin.starts_with("PK\3\4"))
    throw_error<ValueError>("'", path,
                            "' is a zip archive. Name it .npz if numpy.savez wrote it. Files of torch.save "
                            "are not read; in Python safetensors.torch.save_file writes one that is.");
  throw_error<ValueError>("'", path, "' is of no format that is read: it begins with ", io::printable(begin),
                          ". Files of tensors are known by their names, .safetensors, .ckpt, .npz, .npy; event files "
                          "and print files by their begin; `tenon-inspect record` reads MindRecord files.");
}

}  // namespace inspect
