// OpenedFile: what a file of tensors holds, of whichever format it is.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/io/ckpt.hpp>
#include <tenon/io/crc32c.hpp>
#include <tenon/io/npz.hpp>
#include <tenon/io/print_file.hpp>
#include <tenon/io/safetensors.hpp>

namespace inspect {
using namespace tenon;

/// Tensors, and texts that stand beside them. `held` owns what they refer to.
struct OpenedFile {
  std::string format;
  std::vector<io::NamedTensor> tensors;
  std::vector<io::ForeignTensor> foreign;
  std::vector<std::pair<std::string, std::string>> texts;
  std::shared_ptr<void> held;

  const AnyTensor* find(const std::string& name) const {
    for (const io::NamedTensor& named : tensors)
      if (named.name == name) return &named.tensor;
    return nullptr;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const io::NamedTensor& named : tensors) all.push_back(named.name);
    return all;
  }
};

enum class FileKind { safetensors, ckpt, npz, npy, events, dump, other };

/// Whether a file begins as event files do: with the length of a record, and its checksum.
inline bool begins_with_record(const std::string& path) {
  char begin[12]{};
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (!file) return false;
  const bool whole = std::fread(begin, 1, sizeof begin, file) == sizeof begin;
  std::fclose(file);
  std::uint32_t checksum;
  std::memcpy(&checksum, begin + 8, sizeof checksum);
  return whole && io::masked_crc32c(std::string_view(begin, 8)) == checksum;
}
/// What a path is: files of tensors by their suffix, event files by their begin. Others may be print files.
inline FileKind kind_of(const std::string& path) {
  if (io::directory_exists(path)) return FileKind::dump;
  if (path.ends_with(".safetensors")) return FileKind::safetensors;
  if (path.ends_with(".ckpt")) return FileKind::ckpt;
  if (path.ends_with(".npz")) return FileKind::npz;
  if (path.ends_with(".npy")) return FileKind::npy;
  return begins_with_record(path) ? FileKind::events : FileKind::other;
}

template <class File>
OpenedFile opened(std::string format, std::shared_ptr<File> file) {
  OpenedFile result{std::move(format), {file->tensors().begin(), file->tensors().end()}, {}, {}, {}};
  if constexpr (requires { file->foreign(); }) result.foreign.assign(file->foreign().begin(), file->foreign().end());
  if constexpr (requires { file->metadata(); }) result.texts.assign(file->metadata().begin(), file->metadata().end());
  if constexpr (requires { file->texts(); }) result.texts.assign(file->texts().begin(), file->texts().end());
  result.held = std::move(file);
  return result;
}

/// An array of a .npy file, under the file's name.
inline OpenedFile opened_npy(const std::string& path) {
  const std::string content = io::read_file(path);
  const io::NpyHeader header = io::parse_npy_header(content, path);
  AnyTensor tensor(header.dtype, header.shape(), nullptr);
  auto memory = std::make_shared<AlignedBytes>(tensor.bytes(), "an array of a file");
  tensor.data = memory->data();
  io::copy_npy_elements(header, content, tensor, path);
  const std::string name = path.substr(path.find_last_of('/') + 1);
  return {"NumPy .npy", {{name.substr(0, name.size() - 4), tensor}}, {}, {}, std::move(memory)};
}

/// The tensors of a print file are named by their place in it.
inline OpenedFile opened_print(const std::string& path) {
  auto file = std::make_shared<io::PrintFile>(path);
  OpenedFile result{"print file", {}, {}, {}, {}};
  std::size_t place = 0;
  for (const TextOrTensor& value : file->values()) {
    const std::string name = std::to_string(place++);
    if (value.is_tensor) result.tensors.push_back({name, value.tensor});
    else result.texts.emplace_back(name, value.text);
  }
  result.held = std::move(file);
  return result;
}

/// Throws RuntimeError for a file that cannot be read, ValueError for one of no known format.
inline OpenedFile open_tensors(const std::string& path) {
  constexpr std::uint64_t limit = std::uint64_t{1} << 62;
  switch (kind_of(path)) {
    case FileKind::safetensors: return opened("safetensors", std::make_shared<io::Safetensors>(path));
    case FileKind::ckpt: return opened("MindSpore checkpoint", std::make_shared<io::Ckpt>(path));
    case FileKind::npz: return opened("NumPy .npz", std::make_shared<io::Npz>(path, limit));
    case FileKind::npy: return opened_npy(path);
    case FileKind::other:
      if (io::file_exists(path)) return opened_print(path);
      throw_error<RuntimeError>("There is no file '", path, "'.");
    case FileKind::events:
      throw_error<ValueError>("'", path, "' has events, not tensors with names: list and show read it.");
    case FileKind::dump: break;
  }
  throw_error<ValueError>("'", path, "' is a folder: diff compares two dumps; the other commands read files.");
}

}  // namespace inspect
