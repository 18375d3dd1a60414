// describe_tensors: names, dtypes, and shapes of a file without its elements, however large they are.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include <tenon/io/path/random_access_file.hpp>
#include <tenon/io/tensors/safetensors_header.hpp>

#include "opened_file.hpp"

namespace inspect {

/// A file in memory of which only the pages are read that are looked at.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const io::FileHandle file = io::open_to_read(path);
    size_ = static_cast<std::size_t>(io::size_of_file(file, path));
    if (size_ == 0) return;
    void* const mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (mapped == MAP_FAILED) io::throw_system_error("map", path);
    data_ = static_cast<const char*>(mapped);
    ::madvise(mapped, size_, MADV_RANDOM);
  }
  ~MappedFile() {
    if (data_) ::munmap(const_cast<char*>(data_), size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::string_view bytes() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

inline OpenedFile described_safetensors(const std::string& path) {
  const MappedFile file(path);
  std::uint64_t length = 0;
  if (file.bytes().size() >= 8) std::memcpy(&length, file.bytes().data(), 8);
  // what is wrong with its begin is said by the reader of the whole file
  if (length == 0 || length > io::safetensors_header_limit || length > file.bytes().size() - 8)
    return opened("safetensors", std::make_shared<io::Safetensors>(path));
  const std::string json(file.bytes().substr(8, length));
  const io::SafetensorsHeader header = io::parse_safetensors_header(json, file.bytes().size() - 8 - length, path);
  OpenedFile result{"safetensors", {}, {}, header.metadata, {}};
  for (const io::SafetensorsEntry& entry : header.entries) {
    if (entry.dtype->known)
      result.tensors.push_back({entry.name, AnyTensor(entry.dtype->dtype, entry.shape(), nullptr)});
    else
      result.foreign.push_back({entry.name,
                                entry.dtype->name,
                                {entry.shape().begin(), entry.shape().end()},
                                {static_cast<const std::byte*>(nullptr), std::size_t(entry.end - entry.begin)}});
  }
  return result;
}
inline OpenedFile described_ckpt(const std::string& path, const std::string& key) {
  const MappedFile file(path);
  const std::string_view bytes = file.bytes();
  if (bytes.empty() || io::detail::ckpt_cipher_of(bytes) >= 0) return opened_ckpt(path, key);
  OpenedFile result{"MindSpore checkpoint", {}, {}, {}, {}};
  for (const io::detail::CkptEntry& entry :
       io::detail::read_ckpt_entries(io::detail::without_ckpt_checksum(bytes, path), path)) {
    const std::string name(entry.first.name);
    if (entry.first.type == "str") result.texts.emplace_back(name, io::detail::read_ckpt_text(entry, path));
    else result.tensors.push_back({name, io::detail::ckpt_tensor(entry, path)});
  }
  return result.tensors.empty() && result.texts.empty() ? opened_ckpt(path, key) : result;
}
inline OpenedFile described_npy(const std::string& path) {
  const MappedFile file(path);
  const io::NpyHeader header = io::parse_npy_header(file.bytes(), path);
  return {"NumPy .npy", {{name_of_array(path), AnyTensor(header.dtype, header.shape(), nullptr)}}, {}, {}, {}};
}

/// Of arrays that are not compressed; what is has its header behind the compression.
inline OpenedFile described_npz(const std::string& path) {
  constexpr std::string_view suffix = ".npy";
  const MappedFile file(path);
  OpenedFile result{"NumPy .npz", {}, {}, {}, {}};
  for (const io::ZipMember& member : io::zip_members(file.bytes(), path)) {
    if (member.deflated || !member.name.ends_with(suffix)) return open_tensors(path, {});
    const io::NpyHeader header = io::parse_npy_header(member.packed, path);
    result.tensors.push_back({std::string(member.name.substr(0, member.name.size() - suffix.size())),
                              AnyTensor(header.dtype, header.shape(), nullptr)});
  }
  return result;
}

/// As open_tensors, but the tensors have no elements where the file says without them what they are.
inline OpenedFile describe_tensors(const std::string& path, const std::string& key) {
  switch (kind_of(path)) {
    case FileKind::safetensors: return described_safetensors(path);
    case FileKind::ckpt: return described_ckpt(path, key);
    case FileKind::npz: return described_npz(path);
    case FileKind::npy: return described_npy(path);
    default: return open_tensors(path, key);
  }
}

}  // namespace inspect
