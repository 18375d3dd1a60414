// OpenedFile: what a file of tensors holds, of whichever format it is.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/io/ckpt.hpp>
#if __has_include(<openssl/evp.h>)
#include <tenon/io/ckpt_encryption.hpp>
#endif
#include <tenon/io/npz.hpp>
#include <tenon/io/print_file.hpp>
#include <tenon/io/safetensors.hpp>

#include "file_kind.hpp"

namespace inspect {

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

template <class File>
OpenedFile opened(std::string format, std::shared_ptr<File> file) {
  OpenedFile result{std::move(format), {file->tensors().begin(), file->tensors().end()}, {}, {}, {}};
  if constexpr (requires { file->foreign(); }) result.foreign.assign(file->foreign().begin(), file->foreign().end());
  if constexpr (requires { file->metadata(); }) result.texts.assign(file->metadata().begin(), file->metadata().end());
  if constexpr (requires { file->texts(); }) result.texts.assign(file->texts().begin(), file->texts().end());
  result.held = std::move(file);
  return result;
}

inline std::string name_of_array(const std::string& path) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  return name.ends_with(".npy") ? name.substr(0, name.size() - 4) : name;
}
/// An array of a .npy file, under the file's name.
inline OpenedFile opened_npy(const std::string& path) {
  const std::string content = io::read_file(path);
  const io::NpyHeader header = io::parse_npy_header(content, path);
  AnyTensor tensor(header.dtype, header.shape(), nullptr);
  auto memory = std::make_shared<AlignedBytes>(tensor.bytes(), "an array of a file");
  tensor.data = memory->data();
  io::copy_npy_elements(header, content, tensor, path);
  return {"NumPy .npy", {{name_of_array(path), tensor}}, {}, {}, std::move(memory)};
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

/// A checkpoint of MindSpore; `key` is what --key says, or empty.
inline OpenedFile opened_ckpt(const std::string& path, const std::string& key) {
  const int cipher = io::detail::ckpt_cipher_of(begin_of(path));
  if (cipher < 0) return opened("MindSpore checkpoint", std::make_shared<io::Ckpt>(path));
  const std::string how = text("encrypted with ", io::detail::ckpt_cipher_names[cipher]);
  if (key.empty()) throw_error<ValueError>("'", path, "' is ", how, ": give its key by --key.");
#if __has_include(<openssl/evp.h>)
  return opened(text("MindSpore checkpoint, ", how), std::make_shared<io::Ckpt>(io::read_encrypted_ckpt(path, key)));
#else
  throw_error<RuntimeError>("'", path, "' is ", how, ", and this tenon-inspect was compiled without OpenSSL.");
#endif
}

/// Throws RuntimeError for a file that cannot be read, ValueError for one of no known format.
inline OpenedFile open_tensors(const std::string& path, const std::string& key) {
  constexpr std::uint64_t limit = std::uint64_t{1} << 62;
  switch (kind_of(path)) {
    case FileKind::safetensors: return opened("safetensors", std::make_shared<io::Safetensors>(path));
    case FileKind::ckpt: return opened_ckpt(path, key);
    case FileKind::npz: return opened("NumPy .npz", std::make_shared<io::Npz>(path, limit));
    case FileKind::npy: return opened_npy(path);
    case FileKind::print: return opened_print(path);
    case FileKind::events:
      throw_error<ValueError>("'", path, "' has events, not tensors with names: list and show read it.");
    case FileKind::dump:
      throw_error<ValueError>("'", path, "' is a folder: diff compares two dumps; the other commands read files.");
    case FileKind::other: break;
  }
  refuse_unknown(path);
}

}  // namespace inspect
