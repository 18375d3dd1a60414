#!/bin/sh
# Single nodes through tenon-import, compared with ONNX Runtime: `import_nodes.sh [compiler]`. TENON_PYTHON names a
# Python that has onnx and onnxruntime. Writes to the current folder. Exit status 77: they are not there.
set -u
source=$(cd "$(dirname "$0")/../.." && pwd)
compiler=${1:-g++}
python=${TENON_PYTHON:-python3}
"$python" -c 'import onnx, onnxruntime' >/dev/null 2>&1 ||
  { echo "SKIPPED: $python does not have onnx and onnxruntime"; exit 77; }
printf '#include <protozero/pbf_writer.hpp>\n#include <CLI/CLI.hpp>\n' |
  "$compiler" -std=c++20 -E -x c++ - >/dev/null 2>&1 ||
  { echo "SKIPPED: protozero or CLI11 is not installed"; exit 77; }
work=$PWD/onnx_import_nodes
rm -rf "$work" && mkdir -p "$work" || exit 1
trap 'rm -rf "$work"' EXIT
"$python" "$source/tests/onnx/import/nodes.py" "$work" || { echo "FAILED: ONNX Runtime does not run it"; exit 1; }
"$compiler" -std=c++20 -O0 -I"$source/include" "$source/examples/tools/import.cpp" -o "$work/tenon-import" ||
  { echo "FAILED: tenon-import does not compile"; exit 1; }
for part in "$work/1" "$work/2"; do
  "$work/tenon-import" "$part/nodes.onnx" || exit 1
  "$compiler" -std=c++20 -O0 -I"$source/include" -I"$source/tests/onnx/import" -I"$part" \
    "$source/tests/onnx/import/nodes.cpp" -lpthread -lz -DTENON_WITH_ZLIB=1 -o "$part/program" ||
    { echo "FAILED: nodes.hpp does not compile"; exit 1; }
  "$part/program" "$part" || { echo "FAILED: ONNX Runtime computes something else"; exit 1; }
done
