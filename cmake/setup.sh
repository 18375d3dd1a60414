# What test.sh and quickstart.sh share: installing what is missing, and showing how far a build is. Sourced, not run.
# Needs only a POSIX shell, coreutils, grep, and, if something is missing, apt-get (Debian 12 or newer, Ubuntu) or dnf
# (Fedora).

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
    libzmq3-dev) echo '#include <zmq.h>' | g++ -E -x c++ - >/dev/null 2>&1 ;;
    libboost-dev) echo '#include <boost/beast/http.hpp>' | g++ -E -x c++ - >/dev/null 2>&1 ;;
    libdlpack-dev) echo '#include <dlpack/dlpack.h>' | g++ -E -x c++ - >/dev/null 2>&1 ;;
    libeigen3-dev) echo '#include <eigen3/Eigen/Core>' | g++ -E -x c++ - >/dev/null 2>&1 ;;
    libgrpc++-dev) echo '#include <grpcpp/grpcpp.h>' | g++ -E -x c++ - >/dev/null 2>&1 ;;
    libssl-dev) echo '#include <openssl/evp.h>' | g++ -E -x c++ - >/dev/null 2>&1 ;;
    nlohmann-json3-dev) echo '#include <nlohmann/json.hpp>' | g++ -E -x c++ - >/dev/null 2>&1 ;;
    libcli11-dev) echo '#include <CLI/CLI.hpp>' | g++ -E -x c++ - >/dev/null 2>&1 ;;
    ninja-build) command -v ninja >/dev/null ;;
    libxtensor-dev) echo '#if !__has_include(<xtensor/xadapt.hpp>) && !__has_include(<xtensor/containers/xadapt.hpp>)
#error
#endif' | g++ -E -x c++ - >/dev/null 2>&1 ;;
    clang-19) command -v clang++-19 >/dev/null ;;
    libonnx-testdata) [ -d /usr/share/libonnx-testdata/data/node ] ;;
    libclang-rt-19-dev) ls /usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt.fuzzer-* >/dev/null 2>&1 ;;
    lldb-19) command -v lldb >/dev/null || command -v lldb-19 >/dev/null ;;
    g++-aarch64-linux-gnu) command -v aarch64-linux-gnu-g++ >/dev/null ;;
    qemu-user) command -v qemu-aarch64 >/dev/null ;;
    mkdocs-material) [ -d /usr/share/doc/mkdocs-material ] ;;
    doxygen-awesome-css) [ -e /usr/share/doxygen-awesome-css/doxygen-awesome.css ] ;;
    gcc-arm-none-eabi) command -v arm-none-eabi-gcc >/dev/null ;;
    libstdc++-arm-none-eabi-newlib) [ -d /usr/lib/arm-none-eabi/newlib ] ;;
    pkgconf) command -v pkg-config >/dev/null ;;
    openmpi-bin) command -v mpirun.openmpi >/dev/null ;;
    mpich) command -v mpirun.mpich >/dev/null ;;
    time) [ -x /usr/bin/time ] ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

# alive COMMAND...: runs a silent command and shows that it is still at work: the seconds so far on a terminal, a line
# every 20 seconds elsewhere. Returns the command's exit status.
alive() {
  tick() {
    trap 'exit 0' TERM
    passed=0
    while :; do
      sleep 1
      passed=$((passed + 1))
      if [ -t 2 ]; then printf '\r  %d s ' $passed >&2
      elif [ $((passed % 20)) -eq 0 ]; then printf '  %d s ...\n' $passed >&2; fi
    done
  }
  tick &
  clock=$!
  "$@"
  alive_status=$?
  kill $clock 2>/dev/null
  wait $clock 2>/dev/null
  [ ! -t 2 ] || printf '\r          \r' >&2
  return $alive_status
}

# installer: apt-get or dnf, whichever is here.
installer() { command -v apt-get >/dev/null && echo apt-get || { command -v dnf >/dev/null && echo dnf; }; }

# can_install: whether packages can be installed here, as root or with sudo.
can_install() { [ -n "$(installer)" ] && { [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null; }; }

# names_here PACKAGE...: what Debian's packages that every test needs are called here.
names_here() {
  for package in "$@"; do
    case $(installer):$package in
      dnf:g++) echo gcc-c++ ;;
      dnf:zlib1g-dev) echo zlib-devel ;;
      dnf:doctest-dev) echo doctest-devel ;;
      *) echo "$package" ;;
    esac
  done | tr '\n' ' '
}

# install_packages LOG PACKAGE...: after reading apt-get's lists once; what is printed goes into the file LOG.
install_packages() {
  log=$1
  shift
  as_root=
  [ "$(id -u)" -eq 0 ] || as_root=sudo
  if [ "$(installer)" = dnf ]; then
    $as_root dnf install -y --setopt=install_weak_deps=False "$@" >"$log" 2>&1
    return
  fi
  {
    [ -n "${lists_are_read:-}" ] || $as_root apt-get update
    lists_are_read=yes
    # It waits for another one, such as that of unattended upgrades.
    $as_root env DEBIAN_FRONTEND=noninteractive \
      apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@"
  } >"$log" 2>&1
}

# need PACKAGE...: installs those Debian packages that are missing, and stops if that fails.
need() {
  missing=
  for package in "$@"; do has "$package" || missing="$missing $package"; done
  if [ -n "$missing" ]; then
    # shellcheck disable=SC2086  # several words
    names=$(names_here $missing) by=$(installer)
    by_hand="Install these and start again:$missing. On Debian: apt-get install$missing"
    [ "$by" != dnf ] || by_hand="Install these and start again: dnf install $names"
    [ -n "$by" ] || stop "$by_hand"
    can_install || stop "$by_hand (as root; there is no sudo here)"
    say "Installing$missing (once, about 1 min) ..."
    log=$(mktemp)
    # shellcheck disable=SC2086  # several words
    alive install_packages "$log" $names || { tail -n 20 "$log"; stop "$by could not install $names. $by_hand"; }
    rm -f "$log"
  fi
  version=$(g++ -dumpversion)
  [ "${version%%.*}" -ge 12 ] || [ -n "${CXX:-}" ] ||
    stop "Tenon needs g++ 12 or newer; g++ here is $version. Set CXX to another compiler."
}

# want PACKAGE...: installs those that are missing, by apt-get. A test that lacks one says SKIPPED.
want() {
  can_install && [ "$(installer)" = apt-get ] || return 0
  missing=
  for package in "$@"; do has "$package" || missing="$missing $package"; done
  [ -n "$missing" ] || return 0
  say "Installing$missing (once, about 1 min) ..."
  log=$(mktemp)
  # shellcheck disable=SC2086  # several words
  alive install_packages "$log" $missing || for package in $missing; do
    alive install_packages "$log" "$package" || say "apt-get could not install $package; what needs it will be skipped."
  done
  rm -f "$log"
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

# is_built PROGRAM SOURCE...: whether the program is there and newer than these files and folders, and than the headers.
# (ninja cannot tell without building: a dry run does not know the result of the globs that it checks first.)
is_built() {
  program=$1
  shift
  [ -x "$program" ] && [ -z "$(find "$root/include" "$@" -newer "$program" | head -n 1)" ]
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
