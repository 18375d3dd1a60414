#!/bin/sh
# Fresh files of Keras: `keras.sh [compiler]` makes them with other weights, and runs keras.cpp on them. TENON_PYTHON
# names a Python that has keras, h5py, and torch. Writes to the current folder. Exit status 77: they are not there.
set -u
source=$(cd "$(dirname "$0")/../.." && pwd)
compiler=${1:-g++}
python=${TENON_PYTHON:-python3}
KERAS_BACKEND=torch "$python" -c 'import keras, h5py' >/dev/null 2>&1 ||
  { echo "SKIPPED: $python does not have keras, h5py, and torch"; exit 77; }
echo '#include <zlib.h>' | "$compiler" -E -x c++ - >/dev/null 2>&1 ||
  { echo "SKIPPED: zlib is not installed"; exit 77; }
work=$PWD/keras_files
rm -rf "$work" && mkdir -p "$work" || exit 1
trap 'rm -rf "$work"' EXIT
"$compiler" -std=c++20 -O1 -I"$source/include" -I"$source/tests" "$source/tests/io/keras.cpp" -o "$work/program" \
  -lpthread -lz || { echo "FAILED: keras.cpp does not compile"; exit 1; }
for seed in 1 2 3; do
  KERAS_BACKEND=torch "$python" "$source/tests/golden/keras_files.py" "$work" $seed >"$work/log" 2>&1 ||
    { tail -n 5 "$work/log"; echo "FAILED: Keras cannot save"; exit 1; }
  tail -n 1 "$work/log"
  TENON_KERAS_FILES=$work "$work/program" || exit 1
done
