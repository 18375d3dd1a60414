// Every reader of files, fed by libFuzzer: it may refuse the bytes with an error of Tenon's, and nothing else.
#include <tenon/io/ckpt.hpp>
#include <tenon/io/npz.hpp>
#include <tenon/io/safetensors_header.hpp>

using namespace tenon;

namespace {
template <class Act>
void refuse_or_read(Act act) {
  try {
    act();
  } catch (const RuntimeError&) {
  }
}
/// No tensor has more bytes than a file may have.
void check(std::span<const io::NamedTensor> tensors, std::size_t most) {
  for (const io::NamedTensor& named : tensors)
    if (named.tensor.bytes() > most) __builtin_trap();
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t count) {
  constexpr std::size_t limit = 1 << 20;
  const std::string_view file(reinterpret_cast<const char*>(bytes), count);
  refuse_or_read([&] { check(io::Ckpt(file, "f").tensors(), count); });
  refuse_or_read([&] { check(io::Npz(file, "f", limit).tensors(), limit); });
  refuse_or_read([&] { io::parse_npy_header(file, "f"); });
  refuse_or_read([&] { io::parse_safetensors_header(file, 8, "f"); });
  return 0;
}
