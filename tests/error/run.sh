#!/bin/sh
# Compiles mistakes, and checks that the compiler explains each in one sentence and few lines:
#   run.sh [--precompiled DIR] [--compiler g++|clang++-19|nvcc|all] [--show | --bars | --without-cures]
#     [mistake.cpp | table.txt ...]
# (default: g++, every mistake and table in this folder; what precompile.sh wrote in DIR spares compilers the parsing;
# --show prints what the compilers say of the mistakes; --without-cures leaves the cures to cures.sh)
# --bars counts instead: the mistakes, which of them have a sentence (Tenon's own, or the compiler's words that name the
# mistake), other sentences beside it when the compiler does not stop at the first error, and lines. It fails where less
# than 92 % have one, any has another, half of them take more than 8 lines, or one more than 60.
# A mistake begins with   // expects: the sentence that must appear       (read.awk says how it is found)
#                         // lines: g++ 8, clang 9, nvcc 8      (optional; the longest output allowed, these by default)
# and X.fixed.cpp beside X.cpp is the cure, which must compile.
# A table X.txt makes mistakes of X.cpp beside it, which must compile, a line each:
#   name ## a piece of X.cpp that stands there once ## what is written instead ## the sentence [## lines: clang 25]
# and maybe `## also: words` of another sentence that is as right (--bars).
# The sentence - stands for a mistake that is left to the compiler's own words, whatever they are; `words || words` for
# one that the compilers name, each in words of his own; `lines: nvcc -` leaves it to this one. A mistake of a table may
# take 20 lines, but their median is bounded. These are the lines of g++ 12 and clang 19: newer compilers, which quote
# more of the source, may take twice as many. For nvcc, whose front end refuses Dropout<{.p = 0.5f}>, tables are read
# with the name of the config.
# Exit status 77: none of the compilers is installed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
include=$here/../../include
work=$(mktemp -d) && mkdir "$work/nvcc" || exit 1
trap 'rm -rf "$work"' EXIT
output=$work/output
show=no bars=no cures=yes
LC_ALL=C.UTF-8   # so that g++ quotes with other marks than those of C++
export LC_ALL
failed=0
ran=0
said_well=  # the numbers of lines of mistakes with a sentence
limit=1     # errors after which a compiler stops, 0: none

# compile COMPILER FILE: writes to $output what a user would see.
compile() {
  case $1 in
    nvcc)
      sed 's/Dropout<{/Dropout<nn::DropoutConfig{/' "$2" >"$work/nvcc/$(basename "$2")"
      nvcc -std=c++20 --expt-relaxed-constexpr -I"$include" -c -x cu -o /dev/null -Xcudafe --error_limit=1 \
        -Xcompiler -fmax-errors=1 "$work/nvcc/$(basename "$2")" >"$output" 2>&1 ;;
    clang*) "$1" -std=c++20 ${precompiled:+-DTENON_COMPILED -include-pch "$precompiled/tenon.pch"} -I"$include" \
      -fsyntax-only -ferror-limit=$limit "$2" >"$output" 2>&1 ;;
    *) "$1" -std=c++20 ${precompiled:+-DTENON_COMPILED "-I$precompiled"} -I"$include" -fsyntax-only \
      -fmax-errors=$limit "$2" >"$output" 2>&1 ;;
  esac
}

# allow COMPILER TEXT: sets $allowed, the number of lines allowed; TEXT may name another than usual.
allow() {
  case $1 in clang*) family=clang usual=9 ;; nvcc) family=nvcc usual=8 ;; *) family='g++' usual=8 ;; esac
  own=$(printf '%s\n' "$2" | tr ',' '\n' | awk -v family="$family" '$1 == family { print $2; exit }')
  allowed=${own:-$usual}
  [ "$allowed" != - ] || sentence=-
  [ "$allowed" = - ] || [ $newer = no ] || allowed=$((2 * allowed))
}

# is_newer COMPILER: than those whose lines are bounded.
is_newer() {
  case $1 in clang*) known=19 ;; nvcc) return 1 ;; *) known=12 ;; esac
  [ "$("$1" -dumpversion | sed 's/[.].*//')" -gt $known ]
}

row() { printf '%-11s %-36s %5s of %-3s %s\n' "$1" "$name" "$lines" "$allowed" "$2"; }
said() { sed 's/^/    | /' "$output" | cut -c1-400; }
fail() {
  row "$1" "FAILED: $2"
  said
  failed=1
}

# judge COMPILER FILE SENTENCE: whether the mistake $name is explained.
judge() {
  lines=-
  : >"$output"
  ran=1
  if [ -z "$3" ]; then fail "$1" "it has no sentence that is expected"; return 1; fi
  if compile "$1" "$2"; then fail "$1" "it compiles"; return 1; fi
  lines=$(wc -l <"$output")
  if [ $bars = yes ]; then count "$1" "$2" "$3"; return; fi
  if [ "$3" = - ]; then return; fi
  said_well="$said_well $lines"
  if ! awk -v sentence="$(printf '%s' "$3" | sed 's/\\/\\\\/g')" -f "$here/text.awk" -f "$here/read.awk" "$output"; then
    fail "$1" "the compiler does not say \`$3\`"
    return 1
  fi
  if [ "$lines" -gt "$allowed" ]; then fail "$1" "too many lines"; return 1; fi
}

