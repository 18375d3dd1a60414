#!/bin/sh
# Units of one program that were built with other flags share a function only if both have the same code for it:
#   flags.sh SOURCE_DIR short|long
# Builds one unit under many sets of flags, and compares code and data of each name of Tenon that linkers merge. (The
# order of instructions is tuned alike: clang's -march also decides for which processor, of which no code becomes
# wrong.) With the inline namespace taken out of the names there must be differences, or the comparison would see
# nothing.
set -u
source=$1
case $2 in long) unit=training compilers='g++ clang++-19' ;; *) unit=kernels compilers='g++' ;; esac
[ "$(uname -m)" = x86_64 ] || { echo "SKIPPED: the sets of flags are those of x86-64"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

sets() {
  cat <<'END'
-march=x86-64
-march=x86-64 -DNDEBUG
-mavx
-mbmi2
END
  [ $unit = training ] || return 0
  cat <<'END'
-march=x86-64-v2
-march=x86-64-v3
-march=x86-64-v4
-march=native
-march=sapphirerapids
-mavx -mf16c
-mavx2
-mavx2 -mfma
-mavx2 -mfma -mf16c -mbmi -mbmi2 -mlzcnt -mmovbe
-DTENON_WITH_ZLIB=1
-DTENON_WITH_PNG=1
-fno-rtti
-fsanitize=address
-fsanitize=thread
-D_GLIBCXX_ASSERTIONS
END
}

# Section by section, of those that hold one merged name each: the name, then bytes and relocations on one line. Where a
# relocation points into the unit's own constants, their place in it is nothing of the code.
merged() {
  { objdump -s -w "$1"; objdump -r -w "$1"; } | awk '
    /^RELOCATION RECORDS FOR/ { name = ""; into = $4; gsub(/^\[|\]:$/, "", into); next }
    /^Contents of section/ {
      into = ""; name = $4
      sub(/:$/, "", name)
      if (name ~ /\._Z.*v01_/) bytes[name] = ""; else name = ""
      next
    }
    into in bytes && NF == 3 && $1 != "OFFSET" {
      target = $3
      if (target ~ /^\./ && target !~ /\._Z/) sub(/[-+]0x.*/, "", target)
      gsub(/\.LC[0-9]+|\.L[A-Za-z_.]*[0-9]+|\.rodata[.a-z0-9]*/, ".constants", target)
      relocations[into] = relocations[into] " " $1 ":" $2 ":" target
    }
    name != "" && NF > 1 { for (i = 2; i <= 5 && i < NF; ++i) bytes[name] = bytes[name] $i }
    END { for (name in bytes) print name "\t" bytes[name] "\t" relocations[name] }'
}
# Takes the inline namespace out, whose length stands in front of it; untagged tag: says it instead.
untagged() {
  awk -v asked="${1:-}" '{
    rest = $0; out = ""
    while (match(rest, /[0-9]+v01_/)) {
      length_ = substr(rest, RSTART, RLENGTH - 4) + 0
      if (asked == "tag") { print substr(rest, RSTART + RLENGTH - 4, length_); exit }
      out = out substr(rest, 1, RSTART - 1)
      rest = substr(rest, RSTART + RLENGTH - 4 + length_)
    }
    if (asked != "tag") print out rest
  }'
}
# Names that stand in several lines of sorted different ones: those with two codes.
conflicts() { LC_ALL=C sort -u "$@" | awk -F '\t' '$1 == last { if ($1 != said) print $1; said = $1 } { last = $1 }'; }

# Which libraries a unit uses decides about its code as well.
for library in $(grep -rhoE 'TENON_WITH_[A-Z0-9]+' "$source/include" | sort -u); do
  grep -q "defined($library)" "$source/include/tenon/core/abi.hpp" ||
    { echo "FAILED: $library is not a part of TENON_ABI (include/tenon/core/abi.hpp)"; exit 1; }
done
for tool in objdump c++filt; do
  command -v $tool >/dev/null || { echo "SKIPPED: $tool is not installed"; exit 77; }
done
number=0
for compiler in $compilers; do
  command -v "$compiler" >/dev/null || { echo "SKIPPED: $compiler is not installed"; continue; }
  sets >"$work/sets"
  while IFS= read -r flags; do
    case $flags in
      *PNG*) echo '#include <png.h>' | "$compiler" -E -x c++ - >/dev/null 2>&1 || continue ;;
    esac
    number=$((number + 1))
    # shellcheck disable=SC2086  # several words
    "$compiler" -std=c++20 -O1 -mtune=generic $flags -I"$source/include" -c "$source/tests/odr/flags/$unit.cpp" \
      -o "$work/unit.o" || exit 1
    merged "$work/unit.o" >"$work/$number.names"
    [ -s "$work/$number.names" ] || { echo "FAILED: $compiler $flags: no names of Tenon found"; exit 1; }
    echo "$compiler $flags: $(wc -l <"$work/$number.names") names in $(untagged tag <"$work/$number.names" | head -n 1)"
  done <"$work/sets"
done

[ $number -gt 0 ] || exit 77
conflicts "$work"/*.names >"$work/conflicts"
if [ -s "$work/conflicts" ]; then
  echo "FAILED: these have two codes under one name:"
  sed 's/^\.[a-z.]*\._Z/_Z/' "$work/conflicts" | c++filt | sort -u | head -n 20
  exit 1
fi
cat "$work"/*.names | untagged | conflicts >"$work/without"
[ -s "$work/without" ] ||
  { echo "FAILED: without the inline namespace no code would differ: this sees nothing"; exit 1; }
echo "$number sets of flags: no name has two codes; without the inline namespace $(wc -l <"$work/without") would."
