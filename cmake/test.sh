#!/bin/sh
# Builds and runs the tests. `sh cmake/test.sh --help` says more.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/cmake/setup.sh"

usage() {
  cat <<'END'
sh cmake/test.sh                   build and run all tests but the long ones
sh cmake/test.sh core/shape        install what this test uses, build it, run it; a part of its name is enough
sh cmake/test.sh core/             build and run the tests of a folder
sh cmake/test.sh --long            all tests, also the long ones
sh cmake/test.sh --list            the names of the tests
sh cmake/test.sh --cuda [NAME]     on a machine with an NVIDIA GPU: the tests that compare it with the CPU, bit for
                                   bit, compiled by nvcc; with --long in compute-sanitizer, too
     --preset asan                 another build: release (the usual one), debug, asan, tsan, clang, compiled,
                                   headers
     --march x86-64-v2             for another instruction set than this machine's

On Debian and Ubuntu it first installs what is missing, as root or with sudo: compiler, cmake, ninja, doctest, zlib; for
one test the libraries and tools that it uses, for all tests xtensor, protozero, OpenSSL, libpng, libjpeg, SQLite, LMDB,
Redis, nlohmann_json, CLI11, ONNX's test data, time, gdb. The build is in build/PRESET or build/PRESET-MARCH.
CMAKE_BUILD_PARALLEL_LEVEL and CTEST_PARALLEL_LEVEL limit the number of cores.
END
}

long=no
name=
preset=release
march=
list=no
cuda=no
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --long) long=yes ;;
    --list) list=yes ;;
    --cuda) cuda=yes ;;
    --preset)
      [ $# -ge 2 ] || stop "--preset needs a name: release, debug, asan, tsan, clang, compiled, or headers."
      preset=$2
      shift ;;
    --march)
      [ $# -ge 2 ] || stop "--march needs a name, as the compiler's -march: x86-64-v2, armv8.2-a, ..."
      march=$2
      shift ;;
    -*) usage >&2; stop "Unknown option: $1" ;;
    *) [ -z "$name" ] || stop "One test name at a time, not \`$name\` and \`$1\`."; name=$1 ;;
  esac
  shift
done

if [ $cuda = yes ]; then
  need g++ doctest-dev
  exec sh "$root/tests/backend/cuda/on_gpu.sh" "$root" "$long" "$name"
fi

# The tests whose names match $name: exactly, or in a folder, or by a part of the name. Without $name: all that are to
# run.
choose() {
  awk -v name="$name" -v long="$long" '
    name == "" { if (long == "yes" || $2 == "short") print; next }
    $1 == name { exact = $0 }
    name ~ /\/$/ && index($1, name) == 1 && (long == "yes" || $2 == "short") { part = part $0 "\n" }
    $1 ~ /\/seed[0-9]$/ && name !~ /seed/ { next }  # the same program as the test before
    name !~ /\/$/ && index($1, name) { part = part $0 "\n" }
    END { if (exact != "") print exact; else printf "%s", part }' "$build/tests.txt"
}

