#!/bin/sh
# LeNet-5 learns in QEMU on a Cortex-M4F, a Cortex-M7, and a Cortex-M55, and the same source on this machine, to the
# same losses, output, and weights; code and memory stay within bounds: `lenet.sh COMPILER`.
set -u
compiler=${1:-g++}
root=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
for tool in arm-none-eabi-g++ qemu-system-arm; do
  command -v $tool >/dev/null || { echo "SKIPPED: there is no $tool"; exit 77; }
done
grep -qw fma /proc/cpuinfo || { echo "SKIPPED: this processor has no fused multiply-add"; exit 77; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
source=$root/examples/embedded
# on_board MACHINE flags: the program's lines, without its stack, in the file "board"
on_board() {
  machine=$1
  shift
  arm-none-eabi-g++ -std=c++20 -Os -mthumb -mfloat-abi=hard "$@" -ffp-contract=off -fno-exceptions -fno-rtti \
    -fno-threadsafe-statics -ffunction-sections -I"$root/include" "$source/lenet.cpp" -o "$folder/lenet.elf" \
    -nostartfiles --specs=nano.specs --specs=nosys.specs -Wl,--gc-sections -T "$source/an386.ld" || exit 1
  timeout 300 qemu-system-arm -M "$machine" -nographic -semihosting-config enable=on,target=native \
    -kernel "$folder/lenet.elf" </dev/null >"$folder/all" 2>&1 || { cat "$folder/all"; echo "FAILED in QEMU"; exit 1; }
  grep -v '^stack ' "$folder/all" >"$folder/board"
  stack=$((0x$(sed -n 's/^stack //p' "$folder/all")))
}
# bounds: of flash and stack; no heap
bounds() {
  if arm-none-eabi-nm -C "$folder/lenet.elf" | grep -E ' (malloc|_malloc_r|operator new|__cxa_throw)'; then
    echo "FAILED: there is a heap, or an exception"; exit 1
  fi
  set -- $(arm-none-eabi-size "$folder/lenet.elf" | tail -1)
  echo "$machine: code and constants $1 bytes, data $2, static memory $3, stack $stack"
  [ $(($1 + $2)) -le 102400 ] || { echo "FAILED: more than 100 KB of flash"; exit 1; }
  [ "$stack" -lt 4096 ] || { echo "FAILED: the stack takes more than 4 KB"; exit 1; }
}
on_board mps2-an386 -mcpu=cortex-m4 -mfpu=fpv4-sp-d16
bounds
# without exceptions: the board's kernels, and no heap; with them: the CPU's
"$compiler" -std=c++20 -O2 -march=native -fno-exceptions -fno-rtti -I"$root/include" "$source/lenet.cpp" \
  -o "$folder/micro" || exit 1
"$compiler" -std=c++20 -O2 -march=native -I"$root/include" "$source/lenet.cpp" -o "$folder/cpu" -lpthread || exit 1
for way in micro cpu; do
  "$folder/$way" >"$folder/out" || { echo "FAILED: $way"; exit 1; }
  cmp -s "$folder/out" "$folder/board" || { echo "FAILED: $way differs"; diff "$folder/out" "$folder/board"; exit 1; }
done
[ "$(grep -c . "$folder/board")" -eq 6 ] || { cat "$folder/board"; echo "FAILED: six lines"; exit 1; }
cp "$folder/board" "$folder/first"
while read -r machine flags; do
  on_board "$machine" $flags
  bounds
  cmp -s "$folder/first" "$folder/board" || { diff "$folder/first" "$folder/board"; echo "FAILED: $machine"; exit 1; }
done <<'END'
mps2-an500 -mcpu=cortex-m7 -mfpu=fpv5-d16
mps3-an547 -mcpu=cortex-m55+nomve.fp
END
echo "Equal on the boards and here:"; cat "$folder/board"
