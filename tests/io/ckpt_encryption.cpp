// link: openssl
// Encrypted checkpoints: MindSpore's are read, ours are read again, other keys and damaged files are refused.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <algorithm>

#include "../dataset/support.hpp"

#if __has_include(<protozero/pbf_reader.hpp>) && __has_include(<openssl/evp.h>)
#include <tenon/core/random/philox.hpp>
#include <tenon/io/ckpt_encryption.hpp>

#include "../support/json.hpp"
#include "../support/npz.hpp"

using namespace support;
using io::CkptCipher;

namespace {
const std::string key16 = "0123456789abcdef", key32 = key16 + key16;

struct Values {
  std::vector<float> elements = std::vector<float>(100, 1.5f);
  std::int64_t extent = 100;
  std::vector<io::NamedTensor> named() {
    return {{"fc.weight", AnyTensor(Dtype::float32, {&extent, 1}, elements.data())}};
  }
};
std::string refusal(const std::string& path, const std::string& key) {
  return message<Error>([&] { io::read_encrypted_ckpt(path, key); });
}
}  // namespace

TEST_CASE("a round trip with each cipher and length of key, never the same bytes twice") {
  const Folder folder;
  Values values;
  for (const auto& [cipher, key] : {std::pair(CkptCipher::aes_gcm, key16),
                                    {CkptCipher::aes_gcm, key32.substr(0, 24)},
                                    {CkptCipher::aes_gcm, key32},
                                    {CkptCipher::aes_cbc, key16},
                                    {CkptCipher::aes_cbc, key32},
                                    {CkptCipher::sm4_cbc, key16}}) {
    const std::string path = folder / "f.ckpt";
    io::save_encrypted_ckpt(path, values.named(), key, cipher, {{"note", "secret"}});
    const std::string first = io::read_file(path);
    io::save_encrypted_ckpt(path, values.named(), key, cipher, {{"note", "secret"}});
    CHECK(io::read_file(path) != first);
    CHECK(first.find("weight") == first.npos);
    const io::Ckpt file = io::read_encrypted_ckpt(path, key);
    CHECK(std::ranges::equal(file.find("fc.weight")->as<float>(), values.elements));
    CHECK(file.texts()[0].second == "secret");
    CHECK(has(message<RuntimeError>([&] { io::Ckpt(std::string(path)); }), "read_encrypted_ckpt(path, key)"));
    std::string other = key;
    other[0] = 'x';
    CHECK(has(refusal(path, other), "Cannot "));
  }
}

TEST_CASE("more than one block of 64 MB") {
  const Folder folder;
  std::vector<float> elements(20 << 20, 2.5f);
  elements[17 << 20] = -1;
  const std::int64_t extent = 20 << 20;
  const std::vector<io::NamedTensor> named{{"large", AnyTensor(Dtype::float32, {&extent, 1}, elements.data())}};
  io::save_encrypted_ckpt(folder / "f.ckpt", named, key16);
  CHECK(std::ranges::equal(io::read_encrypted_ckpt(folder / "f.ckpt", key16).find("large")->as<float>(), elements));
}

TEST_CASE("keys that are none, files that are not encrypted, damaged ones") {
  const Folder folder;
  Values values;
  const std::string path = folder / "f.ckpt";
  CHECK(has(message<ValueError>([&] { io::save_encrypted_ckpt(path, values.named(), "short"); }),
            "has 5 bytes, AES-GCM takes 16, 24, or 32"));
  CHECK(has(message<ValueError>([&] { io::save_encrypted_ckpt(path, values.named(), key32, CkptCipher::sm4_cbc); }),
            "SM4-CBC takes 16."));
  CHECK(folder.files() == 0);
  io::save_ckpt(path, values.named());
  CHECK(has(refusal(path, key16), "it is not encrypted, io::Ckpt(path) reads it"));
  io::save_encrypted_ckpt(path, values.named(), key16);
  const std::string whole = io::read_file(path);
  Random random(1);
  for (std::size_t length = 4; length < whole.size(); length += 1 + random.below(9)) {
    io::write_file(path, whole.substr(0, length));
    CHECK(has(refusal(path, key16), "an encrypted block needs"));
  }
  for (std::size_t at = 4; at < whole.size(); ++at) {  // GCM notices each of them
    if (at >= 40 && at < 44) continue;                 // of the initial vector, and not used
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1 << random.below(8));
    io::write_file(path, damaged);
    CHECK(has(refusal(path, key16), "Cannot "));
  }
  io::write_file(path, whole + whole.substr(0, 20));
  CHECK(has(refusal(path, key16), "an encrypted block needs"));
  io::write_file(path, whole + std::string(40, 'x'));
  CHECK(has(refusal(path, key16), "does not begin as the first one does"));
}

TEST_CASE("golden/ckpt: what MindSpore encrypted, by each cipher") {
  if (!have_shared("golden/ckpt")) return;
  const std::string golden = shared_folder() + "/golden/ckpt/";
  const Json all = load_json(golden + "index.json")["good"];
  for (const std::string name : {"mlp_aes_gcm", "mlp_aes_cbc", "mlp_sm4_cbc"}) {
    CAPTURE(name);
    const io::Ckpt file = io::read_encrypted_ckpt(golden + name + ".ckpt", all[name]["enc_key"].string());
    const Npz arrays = load_npz(golden + name + ".npz");
    CHECK(file.tensors().size() == arrays.arrays().size());
    for (const auto& [key, array] : arrays.arrays()) {
      REQUIRE(file.find(key));
      const AnyTensor& tensor = *file.find(key);
      CHECK(std::string(static_cast<const char*>(tensor.data), tensor.bytes()) == array.bytes);
    }
    CHECK(has(refusal(golden + name + ".ckpt", "0000000000000000"), "Cannot "));
  }
}
#else
TEST_CASE("OpenSSL") {
  support::say_skipped("protozero or OpenSSL is not installed, encrypted checkpoints were not tested");
}
#endif
