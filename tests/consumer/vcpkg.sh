#!/bin/sh
# Runs the steps of the vcpkg port (vcpkg.cmake), holds the result against what vcpkg checks after a build, and builds
# with it: `vcpkg.sh [cmake [compiler]]`. Writes to the current folder.
set -u
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
cmake=${1:-cmake} compiler=${2:-g++}
port=$source/packaging/vcpkg/tenon
command -v "$compiler" >/dev/null || { echo "SKIPPED: $compiler is not installed"; exit 77; }
work=$PWD/vcpkg
rm -rf "$work" && mkdir -p "$work" || exit 1
fail() { echo "FAILED: $*"; exit 1; }
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; fail "$*"; }; }

# the manifest: the version, and the features, which are the components
cat >"$work/manifest.cmake" <<'END_OF_SCRIPT'
file(READ "${PORT}/vcpkg.json" manifest)
string(JSON version GET "${manifest}" version)
string(JSON licence GET "${manifest}" license)
string(JSON count LENGTH "${manifest}" features)
math(EXPR last "${count} - 1")
foreach(k RANGE ${last})
  string(JSON feature MEMBER "${manifest}" features ${k})
  list(APPEND features ${feature})
  string(JSON text GET "${manifest}" features ${feature} description)
endforeach()
include("${SOURCE}/cmake/optional.cmake")
list(SORT features)
list(SORT tenon_components)
file(STRINGS "${SOURCE}/include/tenon/core/config.hpp" line REGEX "define TENON_VERSION")
if(NOT line MATCHES "\"${version}\"" OR NOT features STREQUAL tenon_components OR NOT licence STREQUAL "Apache-2.0")
  message(FATAL_ERROR "vcpkg.json says version ${version}, licence ${licence}, features ${features}; "
    "the sources say ${line}, Apache-2.0, ${tenon_components}")
endif()
END_OF_SCRIPT
quietly "$cmake" -DPORT="$port" -DSOURCE="$source" -P "$work/manifest.cmake"

quietly "$cmake" -DPORTFILE="$port/portfile.cmake" -DCURRENT_PACKAGES_DIR="$work/package" \
  -DCURRENT_BUILDTREES_DIR="$work/build" -DCOMPILER="$compiler" -P "$here/vcpkg.cmake"

# what vcpkg complains of
for file in include/tenon/tenon.hpp share/tenon/tenonConfig.cmake share/tenon/copyright share/tenon/usage; do
  [ -f "$work/package/$file" ] || fail "the package has no $file"
done
for folder in lib bin debug share/cmake share/doc; do
  [ ! -e "$work/package/$folder" ] || fail "the package of a header-only port has $folder"
done
[ -z "$(find "$work/package" -type d -empty)" ] || fail "empty folders: $(find "$work/package" -type d -empty)"
if grep -rn -e "$source" -e "$work" "$work/package"; then fail "the package names folders of this machine"; fi

mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<'END_OF_PROJECT'
cmake_minimum_required(VERSION 3.25)
project(mine CXX)
find_package(tenon CONFIG REQUIRED)
add_executable(mine main.cpp)
target_link_libraries(mine PRIVATE tenon::tenon)
END_OF_PROJECT
cp "$here/main.cpp" "$work/project/"
quietly "$cmake" -S "$work/project" -B "$work/project/build" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_BUILD_TYPE=Release -Dtenon_DIR="$work/package/share/tenon"
quietly "$cmake" --build "$work/project/build"
quietly "$work/project/build/mine"
echo "The steps of the vcpkg port make a package that a project builds and runs with."