# count COMPILER FILE SENTENCE: a line of $work/record: lines, who explains the mistake, how many other sentences there
# are when the compiler does not stop at the first error, and the lines then.
count() {
  expected=$(printf '%s' "$3" | sed 's/\\/\\\\/g')
  explained=Tenon
  if [ "$3" = - ]; then
    expected='' explained=no
  elif ! awk -v sentence="$expected" -f "$here/text.awk" -f "$here/read.awk" "$output"; then
    explained=FAILED
  elif ! grep -q -F -e 'FixedString<' -e 'static assertion failed' "$output"; then
    explained=compiler
  fi
  [ $explained != FAILED ] || fail "$1" "the compiler does not say \`$3\`"
  if grep -q -e '^compilation terminated' -e 'too many errors emitted' "$output"; then
    limit=0
    compile "$1" "$2"
    limit=1
  fi
  awk -v sentence="$expected${also:+ || $also}" -f "$here/text.awk" -f "$here/false.awk" "$output" >"$work/false"
  printf '%s %s %s %s\n' "$lines" "$explained" "$(wc -l <"$work/false")" "$(wc -l <"$output")" >>"$work/record"
  row "$1" "$(tail -n 1 "$work/record" | awk '{ print $2 ", " $4 " lines with all errors" }')"
  sed 's/^/    also: /' "$work/false" | cut -c1-400
}

# right COMPILER FILE: whether what has no mistake compiles.
right() {
  if compile "$1" "$2"; then return 0; fi
  fail "$1" "$(basename "$2") does not compile"
  return 1
}

check_file() {
  name=$(basename "$2" .cpp) also=''
  fixed=${2%.cpp}.fixed.cpp
  allow "$1" "$(sed -n '1,5s|^// lines:||p' "$2")"
  judge "$1" "$2" "$(sed -n '1s|^// expects: *||p' "$2")" || return
  [ $bars = no ] || return
  if [ ! -f "$fixed" ]; then fail "$1" "there is no $(basename "$fixed")"; return; fi
  [ $cures = no ] || right "$1" "$fixed" || return
  row "$1" ok
  [ $show = no ] || said
}

check_table() {
  base=${2%.txt}.cpp all=0 said_well=
  name=$(basename "$base") lines=- allowed=-
  right "$1" "$base" || return
  while IFS= read -r line; do
    case $line in '' | '#'*) continue ;; esac
    printf '%s\n' "$line" | awk -v base="$base" -v mistake="$work/mistake.cpp" -v fields="$work/fields" \
      -f "$here/table.awk" || { failed=1; continue; }
    { read -r name; read -r sentence; read -r own; read -r also; } <"$work/fields"
    allow "$1" "$own, g++ 20, clang 20, nvcc 20"
    all=$((all + 1))
    judge "$1" "$work/mistake.cpp" "$sentence" || continue
    [ $bars = no ] || continue
    if [ "$sentence" = - ]; then row "$1" "its own words"; else row "$1" ok; fi
    [ $show = no ] || said
  done <"$2"
  [ $bars = no ] || return
  median=$(printf '%s\n' $said_well | sort -n | awk '{ line[NR] = $1 } END { print line[int((NR + 1) / 2)] }')
  # a stage is instantiated by `|`, which clang and nvcc say in lines of their own
  case $1:$2 in clang*operations.txt | nvcc*operations.txt) bound=11 ;; clang*) bound=10 ;; *) bound=8 ;; esac
  [ $newer = no ] || bound=$((2 * bound))
  [ "$median" -le "$bound" ] || { echo "FAILED: the median is above $bound lines"; failed=1; }
  echo "$1, $(basename "$2"): $(echo $said_well | wc -w) of $all mistakes with a sentence, $median lines in the median"
}

precompiled=
if [ "${1:-}" = --precompiled ]; then
  # g++ would take an old one, too
  for header in "${2:?--precompiled needs a folder}/tenon/tenon.hpp.gch" "$2/tenon.pch"; do
    [ ! -e "$header" ] || [ -n "$(find "$include" -newer "$header" -name '*.hpp' | head -n 1)" ] || precompiled=$2
  done
  shift 2
fi
compilers=g++
if [ "${1:-}" = --compiler ]; then
  compilers=${2:?--compiler needs a name}
  shift 2
  [ "$compilers" != all ] || compilers='g++ clang++-19 nvcc'
fi
case ${1:-} in
  --show) show=yes; shift ;;
  --bars) bars=yes; shift ;;
  --without-cures) cures=no; shift ;;
esac
if [ $# -eq 0 ]; then
  set -- $(find "$here" -name '*.cpp' ! -name '*.fixed.cpp' ! -path '*/selftest/*' ! -path '*/table/*' | sort) \
    "$here"/table/*.txt
fi

name=mistake lines=lines allowed=max
row compiler result
for compiler in $compilers; do
  command -v "$compiler" >/dev/null || { echo "SKIPPED: $compiler is not installed"; continue; }
  newer=no
  ! is_newer "$compiler" || newer=yes
  : >"$work/record"
  for file; do
    case $file in *.txt) check_table "$compiler" "$file" ;; *) check_file "$compiler" "$file" ;; esac
  done
  [ $bars = no ] || sort -n "$work/record" | awk -v compiler="$compiler" -f "$here/bars.awk" || failed=1
done
[ $ran -eq 1 ] || exit 77
exit $failed
