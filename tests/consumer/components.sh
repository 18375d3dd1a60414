#!/bin/sh
# A program that insists on all optional libraries and uses them, from the installed package and from the sources:
# `components.sh [cmake [compiler]]`. Writes to the current folder. Exit status 77: something is not installed.
set -u
source=$(cd "$(dirname "$0")/../.." && pwd)
cmake=${1:-cmake} compiler=${2:-g++}
command -v "$compiler" >/dev/null || { echo "SKIPPED: $compiler is not installed"; exit 77; }
work=$PWD/components
rm -rf "$work" && mkdir -p "$work" || exit 1
fail() { echo "FAILED: $*"; exit 1; }
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; fail "$*"; }; }

# The library stands in a folder of its own, which alone knows of Tenon: the program above it links zlib all the same.
mkdir "$work/lib"
cat >"$work/CMakeLists.txt" <<'END_OF_PROJECT'
cmake_minimum_required(VERSION 3.25)
project(mine CXX)
add_subdirectory(lib)
add_executable(mine main.cpp)
target_link_libraries(mine PRIVATE lib)
END_OF_PROJECT
cat >"$work/lib/CMakeLists.txt" <<'END_OF_PROJECT'
if(SOURCES)
  set(TENON_COMPONENTS zlib xtensor protozero openssl)
  add_subdirectory("${SOURCES}" tenon)
else()
  find_package(tenon REQUIRED COMPONENTS zlib OPTIONAL_COMPONENTS teleport)
  if(NOT tenon_zlib_FOUND OR tenon_teleport_FOUND)
    message(FATAL_ERROR "zlib: ${tenon_zlib_FOUND}, teleport: ${tenon_teleport_FOUND}")
  endif()
  find_package(tenon REQUIRED COMPONENTS xtensor protozero openssl)
endif()
add_library(lib STATIC lib.cpp)
target_link_libraries(lib PUBLIC tenon::tenon PRIVATE tenon::xtensor tenon::protozero tenon::openssl)
END_OF_PROJECT
cat >"$work/lib/lib.cpp" <<'END_OF_PROGRAM'
#include <tenon/core/xtensor.hpp>
#include <tenon/io/ckpt_encryption.hpp>
float second(tenon::Tensor<float, tenon::Shape<3>> x) { return tenon::as_xtensor(x)(1); }
bool encrypted(const char* path) {
  float value = 1;
  const std::string key = "0123456789abcdef";
  const std::vector<tenon::io::NamedTensor> tensors{{"a", {tenon::Dtype::float32, {}, &value}}};
  tenon::io::save_encrypted_ckpt(path, tensors, key);
  return tenon::io::read_encrypted_ckpt(path, key).find("a") != nullptr;
}
END_OF_PROGRAM
cat >"$work/main.cpp" <<'END_OF_PROGRAM'
#include <tenon/core/tensor.hpp>
#include <tenon/io/bytes/gzip.hpp>

float second(tenon::Tensor<float, tenon::Shape<3>> x);
bool encrypted(const char* path);
int main(int, char** arguments) {
  const bool read = tenon::io::read_gzip_or_plain(arguments[1]) == "text";
  return read && encrypted(arguments[2]) && second(tenon::Tensor{1.0f, 2.0f, 3.0f}) == 2 ? 0 : 1;
}
END_OF_PROGRAM
printf text | gzip >"$work/text.gz" || exit 1

quietly "$cmake" -S "$source" -B "$work/tenon" -DCMAKE_CXX_COMPILER="$compiler" -DTENON_BUILD_TESTS=OFF \
  -DTENON_BUILD_EXAMPLES=OFF
quietly "$cmake" --install "$work/tenon" --prefix "$work/prefix"
for sources in "" "$source"; do
  "$cmake" -S "$work" -B "$work/build" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_PREFIX_PATH="$work/prefix" -DSOURCES="$sources" >"$work/log" 2>&1 || {
    if grep -q 'which is not found here' "$work/log"; then
      echo "SKIPPED: an optional library is not installed"
      exit 77
    fi
    cat "$work/log"
    fail "the configuration"
  }
  quietly "$cmake" --build "$work/build"
  if grep -i 'warning' "$work/log"; then cat "$work/log"; fail "a warning"; fi
  quietly "$work/build/mine" "$work/text.gz" "$work/a.ckpt"
  rm -rf "$work/build"
done
echo "All components serve a program, installed and as sources, with $compiler."