# The five names nearest to $name, by the number of letters to change.
near() {
  awk -v asked="$name" '
    function least(a, b, c) { return a < b ? (a < c ? a : c) : (b < c ? b : c) }
    function distance(a, b,    i, j, row, corner, above) {
      for (j = 0; j <= length(b); ++j) row[j] = j
      for (i = 1; i <= length(a); ++i) {
        corner = row[0]; row[0] = i
        for (j = 1; j <= length(b); ++j) {
          above = row[j]
          row[j] = least(above + 1, row[j - 1] + 1, corner + (substr(a, i, 1) != substr(b, j, 1)))
          corner = above
        }
      }
      return row[length(b)]
    }
    { last = $1; sub(/.*\//, "", last); 
      print least(distance(asked, $1), distance(asked, last), 99), $1 }' "$build/tests.txt" |
    sort -n | head -n 5 | sed 's/^[0-9]* /  /'
}

# The tests that may have what $name asks for: if a header has this name, maybe after the name of a target, those in the
# folder of its tests that name it most often.
of_header() {
  header=$name
  while [ ! -f "$root/include/tenon/$header.hpp" ]; do
    case $header in */*) header=${header#*/} ;; *) return ;; esac
  done
  word=$(basename "$header" | sed 's/_/_?/g')  # also MaxPool2d for max_pool2d
  folder=$(dirname "$header")
  (cd "$root/tests/$folder" 2>/dev/null && grep -Eicw "$word" ./*.cpp /dev/null) | grep -v ':0$' | sort -t : -k 2 -nr |
    head -n 5 | sed "s|^[.]/|  ${name%"$header"}$folder/|; s|[.]cpp:.*||"
}

# libraries_of SOURCE: the Debian packages of the optional libraries that a test's source names, none without a source.
libraries_of() {
  [ -f "$1" ] || return
  for word in $(sed -n 's|^// link: ||p' "$1") $(grep -oE 'protozero|xtensor' "$1" | sort -u); do
    case $word in
      xtensor) echo libxtensor-dev ;;
      protozero) echo libprotozero-dev ;;
      openssl) echo libssl-dev ;;
      png) echo libpng-dev ;;
      json) echo nlohmann-json3-dev ;;
      jpeg) echo libjpeg-dev ;;
      sqlite) echo libsqlite3-dev ;;
      lmdb) echo liblmdb-dev ;;
      redis) echo libhiredis-dev redis-server ;;
      zmq) echo libzmq3-dev ;;
      serve) echo libboost-dev nlohmann-json3-dev ;;
      tls) echo libboost-dev nlohmann-json3-dev libssl-dev ;;
      grpc) echo libgrpc++-dev pkgconf libboost-dev nlohmann-json3-dev libprotozero-dev ;;
      cli11) echo libcli11-dev ;;
    esac
  done
}

# tools_of NAME: the packages of the tools that the script of a test calls, and of what it compiles with them.
tools_of() {
  case $1 in
    fuzz/*) echo clang-19 libclang-rt-19-dev libprotozero-dev nlohmann-json3-dev libjpeg-dev libpng-dev \
      libsqlite3-dev ;;
    *clang* | core/forbidden | odr/flags*) echo clang-19 ;;
    *aarch64*) echo g++-aarch64-linux-gnu qemu-user ;;
    error/editor) echo clangd-19 ;;
    serve/clients) echo libgrpc++-dev pkgconf libboost-dev nlohmann-json3-dev libprotozero-dev libssl-dev openssl \
      curl ;;
    onnx/import | onnx/import_nodes) echo libprotozero-dev libcli11-dev ;;
    onnx/*) echo libprotozero-dev libonnx-testdata ;;
    layout/lines) echo clang-format-19 ;;
    compile/tidy) echo clang-tidy-19 ;;
    compile/cost*) echo time ;;
    instructions) echo valgrind ;;
    debugger/gdb) echo gdb ;;
    dist/mpi_values) echo openmpi-bin mpich libopenmpi-dev libmpich-dev python3 python3-numpy ;;
    dist/mpirun | dist/nccl* | dist/networks | dist/killed | example/data_parallel) echo openmpi-bin mpich ;;
    docs/snippets) echo openmpi-bin libzmq3-dev libboost-dev nlohmann-json3-dev libxtensor-dev libdlpack-dev \
      libeigen3-dev ;;
    embedded/lenet) echo gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib qemu-system-arm ;;
    core/dlpack*) echo libdlpack-dev ;;
    debugger/lldb) echo lldb-19 ;;
    debug/report_in_browser) echo libpng-dev chromium ;;
    consumer/install | consumer/page_pkg-config*) echo pkgconf ;;
    consumer/page_Meson*) echo meson ;;
    docs/site) echo mkdocs-material doxygen doxygen-awesome-css ;;
  esac
}

need g++ cmake make ninja-build doctest-dev zlib1g-dev
# Without a name: what single tests would skip without. With the name of one test: what that one uses.
# shellcheck disable=SC2046  # several words
if [ $list = yes ]; then :
elif [ -f "$root/tests/$name.cpp" ] || [ -n "$(tools_of "$name")" ]; then
  want $(libraries_of "$root/tests/$name.cpp") $(tools_of "$name")
else
  want libxtensor-dev libprotozero-dev libssl-dev libpng-dev nlohmann-json3-dev libcli11-dev libjpeg-dev \
    libsqlite3-dev liblmdb-dev libhiredis-dev redis-server libzmq3-dev libboost-dev libdlpack-dev libeigen3-dev \
    openmpi-bin mpich libonnx-testdata time gdb
fi
# All tests, or those of a first folder, are compiled as a few programs (tests/together.cmake); with --long each is one.
# A list of names builds nothing, so it leaves that as it is.
together=OFF
case $long$name in
  no*/?*) ;;
  no | no*/) together=ON ;;
