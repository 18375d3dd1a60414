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
refuses "a mistake that expects nothing" "no sentence that is expected"
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
echo 'int main() { return 0; }' >right.cpp
refuses_table() {
  printf '%s\n' "$2" >right.txt
  if out=$(sh "$harness" right.txt 2>&1); then echo "FAILED: the harness accepts $1"; faults=1; return; fi
  case $out in *"$3"*) ;; *) echo "FAILED: for $1 the harness does not say \`$3\`, but: $out"; faults=1 ;; esac
}
refuses_table "a row without a sentence" 'a ## 0 ## x' "lacks a field"
refuses_table "a row for another program" 'a ## 1 ## x ## x' "must stand in the program once"
refuses_table "a row that is no mistake" 'a ## 0 ## 1 ## -' "it compiles"
refuses_table "a row with other words for each" 'a ## 0 ## zero ## nothing || nought' "does not say"
refuses_table "a row with another sentence" 'a ## 0 ## zero ## nothing' "does not say"
printf '%s\n' "a ## 0 ## zero ## nothing || 'zero'" >right.txt
sh "$harness" right.txt || { echo "FAILED: the harness refuses the words of one compiler"; faults=1; }
rm -f wrong.cpp right.cpp right.txt
[ $faults -eq 0 ] && echo "The harness accepts what is right and refuses what is wrong."
exit $faults
