#!/bin/sh
# The checks of layout, wording, and the founding documents must fail on what they forbid: a small tree in the current
# folder passes, then one mistake at a time is put in, and the check has to name it.
set -u
tests=$(cd "$(dirname "$0")/.." && pwd)
faults=0

tree() {
  rm -rf tree && mkdir -p tree/include/tenon/core tree/include/tenon/graph tree/include/tenon/io tree/tests/layout
  printf '// A.\n#pragma once\n' >tree/include/tenon/core/a.hpp
  printf '// B.\n#pragma once\n#include <tenon/core/a.hpp>\n' >tree/include/tenon/graph/b.hpp
  printf '// All.\n#pragma once\n#include <vector>\n#include <tenon/graph/b.hpp>\n' >tree/include/tenon/tenon.hpp
}
good() {
  out=$(sh "$tests/$1" "$PWD/tree" 2>&1) || { echo "FAILED: $1 refuses $2: $out"; faults=1; }
}
bad() {
  if out=$(sh "$tests/$1" "$PWD/tree" 2>&1); then
    echo "FAILED: $1 accepts $2"
    faults=1
  else
    case $out in *"$3"*) ;; *) echo "FAILED: $1 does not say \`$3\` for $2, but: $out"; faults=1 ;; esac
  fi
}

tree
for check in layout/direction.sh layout/reachable.sh layout/files.sh layout/names.sh layout/builtins.sh \
  wording/unfinished.sh; do
  good $check "a good tree"
done

echo '#include <tenon/graph/b.hpp>' >>tree/include/tenon/core/a.hpp
bad layout/direction.sh "core above graph" "core/a.hpp:3: core includes <tenon/graph/b.hpp>"
tree; echo '#include "a.hpp"' >>tree/include/tenon/graph/b.hpp
bad layout/direction.sh "a quoted include" "graph/b.hpp:4:"
tree; echo '#include <tenon/core/c.hpp>' >>tree/include/tenon/graph/b.hpp
bad layout/direction.sh "a file that is not there" "does not exist"
tree; mkdir tree/include/tenon/other; cp tree/include/tenon/core/a.hpp tree/include/tenon/other/
bad layout/direction.sh "an unknown folder" "other/a.hpp:1: \`other\` is not in the table"
tree; mkdir -p tree/include/tenon/backend/cpu tree/include/tenon/ops
for folder in backend/cpu ops; do cp tree/include/tenon/core/a.hpp tree/include/tenon/$folder/; done
echo '#include <tenon/backend/cpu/a.hpp>' >>tree/include/tenon/ops/a.hpp
bad layout/direction.sh "a backend in an operator" "ops/a.hpp:3: only backend/backends.hpp includes a backend"

tree; cp tree/include/tenon/core/a.hpp tree/include/tenon/io/c.hpp
bad layout/reachable.sh "a forgotten header" "include/tenon/io/c.hpp: not reached"
echo 'tenon/io/c.hpp' >tree/tests/layout/optional.txt
bad layout/reachable.sh "no reason" "the reason is missing"
echo 'tenon/io/c.hpp  needs a library' >tree/tests/layout/optional.txt
good layout/reachable.sh "a reason"
echo 'tenon/io/d.hpp  needs a library' >>tree/tests/layout/optional.txt
bad layout/reachable.sh "a stale line" "tenon/io/d.hpp does not exist"

tree; mkdir -p tree/include/tenon/backend/cuda
cp tree/include/tenon/core/a.hpp tree/include/tenon/backend/cuda/
good layout/nvcc.sh "a good kernel"
printf '  if constexpr (some)\n    for (;;) {\n#pragma unroll\n' >>tree/include/tenon/backend/cuda/a.hpp
bad layout/nvcc.sh "a loop without braces" "cuda/a.hpp:3: put the loop"

tree; sed -i 2d tree/include/tenon/core/a.hpp
bad layout/files.sh "a header without #pragma once" "core/a.hpp:2: #pragma once"
tree; sed -i 1d tree/include/tenon/core/a.hpp
bad layout/files.sh "a header without first line" "core/a.hpp:1: the first line"
tree; seq 400 | sed 's|^|// |' >>tree/include/tenon/core/a.hpp
bad layout/files.sh "a long header" "402 lines"
echo 'tenon/core/a.hpp  a table of 400 numbers' >tree/tests/layout/long_files.txt
good layout/files.sh "a long header with a reason"
tree; printf '// from %shome/me/x.txt\n' / >>tree/include/tenon/core/a.hpp
bad layout/files.sh "a folder of one machine" "core/a.hpp:3:"

# One name in two headers, in all ways to declare one; the first header's text, the second's, and the name.
twice() {
  tree
  printf 'namespace tenon::inline TENON_ABI::kernel {\nnamespace detail {\n%s\n}\n}\n' "$1" \
    >>tree/include/tenon/core/a.hpp
  printf 'namespace tenon::inline TENON_ABI::kernel::detail {\n%s\n}\n' "$2" >>tree/include/tenon/graph/b.hpp
}
plain='inline void store(const Vector& v, float* to, long count) { if (count) { to[0] = v[0]; } }'
for other in 'template <class A> [[gnu::always_inline]] inline void store(Simd<A> v, A* to, long count) {}' \
  'template <class A, auto k = Config{1}, class B = decltype(f(A{}))> requires(sizeof(A) > 1) auto store(A) {}' \
  'template <class A> requires requires(A a) { a.f(); } && (sizeof(A) > 1) void store(A a) {}' \
  'constexpr Table<int(sizeof(int))> store(int) { return {}; }' 'inline constexpr long a = 1 << 4, store = 2 * a;' \
  'constexpr void (*store())(int) { return nullptr; }' 'inline constexpr Options<Mode{true}> store{};' \
  'inline constexpr auto store = [](int a) { return a; };' 'struct [[nodiscard]] store {};' \
  'enum class store : char { a };' \
  'using store = int;' 'template <class T> concept store = requires(T t) { t.f(); };' \
  'struct One { int a; };  // {
