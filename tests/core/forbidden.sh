#!/bin/sh
# Flags that would change bits are refused in a sentence that names them, or change nothing inside the exact region:
#   forbidden.sh SOURCE_DIR
set -u
source=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
faults=0
fail() { echo "FAILED: $*"; faults=1; }
[ "$(uname -m)" != x86_64 ] || fused=-mfma
if [ "$(uname -m)" = x86_64 ] && ! grep -qw fma /proc/cpuinfo; then
  echo "SKIPPED: this processor has no fused multiply-add"
  exit 77
fi

# refused COMPILER FLAG [MORE FLAGS]: the header alone says so, and names the flag.
refused() {
  compiler=$1
  shift
  # shellcheck disable=SC2068  # several words
  if echo '#include <tenon/core/config.hpp>' |
    "$compiler" -std=c++20 -O2 -I"$source/include" -fsyntax-only -x c++ $@ - >"$work/text" 2>&1
  then fail "$compiler compiles with $*"
  elif ! grep -Eq "error: .*$1[ :).]" "$work/text" || [ "$(grep -c 'error: ' "$work/text")" -gt 1 ]
  then fail "$compiler $*: no one sentence with the flag, but: $(cat "$work/text")"
  fi
}
# result COMPILER FLAGS: what the program prints.
result() {
  compiler=$1
  shift
  # shellcheck disable=SC2068,SC2086  # several words
  "$compiler" -std=c++20 -O3 ${fused:-} -I"$source/include" $@ "$source/tests/core/forbidden/program.cpp" \
    -o "$work/program" 2>"$work/text" || cat "$work/text"
  "$work/program"
}
harmless() { [ "$(result "$@")" = "$expected" ] || fail "$*: other bits"; }
refused_at_run_time() {
  case $(result "$@") in
    *"Compile without"*"$2"*) ;;
    *) fail "$*: no refusal that names the flag, but: $("$work/program")" ;;
  esac
}

expected=$(result g++)
[ ${#expected} -eq 16 ] || fail "the program: $expected"
refused g++ -ffast-math
refused g++ -Ofast
refused g++ -funsafe-math-optimizations
refused g++ -fassociative-math -fno-signed-zeros -fno-trapping-math
refused g++ -freciprocal-math
refused g++ -ffinite-math-only
refused g++ -fno-signed-zeros
refused g++ -fsingle-precision-constant
refused g++ -fno-exceptions
[ "$(g++ -dumpversion | cut -d . -f 1)" -ge 13 ] || refused g++ -D_GLIBCXX_DEBUG  # from 13 on it works
echo '#include <tenon/core/config.hpp>' | g++ -std=c++17 -I"$source/include" -fsyntax-only -x c++ - >"$work/text" 2>&1
grep -q 'fatal error: Tenon is C++20: compile with -std=c++20' "$work/text" || fail "C++17: $(cat "$work/text")"
# Mistakes in the set-up of a program end its compilation with a sentence and a few lines: `ends SENTENCE CODE [FLAG]`.
ends() {
  # shellcheck disable=SC2086  # no word, or one
  printf "%b" "$2" | g++ -std=c++20 ${3:-} -I"$source/include" -fsyntax-only -x c++ - >"$work/text" 2>&1
  grep -q "fatal error: .*$1" "$work/text" || fail "no sentence '$1', but: $(head -n 5 "$work/text")"
  [ "$(wc -l <"$work/text")" -le 12 ] || fail "'$1' takes $(wc -l <"$work/text") lines"
}
ends 'debug.hpp comes before others' '#include <tenon/tenon.hpp>\n#include <tenon/debug/debug.hpp>\n'
ends 'link tenon::debug before tenon_compiled' '#include <tenon/debug/debug.hpp>\n' -DTENON_COMPILED
ends 'A macro has a name that Tenon uses' '#define N 5\n#include <tenon/core/tensor.hpp>\n'
ends 'names one to four folders' '#include <tenon/tenon.hpp>\n' -DTENON_TARGET=a,b,c,d,e
harmless g++ -ffp-contract=fast -fno-trapping-math -fno-math-errno -frounding-math
[ "$(uname -m)" != x86_64 ] || refused_at_run_time g++ -mfpmath=387

if command -v clang++-19 >/dev/null; then
  refused clang++-19 -ffast-math
  refused clang++-19 -ffinite-math-only
  harmless clang++-19
  harmless clang++-19 -fassociative-math -freciprocal-math -fno-signed-zeros -fno-trapping-math -fapprox-func
  refused_at_run_time clang++-19 -funsafe-math-optimizations
  refused_at_run_time clang++-19 -ffp-contract=fast
  refused_at_run_time clang++-19 -fno-honor-nans
else
  echo "SKIPPED: clang++-19 is not installed"
fi
[ $faults -eq 0 ] && echo "Each flag is refused by name, or changes no bit."
exit $faults
