#!/bin/sh
# Builds and runs the project in cuda/: Tenon is installed and found, nvcc and the C++ compiler compile a part each, and
# both parts train with the same bits. `cuda.sh [cmake]`. Writes to the current folder.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
cmake=${1:-cmake}
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true)
[ -n "$nvcc" ] || { echo "SKIPPED: nvcc is not installed, nothing was compiled for the device"; exit 77; }
work=$PWD/cuda
rm -rf "$work" && mkdir -p "$work"

quietly() {
  "$@" >"$work/log" 2>&1 || { cat "$work/log"; echo "FAILED: $*"; exit 1; }
}
quietly "$cmake" -S "$source" -B "$work/tenon" -DTENON_BUILD_TESTS=OFF -DTENON_BUILD_EXAMPLES=OFF
quietly "$cmake" --install "$work/tenon" --prefix "$work/prefix"
quietly "$cmake" -S "$here/cuda" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CUDA_COMPILER="$nvcc" \
  -DCMAKE_CUDA_ARCHITECTURES=90 -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
quietly "$cmake" --build "$work/build" -j 2
quietly "$work/build/app"
if grep -q 'warning' "$work/log"; then cat "$work/log"; exit 1; fi

# told FILE DEFINITION: how often the command that compiles a file has it.
told() { grep '"command"' "$work/build/compile_commands.json" | grep -e "/$1 \|/$1\"" | grep -c -e "-D$2 " || true; }
for each in main.cu=TENON_COMPILED=1 main.cu=TENON_COMPILED_TARGET=1 host.cpp=TENON_COMPILED=1 \
  host.cpp=TENON_COMPILED_TARGET=0; do
  IFS='=' read -r file definition wanted <<END
$each
END
  [ "$(told "$file" "$definition")" = "$wanted" ] ||
    { echo "FAILED: $file: -D$definition $(told "$file" "$definition") times instead of $wanted"; exit 1; }
done

if nvidia-smi -L >/dev/null 2>&1; then quietly "$work/build/app" GPU
else
  # without a GPU: one sentence
  "$work/build/app" GPU >"$work/refused" 2>&1 && exit 1
  grep -q "device_target 'GPU' needs" "$work/refused"
fi
echo "nvcc and the C++ compiler share a program, each with the compiled part"
