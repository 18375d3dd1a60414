# What test.sh and quickstart.sh share: installing what is missing, and showing how far a build is. Sourced, not run.
# Needs only a POSIX shell, coreutils, grep, and, if something is missing, apt-get (Debian 12 or newer).

say() { printf '%s\n' "$*"; }
stop() { printf '%s\n' "$*" >&2; exit 1; }

has() {
  case $1 in
    doctest-dev) echo '#include <doctest/doctest.h>' | g++ -E -x c++ - >/dev/null 2>&1 ;;
    zlib1g-dev) echo '#include <zlib.h>' | g++ -E -x c++ - >/dev/null 2>&1 ;;
    libprotozero-dev) echo '#include <protozero/pbf_reader.hpp>' | g++ -E -x c++ - >/dev/null 2>&1 ;;
    libpng-dev) echo '#include <png.h>' | g++ -E -x c++ - >/dev/null 2>&1 ;;
    libjpeg-dev) echo '#include <stddef.h>
#include <stdio.h>
#include <jpeglib.h>' | g++ -E -x c++ - >/dev/null 2>&1 ;;
    libsqlite3-dev) echo '#include <sqlite3.h>' | g++ -E -x c++ - >/dev/null 2>&1 ;;
    liblmdb-dev) echo '#include <lmdb.h>' | g++ -E -x c++ - >/dev/null 2>&1 ;;
    libhiredis-dev) echo '#include <hiredis/hiredis.h>' | g++ -E -x c++ - >/dev/null 2>&1 ;;
    libssl-dev) echo '#include <openssl/evp.h>' | g++ -E -x c++ - >/dev/null 2>&1 ;;
    nlohmann-json3-dev) echo '#include <nlohmann/json.hpp>' | g++ -E -x c++ - >/dev/null 2>&1 ;;
    libcli11-dev) echo '#include <CLI/CLI.hpp>' | g++ -E -x c++ - >/dev/null 2>&1 ;;
    ninja-build) command -v ninja >/dev/null ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

# need PACKAGE...: installs those Debian packages that are not here.
need() {
  missing=
  for package in "$@"; do has "$package" || missing="$missing $package"; done
  if [ -n "$missing" ]; then
    root_command=
    [ "$(id -u)" -eq 0 ] || root_command=sudo
    by_hand="Install these and start again:$missing. On Debian: apt-get install$missing"
    command -v apt-get >/dev/null || stop "$by_hand"
    [ -z "$root_command" ] || command -v sudo >/dev/null || stop "$by_hand (as root; there is no sudo here)"
    say "Installing$missing (once, about 1 min) ..."
    log=$(mktemp)
    { $root_command apt-get update &&
      $root_command env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } \
      >"$log" 2>&1 || {
      tail -n 20 "$log"
      stop "apt-get could not install$missing. $by_hand"
    }
    rm -f "$log"
  fi
  version=$(g++ -dumpversion)
  [ "${version%%.*}" -ge 12 ] || [ -n "${CXX:-}" ] ||
    stop "Tenon needs g++ 12 or newer; g++ here is $version. Set CXX to another compiler."
}

# configure PRESET [cmake arguments]: quietly, unless it fails. Ninja if it is here and the folder is new. For another
# instruction set, $march, in a folder of its own.
configure() {
  preset=$1
  shift
  build=$root/build/$preset${march:+-$march}
  [ -z "${march:-}" ] || set -- -DTENON_MARCH="$march" "$@"
  if [ ! -f "$build/CMakeCache.txt" ] && command -v ninja >/dev/null; then set -- -G Ninja "$@"; fi
  mkdir -p "$build"
  (cd "$root" && cmake --preset "$preset" -B "$build" "$@") >"$build/configure.log" 2>&1 || {
    cat "$build/configure.log"
    stop "cmake could not configure $build (the text above says why)."
  }
}

# left DONE TOTAL SECONDS: the time that the rest takes if it goes on like this.
left() {
  if [ "$1" -eq 0 ] || [ "$3" -lt 5 ]; then return; fi
  seconds=$(($3 * ($2 - $1) / $1))
  if [ $seconds -ge 90 ]; then printf '%s min left' $(((seconds + 30) / 60)); else printf '%s s left' $seconds; fi
}

# Reads the output of ninja, make, or ctest, and puts `[ 37/120] 2 min left` before each step. Everything else passes
# through.
progress() {
  start=$(date +%s)
  while IFS= read -r line; do
    total='' at=''
    case $line in
      " "*"Start "*[0-9]": "* | "Test project "* | "Internal ctest changing"*) continue ;;
      *"Re-checking globbed directories..." | "ninja: no work to do.") continue ;;
      "["*/*"] "*) counts=${line#\[} counts=${counts%%\]*} text=${line#*\] } at=${counts%/*} total=${counts#*/} ;;
      "["*"%] "*) counts=${line#\[} counts=${counts%%\]*} text=${line#*\] } at=${counts%\%} total=100 ;;
      *[0-9]/*[0-9]" Test "*"#"*:*) counts=${line%%Test*} text=${line#*: } at=${counts%/*} total=${counts#*/} ;;
    esac
    at=$(printf '%s' "${at:-}" | tr -d ' ') total=$(printf '%s' "$total" | tr -d ' ')
    case $at$total in *[!0-9]*) total='' ;; esac
    if [ -z "$total" ]; then
      printf '%s\n' "$line"
    else
      printf '[%*d/%d] %-11s %s\n' ${#total} "$at" "$total" "$(left "$at" "$total" $(($(date +%s) - start)))" "$text"
    fi
  done
}

# Reads the output of `ctest --verbose` for one test, and keeps what the test itself says.
only_output() {
  sed -n -e '/^[0-9]*: \(Test command\|Working Directory\|Environment variables\|Test timeout\)/d' \
    -e '/^[0-9]*:  [A-Z_]*=/d' -e 's/^[0-9]*: //p'
}

# with_filter FILTER COMMAND...: runs the command through the filter, and returns the command's own exit status.
with_filter() {
  filter=$1
  shift
  status_file=$(mktemp)
  { NINJA_STATUS='[%f/%t] ' "$@" 2>&1; echo $? >"$status_file"; } | $filter
  status=$(cat "$status_file")
  rm -f "$status_file"
  return "$status"
}

# build [TARGET...]: of the configured preset, on all cores; goes on after an error, to show all of them.
build() {
  : "${CMAKE_BUILD_PARALLEL_LEVEL:=$(nproc)}"
  export CMAKE_BUILD_PARALLEL_LEVEL
  go_on=-k
  [ ! -f "$build/build.ninja" ] || go_on=-k0
  if [ $# -gt 0 ]; then set -- --target "$@"; fi
  with_filter progress cmake --build "$build" "$@" -- $go_on
}
