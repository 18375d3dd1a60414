#!/bin/sh
# Installs as a Debian package does (DESTDIR, prefix /usr, a multiarch libdir), looks at what is there, and builds with
# it by CMake and pkg-config: `install.sh [cmake [compiler]]`. Writes to the current folder.
set -u
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
cmake=${1:-cmake} compiler=${2:-g++}
work=$PWD/install
rm -rf "$work" && mkdir -p "$work" || exit 1
elsewhere=$(mktemp -d) || exit 1  # CMake refuses an include folder in the source tree, where this may run
trap 'rm -rf "$elsewhere"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; fail "$*"; }; }

quietly "$cmake" -S "$source" -B "$work/build" -DCMAKE_CXX_COMPILER="$compiler" -DTENON_BUILD_TESTS=OFF \
  -DTENON_BUILD_EXAMPLES=OFF -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR=lib/x86_64-linux-gnu
quietly env DESTDIR="$work/root" "$cmake" --install "$work/build"
(cd "$work/root" && find . -type f ! -path './usr/include/tenon/*.hpp' ! -path './usr/include/tenon/*.cuh' |
  LC_ALL=C sort) >"$work/files"
cat >"$work/expected" <<END_OF_LIST
./usr/share/cmake/tenon/compiled.cmake
./usr/share/cmake/tenon/optimized.cmake
./usr/share/cmake/tenon/optional.cmake
./usr/share/cmake/tenon/tenonConfig.cmake
./usr/share/cmake/tenon/tenonConfigVersion.cmake
./usr/share/cmake/tenon/tenonTargets.cmake
./usr/share/doc/tenon/LICENSE
./usr/share/pkgconfig/tenon-zlib.pc
./usr/share/pkgconfig/tenon.pc
$(cd "$source" && ls compiled/*.cpp compiled/tools/*.cpp | sed "s|^|./usr/share/tenon/|" | LC_ALL=C sort)
./usr/share/tenon/debugger/auto_load.cpp
./usr/share/tenon/debugger/tenon_gdb.py
./usr/share/tenon/debugger/tenon_lldb.py
./usr/share/tenon/debugger/tenon_values.py
END_OF_LIST
diff "$work/expected" "$work/files" || fail "other files are installed (>) or missing (<) than Debian's folders allow"
headers=$(cd "$source/include" && find . -name '*.hpp' -o -name '*.cuh' | wc -l)
installed=$(find "$work/root/usr/include" -type f | wc -l)
[ "$installed" -eq "$headers" ] || fail "$installed of $headers headers are installed"
if grep -rn -e "$source" -e "$work" "$work/root"; then fail "the installed files name folders of this machine"; fi

# All that names the version names this one.
version=$(sed -n 's/^#define TENON_VERSION "\(.*\)"/\1/p' "$source/include/tenon/core/config.hpp")
for pair in "meson.build:version: '$version'" "packaging/vcpkg/tenon/vcpkg.json:\"version\": \"$version\"" \
  "docs/consuming.md:tenon/$version" "docs/consuming.md:find_package(tenon ${version%.*} " \
  "CHANGELOG.md:## $version"; do
  grep -qF "${pair#*:}" "$source/${pair%%:*}" || fail "${pair%%:*} does not say \`${pair#*:}\`"
done

# CMake, with the tree where it was staged
mkdir "$work/cmake"
cat >"$work/cmake/CMakeLists.txt" <<'END_OF_PROJECT'
cmake_minimum_required(VERSION 3.25)
project(mine CXX)
find_package(tenon 0.1 REQUIRED)
add_executable(mine main.cpp)
target_link_libraries(mine PRIVATE tenon::tenon)
add_executable(observed observed.cpp)
target_link_libraries(observed PRIVATE tenon::debug)
END_OF_PROJECT
cp "$here/main.cpp" "$work/cmake/"
cat >"$work/cmake/observed.cpp" <<'END_OF_PROGRAM'
#include <tenon/core/log/log.hpp>
#if !defined(TENON_OBSERVE)
#error "tenon::debug makes no program that can be observed"
#endif
int main() { tenon::logging::warning("a line of the program"); }
END_OF_PROGRAM
# Nothing that is looked at here depends on a level of optimization, and each program compiles a part of its own.
quietly "$cmake" -S "$work/cmake" -B "$work/cmake/build" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release \
  "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG" -DCMAKE_PREFIX_PATH="$work/root/usr"
quietly "$cmake" --build "$work/cmake/build"
quietly "$work/cmake/build/mine"
quietly env GLOG_logtostderr=0 GLOG_log_dir="$work/logs" "$work/cmake/build/observed"
grep -rq 'a line of the program' "$work/logs" || fail "a program that links tenon::debug writes no log files"
echo "A tree installed as Debian does serves find_package."

# pkg-config, the same, and with include folders of one's own, below the prefix or not
command -v pkg-config >/dev/null || { echo "SKIPPED: pkg-config is not installed, its files were not tried"; exit 0; }
built_with() {
  # shellcheck disable=SC2046  # several flags
  quietly "$compiler" -std=c++20 $(PKG_CONFIG_PATH="$1" pkg-config --cflags --libs "$2") "$here/main.cpp" \
    -o "$work/mine"
  quietly "$work/mine"
}
built_with "$work/root/usr/share/pkgconfig" tenon
[ "$(PKG_CONFIG_PATH=$work/root/usr/share/pkgconfig pkg-config --modversion tenon)" = "$version" ] ||
  fail "tenon.pc has another version than TENON_VERSION"
if pkg-config --exists zlib; then
  built_with "$work/root/usr/share/pkgconfig" tenon-zlib
  PKG_CONFIG_PATH=$work/root/usr/share/pkgconfig pkg-config --cflags --libs tenon-zlib >"$work/flags"
  grep -q -e '-DTENON_WITH_ZLIB=1' "$work/flags" && grep -q -e '-lz' "$work/flags" || fail "tenon-zlib says no zlib"
fi
for folder in include/tenon-0.1 "$elsewhere"; do
  quietly "$cmake" -S "$source" -B "$work/build" -DCMAKE_INSTALL_INCLUDEDIR="$folder"
  quietly "$cmake" --install "$work/build" --prefix "$work/own"
  built_with "$work/own/share/pkgconfig" tenon
done
echo "It serves pkg-config, too, with include folders of one's own."
