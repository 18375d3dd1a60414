// Encrypted checkpoints of MindSpore. Needs OpenSSL, which stays behind this header, and protozero.
#pragma once
#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#if __has_include(<openssl/evp.h>)
#include <openssl/evp.h>
#include <openssl/rand.h>
#else
#include <Header tenon/io/ckpt_encryption.hpp needs OpenSSL. On Debian: apt-get install libssl-dev, and link -lcrypto>
#endif

#include <tenon/core/error.hpp>
#include <tenon/io/ckpt.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/path/refuse_file.hpp>

namespace tenon::inline TENON_ABI::io {

/// What a checkpoint is encrypted with: MindSpore's enc_mode. aes_gcm alone notices every change of the file.
enum class CkptCipher { aes_gcm, aes_cbc, sm4_cbc };

/// Reads a checkpoint that MindSpore 2 or save_encrypted_ckpt encrypted; the file says with what.
///
///     const auto file = io::read_encrypted_ckpt("net.ckpt", key);
///     load_param_into_net(net, file.tensors());
///
/// key         of 16, 24, or 32 bytes; of SM4 16
/// memory      the file, its plain bytes, and the tensors while it reads
/// throws      ValueError for a key of another length, RuntimeError for another key, and for a file that is damaged or
///             not encrypted
Ckpt read_encrypted_ckpt(const std::string& path, std::string_view key);

/// Writes an encrypted checkpoint that MindSpore 2 reads, complete or not at all: `save_encrypted_ckpt("net.ckpt",
/// named_parameters(net), key)`. Throws as save_ckpt and read_encrypted_ckpt do.
void save_encrypted_ckpt(const std::string& path, std::span<const NamedTensor> tensors, std::string_view key,
                         CkptCipher cipher = CkptCipher::aes_gcm, const std::vector<NamedValue>& values = {});

namespace detail {

/// A file is a sequence of blocks of at most this many plain bytes: 4 bytes that name the cipher, of GCM a tag of 16,
/// the length of what follows, the length of the initial vector and it, the length of the encrypted bytes and they.
inline constexpr std::size_t ckpt_block_bytes = std::size_t{64} << 20, ckpt_iv_bytes = 16, ckpt_tag_bytes = 16;

inline const EVP_CIPHER* ckpt_evp(int cipher, std::string_view key, const std::string& path) {
  const std::size_t n = key.size();
  if (n == 16) return cipher == 0 ? ::EVP_aes_128_gcm() : cipher == 1 ? ::EVP_aes_128_cbc() : ::EVP_sm4_cbc();
  if (cipher < 2 && n == 24) return cipher == 0 ? ::EVP_aes_192_gcm() : ::EVP_aes_192_cbc();
  if (cipher < 2 && n == 32) return cipher == 0 ? ::EVP_aes_256_gcm() : ::EVP_aes_256_cbc();
  throw_error<ValueError>("The key for '", path, "' has ", n, " bytes, ", ckpt_cipher_names[cipher], " takes ",
                          cipher < 2 ? "16, 24, or 32." : "16.");
}

/// Encrypts or decrypts one block.
class CkptBlockCipher {
 public:
  CkptBlockCipher(int cipher, std::string_view key, const std::string& path)
      : path_(path), key_(key), evp_(ckpt_evp(cipher, key, path)), is_gcm_(cipher == 0) {}

  /// False if the key is another one or the bytes were changed.
  bool decrypt(std::string_view encrypted, std::string_view iv, std::string_view tag, std::string& into) {
    begin(false, iv);
    if (is_gcm_)
      need(
          ::EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, int(tag.size()), const_cast<char*>(tag.data())));
    return run(encrypted, into);
  }
  /// The block with all that stands before the encrypted bytes.
  std::string encrypt(int cipher, std::string_view plain) {
    std::string iv(ckpt_iv_bytes, '\0'), encrypted, tag;
    need(::RAND_bytes(reinterpret_cast<unsigned char*>(iv.data()), int(iv.size())));
    begin(true, iv);
    if (!run(plain, encrypted)) need(0);
    if (is_gcm_) {
      tag.resize(ckpt_tag_bytes);
      need(::EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, int(tag.size()), tag.data()));
    }
    const auto number = [](std::size_t value) {
      const auto narrow = static_cast<std::uint32_t>(value);
      return std::string(reinterpret_cast<const char*>(&narrow), sizeof narrow);
    };
    return static_cast<char>(0xd8 + cipher) + std::string(ckpt_magic_end) + tag +
           number(8 + iv.size() + encrypted.size()) + number(iv.size()) + iv + number(encrypted.size()) + encrypted;
  }

