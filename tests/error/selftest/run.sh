#!/bin/sh
# The harness must accept the two mistakes of this folder with every compiler that is here, and refuse each way to be
# wrong.
set -u
here=$(cd "$(dirname "$0")" && pwd)
harness=$here/../run.sh
faults=0
sh "$harness" --compiler all "$here/plain.cpp" "$here/pieces.cpp" ||
  { echo "FAILED: the harness refuses good mistakes"; faults=1; }

# refuses WHAT WORDS: sed on pieces.cpp made wrong.cpp here; the harness must fail, and say WORDS.
refuses() {
  if out=$(sh "$harness" wrong.cpp 2>&1); then echo "FAILED: the harness accepts $1"; faults=1; return; fi
  case $out in *"$2"*) ;; *) echo "FAILED: for $1 the harness does not say \`$2\`, but: $out"; faults=1 ;; esac
}
cp "$here/pieces.fixed.cpp" wrong.fixed.cpp
sed '1s/needs 1/needs 2/' "$here/pieces.cpp" >wrong.cpp
refuses "another sentence" "does not say"
sed '2s|.*|// lines: g++ 3|' "$here/pieces.cpp" >wrong.cpp
refuses "a long output" "too many lines"
sed '1d' "$here/pieces.cpp" >wrong.cpp
refuses "a mistake that expects nothing" "the first line must be"
{ sed -n 1p "$here/pieces.cpp"; echo 'int main() {}'; } >wrong.cpp
refuses "a mistake that compiles" "it compiles"
{ sed -n 1p "$here/pieces.cpp"; printf 'int x = "";  // %s\n' "$(sed -n '1s|// expects: ||p' "$here/pieces.cpp")"; } \
  >wrong.cpp
refuses "a sentence that stands only in the source" "does not say"
cp "$here/pieces.cpp" wrong.cpp
cp "$here/pieces.cpp" wrong.fixed.cpp
refuses "a cure that does not compile" "wrong.fixed.cpp does not compile"
rm wrong.fixed.cpp
refuses "a missing cure" "there is no wrong.fixed.cpp"
rm -f wrong.cpp
[ $faults -eq 0 ] && echo "The harness accepts what is right and refuses what is wrong."
exit $faults