inline void store(char c = \047{\047, const char* t = "{") {}'; do
  twice "$plain" "$other"
  bad layout/names.sh "$other" \
    '`tenon::kernel::detail::store` is declared in several headers: core/a.hpp:5, graph/b.hpp:'
done
for other in 'inline void store(const Vector& v, float* to, long count);' \
  'struct Other { void store(); int store_; };' \
  'inline void restore() { store(v, to, 1); int store = 0; }' 'template <> inline void store<int>(int) {}' \
  '// void store() {}' \
  'friend void store();' '} namespace tenon::io { void store() {}'; do
  twice "$plain" "$other"
  good layout/names.sh "$other"
done
twice 'template <class T> struct store;' 'template <class T> struct store; template <class T> struct store<T*> {};'
bad layout/names.sh "two class templates that have specializations only" 'core/a.hpp:5, graph/b.hpp:5'
twice "$plain" '} namespace tenon { int store() { return 1; }'
bad layout/names.sh "a name of the namespace around" 'core/a.hpp:5, as tenon::store in graph/b.hpp:5'
echo 'tenon::kernel::detail::store' >tree/tests/layout/overloads.txt
bad layout/names.sh "no reason" "the reason is missing"
echo 'tenon::kernel::detail::store  for one more type' >tree/tests/layout/overloads.txt
good layout/names.sh "a reason"
tree; echo 'tenon::kernel::detail::store  for one more type' >tree/tests/layout/overloads.txt
bad layout/names.sh "a stale line" "take it off the list"

tree; echo 'inline F f(F a) { return __builtin_ia32_maxps256(a, a); }' >>tree/include/tenon/core/a.hpp
bad layout/builtins.sh "a builtin of one compiler" "core/a.hpp:3: __builtin_ia32_maxps256 is promised by no compiler"
tree; echo '#include <immintrin.h>' >>tree/include/tenon/core/a.hpp
bad layout/builtins.sh "a header of intrinsics" "core/a.hpp:3: a header of intrinsics"
tree; echo 'return step.op == operator_id<ops::Relu>;' >>tree/include/tenon/core/a.hpp
bad layout/builtins.sh "a comparison that g++ 13 folds" "core/a.hpp:3: write is<Op>(step)"
tree; echo 'bool b = dynamic_cast<B*>(a);' >>tree/include/tenon/core/a.hpp
bad layout/builtins.sh "a dynamic type" "core/a.hpp:3: a dynamic type"

tree; printf 'BasedOnStyle: Google\nSortIncludes: Never\nColumnLimit: 0\n' >tree/.clang-format
{ printf '// '; printf '\303\244%.0s' $(seq 117); echo; } >>tree/include/tenon/core/a.hpp
printf '| %0200d |\n' 1 >tree/a.md
good layout/lines.sh "120 characters of two bytes, and a wide table"
printf '# %0119d\n' 1 >tree/a.sh
bad layout/lines.sh "a line of 121 characters" "a.sh:1: 121 characters"
rm tree/a.sh
if command -v clang-format-19 >/dev/null; then
  echo 'int  a;' >>tree/include/tenon/core/a.hpp
  bad layout/lines.sh "two blanks" "core/a.hpp:4:"
fi

tree; printf '// T%s: all\n' ODO >>tree/include/tenon/core/a.hpp
bad wording/unfinished.sh "unfinished work" "core/a.hpp:3:"
# A page of documents with a row each, and a test; the sed commands are the mistakes.
page() {
  tree; mkdir -p tree/tests/seeds
  for n in 0 1 2 3 4; do
    printf '## Document 00%d (9 lines): a\n\n| Lines | About | Answer |\n|---|---|---|\n' $n
    printf '| 1-8 | a | `tests/seeds/a.cpp`: b c<br>not built yet (d) |\n| 9 | e | nothing to test |\n'
  done >tree/tests/seeds/README.md
  printf 'TEST_CASE(\n    "b c") {\n}\n' >tree/tests/seeds/a.cpp
  [ $# -eq 0 ] || sed -i "$1" tree/tests/seeds/README.md
}
page; good seeds/check.sh "a row for each line"
page '6d'; bad seeds/check.sh "a document without its end" "Document 000 has 9 lines, its rows end with line 8"
page '5s/1-8/1-7/'; bad seeds/check.sh "a gap" "README.md:6: line 8 of Document 000 comes next, not 9"
page '5s/1-8/2-8/'; bad seeds/check.sh "a late begin" "line 1 of Document 000 comes next, not 2-8"
page '6s/nothing to test/later/'; bad seeds/check.sh "another answer" "README.md:6: no answer: later"
page '6s/nothing to test/not built yet/'; bad seeds/check.sh "an answer without reason" "no answer: not built yet"
page '6s/nothing to test//'; bad seeds/check.sh "no answer" "README.md:6: no answer"
page '5s/a.cpp/z.cpp/'; bad seeds/check.sh "a test that is not there" "there is no tests/seeds/z.cpp"
page '5s/b c/b/'; bad seeds/check.sh "a case that is not there" 'tests/seeds/a.cpp has no case "b"'
page '/^## Document 004/,$d'; bad seeds/check.sh "four documents" "there are five documents, not 4"
page; echo 'TEST_CASE("new") {}' >>tree/tests/seeds/a.cpp
bad seeds/check.sh "a case without a row" 'names the case "new"'

[ $faults -eq 0 ] && echo "The checks accept what is right and refuse what is wrong."
exit $faults