 private:
  struct Free {
    void operator()(EVP_CIPHER_CTX* context) const { ::EVP_CIPHER_CTX_free(context); }
  };
  void need(int code) const {
    if (code != 1) throw_error<RuntimeError>("OpenSSL cannot encrypt or decrypt '", path_, "' with this cipher.");
  }
  void begin(bool encrypt, std::string_view iv) {
    context_.reset(::EVP_CIPHER_CTX_new());
    if (!context_) need(0);
    need(::EVP_CipherInit_ex(context_.get(), evp_, nullptr, nullptr, nullptr, encrypt));
    need(::EVP_CipherInit_ex(context_.get(), nullptr, nullptr, reinterpret_cast<const unsigned char*>(key_.data()),
                             reinterpret_cast<const unsigned char*>(iv.data()), encrypt));
  }
  /// Appends the result; false if its end does not fit.
  bool run(std::string_view from, std::string& into) {
    const std::size_t before = into.size();
    into.resize(before + from.size() + EVP_MAX_BLOCK_LENGTH);
    auto* const to = reinterpret_cast<unsigned char*>(into.data()) + before;
    int written = 0, rest = 0;
    need(::EVP_CipherUpdate(context_.get(), to, &written, reinterpret_cast<const unsigned char*>(from.data()),
                            int(from.size())));
    const bool fits = ::EVP_CipherFinal_ex(context_.get(), to + written, &rest) == 1;
    into.resize(before + std::size_t(written) + std::size_t(fits ? rest : 0));
    return fits;
  }

  const std::string& path_;
  std::string_view key_;
  const EVP_CIPHER* evp_;
  bool is_gcm_;
  std::unique_ptr<EVP_CIPHER_CTX, Free> context_;
};

/// Takes the parts of a block from the front of a file.
class CkptBlockReader {
 public:
  CkptBlockReader(std::string_view file, const std::string& path) : rest_(file), path_(path) {}
  bool done() const { return rest_.empty(); }
  std::string_view bytes(std::size_t count) {
    if (count > rest_.size())
      throw_bad_ckpt(path_, text("an encrypted block needs ", count, " more bytes, ", rest_.size(), " are left"));
    const std::string_view result = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return result;
  }
  std::size_t number() {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes(sizeof value).data(), sizeof value);
    return value;
  }
  int cipher() { return ckpt_cipher_of(bytes(4)); }

 private:
  std::string_view rest_;
  const std::string& path_;
};

inline std::string decrypt_ckpt(std::string_view file, std::string_view key, const std::string& path) try {
  const int cipher = ckpt_cipher_of(file);
  if (cipher < 0)
    throw_error<RuntimeError>("Cannot decrypt '", path, "': it is not encrypted, io::Ckpt(path) reads it.");
  CkptBlockCipher block(cipher, key, path);
  std::string plain;
  for (CkptBlockReader reader(file, path); !reader.done();) {
    if (reader.cipher() != cipher) throw_bad_ckpt(path, "an encrypted block does not begin as the first one does");
    const std::string_view tag = cipher == 0 ? reader.bytes(ckpt_tag_bytes) : std::string_view();
    const std::size_t length = reader.number();
    const std::string_view iv = reader.bytes(reader.number());
    const std::string_view encrypted = reader.bytes(reader.number());
    if (iv.size() != ckpt_iv_bytes || length != 8 + iv.size() + encrypted.size() || encrypted.size() > INT_MAX)
      throw_bad_ckpt(path, "the lengths in an encrypted block do not fit together");
    if (!block.decrypt(encrypted, iv, tag, plain))
      throw_error<RuntimeError>("Cannot decrypt '", path, "' with ", ckpt_cipher_names[cipher],
                                ": the key is another one, or the file is damaged.");
  }
  return plain;
} catch (const std::bad_alloc&) {
  refuse_file(file.size(), path);
}

}  // namespace detail

inline Ckpt read_encrypted_ckpt(const std::string& path, std::string_view key) {
  return Ckpt(std::string_view(detail::decrypt_ckpt(read_file(path, ckpt_file_limit), key, path)), path);
}

inline void save_encrypted_ckpt(const std::string& path, std::span<const NamedTensor> tensors, std::string_view key,
                                CkptCipher cipher, const std::vector<NamedValue>& values) try {
  const detail::CkptWriter writer(path, tensors, values);
  detail::CkptBlockCipher block(int(cipher), key, path);
  std::string plain;
  std::vector<std::string> blocks;
  const auto close_block = [&] {
    if (!plain.empty()) blocks.push_back(block.encrypt(int(cipher), plain));
    plain.clear();
  };
  for (std::span<const std::byte> part : writer.parts())
    while (!part.empty()) {
      const std::size_t count = std::min(part.size(), detail::ckpt_block_bytes - plain.size());
      plain.append(reinterpret_cast<const char*>(part.data()), count);
      part = part.subspan(count);
      if (plain.size() == detail::ckpt_block_bytes) close_block();
    }
  close_block();
  std::vector<std::span<const std::byte>> parts;
  for (const std::string& bytes : blocks) parts.push_back(std::as_bytes(std::span(bytes)));
  write_file(path, {parts.data(), parts.size()});
} catch (const std::bad_alloc&) {
  refuse_file(bytes_of(tensors), path);
}

}  // namespace tenon::io
