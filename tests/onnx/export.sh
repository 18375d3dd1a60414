#!/bin/sh
# ONNX's checker and ONNX Runtime read what export_onnx writes, and compute what Tenon computes: `export.sh [compiler]`.
# TENON_PYTHON names a Python that has onnx and onnxruntime. Writes to the current folder. Exit status 77: they are not
# installed.
set -u
source=$(cd "$(dirname "$0")/../.." && pwd)
compiler=${1:-g++}
python=${TENON_PYTHON:-python3}
"$python" -c 'import onnx, onnxruntime, numpy' >/dev/null 2>&1 ||
  { echo "SKIPPED: $python does not have onnx and onnxruntime"; exit 77; }
echo '#include <protozero/pbf_writer.hpp>' | "$compiler" -E -x c++ - >/dev/null 2>&1 ||
  { echo "SKIPPED: protozero is not installed"; exit 77; }
work=$PWD/onnx_export
rm -rf "$work" && mkdir -p "$work" || exit 1
trap 'rm -rf "$work"' EXIT
"$compiler" -std=c++20 -O1 -I"$source/include" "$source/tests/onnx/export/program.cpp" -lpthread -o "$work/program" ||
  { echo "FAILED: the program does not compile"; exit 1; }
"$work/program" "$work" || { echo "FAILED: a network could not be exported"; exit 1; }
"$python" "$source/tests/onnx/export/check.py" "$work" ||
  { echo "FAILED: ONNX Runtime computes something else"; exit 1; }