esac
set --
[ $list = yes ] || set -- -DTENON_TESTS_TOGETHER=$together
configure "$preset" -DTENON_BUILD_TESTS=ON "$@"

chosen=$(choose)
if [ $list = yes ]; then
  printf '%s\n' "$chosen" | sed 's/ short .*//; s/ long .*/   (long)/'
  exit 0
fi
if [ -z "$chosen" ]; then
  say "No test is called \`$name\`."
  found=$(of_header)
  [ -z "$found" ] || printf 'Tests of its folder that name this header most often:\n%s\n' "$found"
  echo "The nearest names:"
  near
  exit 2
fi
if [ -n "$name" ] && [ "${name%/}" = "$name" ] && [ "$(printf '%s\n' "$chosen" | wc -l)" -gt 1 ]; then
  say "\`$name\` is a part of several names; say more:"
  printf '%s\n' "$chosen" | sed 's/ .*//; s/^/  /'
  exit 2
fi

# ---- build
count=$(printf '%s\n' "$chosen" | wc -l)
if [ -z "$name" ]; then
  say "Building $count tests in ${build#"$root/"} ..."
  targets=all
  [ $long = no ] || targets='all long_tests'
else
  targets=$(printf '%s\n' "$chosen" | awk '$3 != "-" && !seen[$3]++ { print $3 }')
fi
if [ -n "$targets" ]; then
  # shellcheck disable=SC2086  # several words
  build $targets || stop "The build failed (the text above says where)."
fi

# ---- run: ctest wants one expression for the names
: "${CTEST_PARALLEL_LEVEL:=$(nproc)}"
export CTEST_PARALLEL_LEVEL
pattern=
if [ -n "$name" ]; then
  pattern=$(printf '%s\n' "$chosen" | sed 's/ .*//; s/[.+]/\\&/g; s/.*/^&$/' | paste -s -d '|' -)
fi
set -- --test-dir "$build" --output-on-failure --no-label-summary --no-tests=error
[ -z "$pattern" ] || set -- "$@" -R "$pattern"
[ -n "$name" ] || [ $long = yes ] || set -- "$@" -LE '^long$'
if [ "$count" -gt 1 ]; then
  say "Running $count tests ..."
  with_filter progress ctest "$@"
  status=$?
else
  say "Running ${chosen%% *} ..."
  with_filter only_output ctest "$@" --verbose
  status=$?
fi

# ---- what did not run is said again at the end, where it is seen
skipped=$(sed -n 's/^[0-9: ]*\(SKIPPED: .*\)/  \1/p' "$build/Testing/Temporary/LastTest.log" | sort | uniq -c)
if [ "$count" -eq 1 ] && [ $status -ne 0 ]; then
  say "FAILED."
elif [ "$count" -eq 1 ] && [ -z "$skipped" ]; then
  say "Passed."
fi
if [ -n "$skipped" ]; then
  say
  say "What could not be tested here:"
  say "$skipped"
fi
exit $status
