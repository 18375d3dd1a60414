#!/bin/sh
# Builds examples/06_mnist and trains it, in both modes. `sh cmake/quickstart.sh --help` says more.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/cmake/setup.sh"

usage() {
  cat <<'END'
sh cmake/quickstart.sh [--data DIR] [options of the example]

Builds examples/06_mnist in build/release of this project and runs it: LeNet-5 learns handwritten digits, once in graph
mode and once in PyNative mode. The program evaluates the network, shows a few digits with their predictions, saves the
weights to build/release/lenet.safetensors of this project (or --save FILE), and loads them again.
  --data DIR    folder of MNIST (train-images-idx3-ubyte[.gz] and so on). Without it: $TENON_DATA, or
                ../shared/data/mnist beside this project, or else 70,000 digits that the example draws itself
                (60,000 to train, 10,000 to evaluate)
Relative names of files and folders start from the current folder. All other options go to the example;
build/release/examples/06_mnist --help lists them.
On Debian, Ubuntu, and Fedora the script first installs what is missing (compiler, cmake, ninja, zlib), as root or with
sudo.
END
}

data=${TENON_DATA:-}
seen_data=no
# Takes --data out of the arguments, and keeps the others in their order.
for argument; do
  shift
  if [ $seen_data = next ]; then data=$argument seen_data=yes; continue; fi
  case $argument in
    --help | -h) usage; exit 0 ;;
    --data) seen_data=next ;;
    --data=*) data=${argument#--data=} ;;
    *) set -- "$@" "$argument" ;;
  esac
done
[ $seen_data != next ] || stop "--data needs a folder."
[ -z "$data" ] || [ -d "$data" ] ||
  stop "There is no folder $data. Name the one that holds train-images-idx3-ubyte.gz, or leave --data out."
if [ -z "$data" ] && [ -d "$root/../shared/data/mnist" ]; then data=$root/../shared/data/mnist; fi
[ -f "$root/examples/06_mnist.cpp" ] || stop "examples/06_mnist.cpp is missing: is this a whole checkout?"

need g++ cmake make ninja-build zlib1g-dev
configure release -DTENON_BUILD_EXAMPLES=ON
program=$root/build/release/examples/06_mnist
if is_built "$program" "$root/examples/06_mnist.cpp"; then
  build 06_mnist >/dev/null
else
  say "Building examples/06_mnist (about 30 s) ..."
  alive build 06_mnist
fi || stop "The build failed (the text above says where)."

[ -z "$data" ] || set -- --data "$data" "$@"
set -- --save "$root/build/release/lenet.safetensors" "$@"  # the last --save counts
say "Running build/release/examples/06_mnist $* ..."
exec "$program" "$@"
