#!/bin/sh
# Tenon as one header, which needs a compiler and nothing else:
#   amalgamated.sh short|long COMPILER
# short: of tensors only; two sources include it and link. long: all of it; README's program compiles, trains, and links
# with a second source. Exit status 77: the compiler is not here.
set -u
source=$(cd "$(dirname "$0")/../.." && pwd)
compiler=$(command -v "$2" || ls "/usr/local/cuda/bin/$2" 2>/dev/null || true)
[ -n "$compiler" ] || { echo "SKIPPED: $2 is not installed"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
fail() { echo "FAILED: $*"; exit 1; }
flags='-std=c++20 -O1'
case $2 in
  nvcc) flags="$flags --expt-relaxed-constexpr -Xcompiler -march=native -x cu" ;;
  *) flags="$flags -Wall -Wextra -Werror" ;;
esac

# What stands between #if and #endif may be left out there, and is needed once wherever it was.
mkdir -p small/cmake small/include/tenon/core
cp "$source/cmake/amalgamate.sh" small/cmake/
printf '#define TENON_VERSION "1.2.3"\n' >small/include/tenon/core/config.hpp
printf '// A.\n#pragma once\n#if defined(ASKED)\n#include <tenon/b.hpp>\n#endif\n#include <tenon/c.hpp>\n' \
  >small/include/tenon/a.hpp
printf '// B.\n#pragma once\n#include <tenon/d.hpp>\ninline int b() { return d() + 1; }\n' >small/include/tenon/b.hpp
printf '// C.\n#pragma once\n#include <tenon/b.hpp>\n#include <tenon/d.hpp>\ninline int c() { return b() + d(); }\n' \
  >small/include/tenon/c.hpp
printf '// D.\n#pragma once\n#include <tenon/a.hpp>\n#include <vector>\ninline int d() { return 1; }\n' \
  >small/include/tenon/d.hpp
sh small/cmake/amalgamate.sh tenon/a.hpp >small/one.hpp || fail "a small tree cannot be written as one header"
printf '#include "one.hpp"\nint main() { return c() == 3 ? 0 : 1; }\n' >small/main.cpp
for asked in '' -DASKED; do
  # shellcheck disable=SC2086  # several flags
  "$compiler" $flags $asked small/main.cpp -o small/main && small/main || fail "a small tree $asked"
done
grep -q 'Tenon 1.2.3' small/one.hpp || fail "the header does not name its version"
if sh small/cmake/amalgamate.sh tenon/none.hpp >/dev/null 2>said; then fail "a header that is not there is accepted"; fi
grep -q 'no header `tenon/none.hpp`' said || fail "a header that is not there: $(cat said)"

cat >second.cpp <<'END_OF_SECOND'
#include "tenon.hpp"
#include "tenon.hpp"
float second() { return tenon::Tensor{1.5f, 2.5f}(1); }
END_OF_SECOND
if [ "$1" = short ]; then
  sh "$source/cmake/amalgamate.sh" tenon/core/tensor.hpp >tenon.hpp || fail "amalgamate.sh"
  cat >first.cpp <<'END_OF_FIRST'
#include "tenon.hpp"
float second();
int main() { return tenon::Tensor{1.5f, 2.5f}(1) == second() ? 0 : 1; }
END_OF_FIRST
  # shellcheck disable=SC2086  # several flags
  "$compiler" $flags first.cpp second.cpp -o program -lpthread && ./program || fail "two sources do not link"
  echo "One header of tensors serves two sources of a program, with $2."
  exit 0
fi

sh "$source/cmake/amalgamate.sh" >tenon.hpp || fail "amalgamate.sh"
{
  echo '#include "tenon.hpp"'
  awk '/^```cpp$/ { inside = 1; next } /^```$/ { if (inside) exit } inside && !/<tenon\/tenon.hpp>/' "$source/README.md"
  echo 'float second();'
  echo 'const bool same = second() == 2.5f;'
} >first.cpp
# shellcheck disable=SC2086  # several flags
"$compiler" $flags -O2 first.cpp second.cpp -o program -lpthread || fail "README's program does not compile with it"
./program | tail -n 1 | tee accuracy
awk '$1 == "accuracy" && $2 > 0.95 { good = 1 } END { exit !good }' accuracy || fail "README's program learns nothing"
echo "One header with all of Tenon serves two sources of a program, with $2: $(wc -c <tenon.hpp) bytes."
