#!/bin/sh
# PyTorch takes tensors of Tenon by DLPack, and gives its own: `dlpack_pytorch.sh COMPILER`. TENON_PYTHON names a Python
# that has torch. Exit status 77: it is not installed.
set -u
source=$(cd "$(dirname "$0")/../.." && pwd)
python=${TENON_PYTHON:-python3}
"$python" -c 'import torch' >/dev/null 2>&1 || { echo "SKIPPED: $python does not have torch"; exit 77; }
echo '#include <dlpack/dlpack.h>' | "$1" -E -x c++ - >/dev/null 2>&1 ||
  { echo "SKIPPED: DLPack is not installed (apt-get install libdlpack-dev)"; exit 77; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
"$1" -std=c++20 -O1 -fPIC -shared -I"$source/include" "$source/tests/core/dlpack_pytorch/program.cpp" -lpthread \
  -o "$dir/module.so" ||
  { echo "FAILED: the module does not compile"; exit 1; }
"$python" "$source/tests/core/dlpack_pytorch/check.py" "$dir/module.so" || { echo "FAILED"; exit 1; }
