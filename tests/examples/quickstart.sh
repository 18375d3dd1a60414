#!/bin/sh
# quickstart.sh hands its arguments on: `quickstart.sh SOURCE_DIR`. A small tree with programs that only say how they
# are called stands for the project; file names must count from the caller's folder. Writes to the current folder.
set -u
source=$1
work=$PWD/quickstart
rm -rf "$work" && mkdir -p "$work/tree/cmake" "$work/tree/examples" "$work/tree/build/release/examples" "$work/bin" \
  "$work/caller/my digits" || exit 1
cp "$source/cmake/quickstart.sh" "$source/cmake/setup.sh" "$work/tree/cmake/" &&
  touch "$work/tree/examples/06_mnist.cpp"
printf '#!/bin/sh\necho 12\n' >"$work/bin/g++"
printf '#!/bin/sh\n' | tee "$work/bin/cmake" "$work/bin/make" >"$work/bin/ninja"
printf '#!/bin/sh\nprintf "in <%%s>" "$PWD"\nprintf " <%%s>" "$@"\n' >"$work/tree/build/release/examples/06_mnist"
chmod +x "$work/bin/"* "$work/tree/build/release/examples/06_mnist"
cd "$work/caller" || exit 1
PATH=$work/bin:$PATH
unset TENON_DATA
faults=0

# hands EXPECTED [arguments]: the last line is what the example got.
hands() {
  expected=$1
  shift
  got=$(sh ../tree/cmake/quickstart.sh "$@" 2>&1 | tail -n 1)
  [ "$got" = "in <$work/caller>$expected" ] ||
    { echo "FAILED: quickstart.sh $*: got $got, not in <$work/caller>$expected"; faults=1; }
}
save=" <--save> <$work/tree/build/release/lenet.safetensors>"
hands "$save"
hands "$save <--save> <my net.safetensors> <--epochs=1>" --save "my net.safetensors" --epochs=1
hands "$save <--data> <my digits> <--load> <net.safetensors>" --load net.safetensors --data "my digits"
TENON_DATA="my digits" && export TENON_DATA
hands "$save <--data> <my digits>"
hands "$save <--data> <.>" --data=.
sh ../tree/cmake/quickstart.sh --help | grep -q '60,000 to train, 10,000 to evaluate' ||
  { echo "FAILED: --help does not say what is drawn"; faults=1; }
if sh ../tree/cmake/quickstart.sh --data none >out 2>&1 || ! grep -q 'There is no folder none' out; then
  echo "FAILED: --data none: $(cat out)"
  faults=1
fi
# It says that it builds where a source is newer than the program, and only then.
mkdir -p "$work/tree/include"
touch -d '2000-01-01' "$work/tree/include" "$work/tree/examples/06_mnist.cpp"
sh ../tree/cmake/quickstart.sh >out 2>&1
! grep -q Building out || { echo "FAILED: says that it builds, where nothing is to do: $(cat out)"; faults=1; }
touch -d '2100-01-01' "$work/tree/include/new.hpp"
sh ../tree/cmake/quickstart.sh >out 2>&1
grep -q Building out || { echo "FAILED: does not say that it builds: $(cat out)"; faults=1; }
# What is missing is installed by apt-get, or by dnf under its own names; root is played.
mkdir bare && for tool in sh grep cut tr cat mktemp tail sleep rm dirname nproc sed find touch head printf kill; do
  ln -s "$(command -v $tool)" bare/ 2>/dev/null
done
printf '#!/bin/sh\necho 0\n' >bare/id && chmod +x bare/id
for installer in apt-get dnf; do
  printf '#!/bin/sh\necho "$0 $*" >>installed\nexit 1\n' >bare/$installer && chmod +x bare/$installer
  ln -sf "$(command -v env)" bare/env
  PATH=$PWD/bare sh ../tree/cmake/quickstart.sh >out 2>&1 && { echo "FAILED: $installer cannot install"; faults=1; }
  case $installer in
    apt-get) names="install -y --no-install-recommends g++ cmake make ninja-build zlib1g-dev" ;;
    dnf) names="gcc-c++ cmake make ninja-build zlib-devel" ;;
  esac
  { grep -q -- "$names" installed && grep -q "$installer could not install g" out; } ||
    { echo "FAILED: $installer: $(cat out installed)"; faults=1; }
  rm -f bare/$installer installed
done
PATH=$PWD/bare sh ../tree/cmake/quickstart.sh >out 2>&1
grep -q 'start again: g++ cmake make ninja-build zlib1g-dev. On Debian: apt-get install' out ||
  { echo "FAILED: without an installer: $(cat out)"; faults=1; }
[ $faults -eq 0 ] && echo "quickstart.sh hands its arguments on, and stays in the caller's folder."
exit $faults
