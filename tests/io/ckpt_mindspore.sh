#!/bin/sh
# MindSpore reads what Tenon wrote and Tenon what MindSpore wrote, to the byte, also a tensor above 512 MB:
# `ckpt_mindspore.sh [compiler]`. TENON_PYTHON names a Python that has MindSpore. Writes to the current folder.
# Exit status 77: it is not installed.
set -u
include=$(cd "$(dirname "$0")/../../include" && pwd)
compiler=${1:-g++}
python=${TENON_PYTHON:-python3}
"$python" -c 'import mindspore' >/dev/null 2>&1 || { echo "SKIPPED: $python has no MindSpore"; exit 77; }
echo '#include <protozero/pbf_reader.hpp>' | "$compiler" -E -x c++ - >/dev/null 2>&1 ||
  { echo "SKIPPED: protozero is not installed"; exit 77; }
work=$PWD/ckpt_mindspore
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

cat >rewrite.cpp <<'END_OF_PROGRAM'
#include <tenon/io/ckpt.hpp>
int main(int, char** argument) {
  using namespace tenon;
  const io::Ckpt file(argument[1]);
  std::vector<io::NamedValue> texts;
  for (const auto& [name, text] : file.texts()) texts.push_back({name, text});
  io::save_ckpt(argument[2], file.tensors(), texts);
}
END_OF_PROGRAM
"$compiler" -std=c++20 -O1 -Wall -Wextra -I"$include" rewrite.cpp -o rewrite || fail "the program does not compile"

cat >theirs.py <<'END_OF_SCRIPT'
import numpy as np, mindspore as ms
rng = np.random.default_rng(1)
types = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 bool_".split()
all = [{"name": "block." + t, "data": ms.Tensor(rng.integers(0, 2, (3, 4)).astype(t))} for t in types]
all += [{"name": "scalar." + t, "data": ms.Tensor(np.array(1, t))} for t in types]
all += [{"name": "bfloat16", "data": ms.Tensor(rng.normal(size=(3, 4)).astype("float32")).astype(ms.bfloat16)}]
all += [{"name": "large", "data": ms.Tensor(np.arange(135 << 20, dtype="float32").reshape(135, -1))}]
all += [{"name": "last", "data": ms.Tensor(np.array([1, np.nan, np.inf, -0.0], "float32"))}]
append = {"epoch_num": 3, "lr": 0.1, "flag": True, "note": "t\u00e9xt \U0001f600"}
ms.save_checkpoint(all, "theirs.ckpt", append_dict=append)
ms.save_checkpoint(all[-1:], "checked.ckpt", crc_check=True)
END_OF_SCRIPT
cat >ours.py <<'END_OF_SCRIPT'
import sys, numpy as np, mindspore as ms
theirs, ours = ms.load_checkpoint("theirs.ckpt"), ms.load_checkpoint("ours.ckpt")
assert list(theirs) == list(ours), (list(theirs), list(ours))
for name, a in theirs.items():
    b = ours[name]
    if isinstance(a, str): assert a == b, name
    else:
        assert a.dtype == b.dtype and a.shape == b.shape, (name, a.dtype, b.dtype, a.shape, b.shape)
        if a.dtype == ms.bfloat16: a, b = a.astype(ms.float32), b.astype(ms.float32)
        assert a.asnumpy().tobytes() == b.asnumpy().tobytes(), name
END_OF_SCRIPT
"$python" theirs.py >log 2>&1 || { cat log; fail "MindSpore does not write"; }
./rewrite theirs.ckpt ours.ckpt || fail "Tenon does not read and write"
cmp theirs.ckpt ours.ckpt || fail "the bytes differ"
./rewrite checked.ckpt again.ckpt || fail "Tenon does not read a checkpoint with a checksum"
"$python" ours.py >log 2>&1 || { cat log; fail "MindSpore does not read what Tenon wrote"; }

cat >encrypt.cpp <<'END_OF_PROGRAM'
// Decrypts what MindSpore encrypted, and encrypts it again with each cipher.
#include <tenon/io/ckpt_encryption.hpp>
int main() {
  using namespace tenon;
  const std::string key = "0123456789abcdef";
  for (int cipher = 0; cipher < 3; ++cipher) {
    const std::string number = std::to_string(cipher);
    const io::Ckpt file = io::read_encrypted_ckpt("theirs" + number + ".ckpt", key);
    io::save_encrypted_ckpt("ours" + number + ".ckpt", file.tensors(), key, io::CkptCipher(cipher));
  }
}
END_OF_PROGRAM
cat >encrypted.py <<'END_OF_SCRIPT'
import sys, numpy as np, mindspore as ms
key, modes = b"0123456789abcdef", ["AES-GCM", "AES-CBC", "SM4-CBC"]
value = np.arange(20 << 20, dtype="float32")  # more than one block
for number, mode in enumerate(modes):
    if sys.argv[1] == "write":
        data = [{"name": "w", "data": ms.Tensor(value)}]
        ms.save_checkpoint(data, f"theirs{number}.ckpt", enc_key=key, enc_mode=mode)
    else:
        read = ms.load_checkpoint(f"ours{number}.ckpt", dec_key=key, dec_mode=mode)
        assert (read["w"].asnumpy() == value).all(), mode
END_OF_SCRIPT
if "$compiler" -std=c++20 -O1 -I"$include" encrypt.cpp -o encrypt -lcrypto 2>log; then
  "$python" encrypted.py write >log 2>&1 || { cat log; fail "MindSpore does not encrypt"; }
  ./encrypt || fail "Tenon does not decrypt and encrypt"
  "$python" encrypted.py read >log 2>&1 || { cat log; fail "MindSpore does not decrypt what Tenon encrypted"; }
else
  echo "SKIPPED: OpenSSL is not installed, encrypted checkpoints were not exchanged"
fi
echo "MindSpore and Tenon read each other's checkpoints."
