#!/bin/sh
# The command line of 06_mnist: `mnist.sh PROGRAM [refusals]`. Refusals come before training, with their exit status
# and message;
# an epoch of training learns, gives equal weights in both modes, and goes on from a file. Writes to the current folder.
set -u
program=$1
work=$PWD/mnist
rm -rf "$work" && mkdir -p "$work/empty" "$work/full.safetensors" || exit 1
cd "$work" || exit 1
faults=0
fault() { echo "FAILED: $*"; faults=1; }

# says STATUS TEXT [arguments]: the program must end at once with this status, this text on stderr, and nothing on
# stdout.
says() {
  wanted=$1 part=$2
  shift 2
  timeout 600 "$program" "$@" >out 2>err
  status=$?
  [ $status -eq "$wanted" ] || fault "06_mnist $*: exit status $status, not $wanted"
  [ ! -s out ] || fault "06_mnist $*: trains before it refuses: $(tail -n 1 out)"
  case $(cat err) in "06_mnist: "*"$part"*) ;; *) fault "06_mnist $*: does not say \`$part\`, but: $(cat err)" ;; esac
  [ "$wanted" -ne 2 ] || [ "$(tail -n 1 err)" = "Try --help." ] ||
    fault "06_mnist $*: does not end with \`Try --help.\`"
}

# ---- options
says 2 "unknown option '--epcohs'. Did you mean '--epochs'?" --epcohs 1
says 2 "unknown option '--epcohs=1'. Did you mean '--epochs'?" --epcohs=1
says 2 "unknown option '-x'." --epochs 1 -x
says 2 "unknown option '--help=me'." --help=me
says 2 "unknown argument 'fast'." fast
says 2 "'--save' needs a value." --save
says 2 "'--data=' needs a value." --data=
says 2 "--mode is graph, pynative, or both, got 'eager'." --mode eager
says 2 "--threads needs a whole number from 1 to 1024, got '99999999999'." --threads 99999999999
says 2 "--threads needs a whole number from 1 to 1024, got '1025'." --threads 1025
says 2 "--epochs needs a whole number from 1 to 1000000, got '0'." --epochs 0
says 2 "--epochs needs a whole number from 1 to 1000000, got '1.5'." --epochs 1.5
says 2 "--batch needs a whole number from 1 to 1000000, got '-1'." --batch -1
says 2 "--batch needs a whole number from 1 to 1000000, got ' 32'." --batch " 32"
says 2 "--seed needs a whole number from 0 to 18446744073709551615, got '18446744073709551616'." \
  --seed 18446744073709551616
for option in --help -h; do
  if ! "$program" $option >out 2>err || [ -s err ] || ! grep -q -e '--threads N' out; then
    fault "$option does not print the help: $(cat out err)"
  fi
done

# ---- files and folders
says 2 "ends with '.safetensors', got 'net.bin'." --save net.bin
says 2 "ends with '.safetensors', got 'net'." --load net
says 1 "'none/net.safetensors': No such file or directory. The directory must exist and be writable." \
  --save none/net.safetensors
says 1 "'full.safetensors': it is a directory" --save full.safetensors
says 1 "there is no directory 'none'. Pass the one that holds 'train-images-idx3-ubyte'" --data none
says 1 "the directory 'empty' has no 'train-images-idx3-ubyte', plain or .gz." --data empty
says 1 "Cannot open 'none.safetensors': No such file or directory." --load none.safetensors
printf x >short.safetensors
says 1 "it has 1 byte, the length of the header alone takes 8" --load short.safetensors
[ "$(find . -type f | sort | tr '\n' ' ')" = "./err ./out ./short.safetensors " ] ||
  fault "a refusal left files: $(find . -type f)"

if [ "${2:-}" = refusals ]; then
  [ $faults -eq 0 ] && echo "06_mnist refuses what is wrong before it trains."
  exit $faults
fi

# ---- training: one epoch of the digits that it draws
# value NAME: of the last line of results.
value() { sed -n "s/^mode=.* $1=\([^ ]*\).*/\1/p" out | tail -n 1; }
# more A B: whether A > B.
more() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a + 0 > b + 0) }'; }

"$program" --epochs 1 --seed 0 --save net.safetensors >out 2>err || fault "training: exit status $?: $(cat err)"
[ "$(grep -c '^mode=\(graph\|pynative\) ' out)" -eq 2 ] || fault "there is not one line of results per mode: $(cat out)"
[ "$(sed -n 's/^mode=.* weights=//p' out | sort -u | wc -l)" -eq 1 ] ||
  fault "the modes end with different weights: $(cat out)"
[ "$(grep -c '^  predicted [0-9], is [0-9]   predicted' out)" -eq 2 ] ||
  fault "there are no digits with their predictions: $(cat out)"
first=$(value accuracy)
more "$first" 0.95 || fault "the accuracy is $first, not above 0.95"

# Loaded and saved under one name: what was learned is the start, and the file has the new network at the end.
cp net.safetensors before.safetensors
"$program" --epochs 1 --seed 0 --mode graph --threads 2 --load net.safetensors --save net.safetensors >out 2>err ||
  fault "going on: exit status $?: $(cat err)"
more "$(value accuracy)" "$first" || fault "a second epoch gives the accuracy $(value accuracy), the first one $first"
cmp -s net.safetensors before.safetensors && fault "--save did not replace the file"
[ $faults -eq 0 ] &&
  echo "06_mnist refuses what is wrong before it trains, learns ($first, then $(value accuracy)), saves, and loads."
exit $faults
