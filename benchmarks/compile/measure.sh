#!/bin/sh
# What it costs to compile Tenon: CPU seconds (user + system) and peak memory per program, as a Markdown table.
#
#   sh benchmarks/compile/measure.sh [NAME]...     header, mnist, resnet18, resnet50-graph, resnet50, gpt12-graph, gpt12
#   CXX=g++                                        compiler
set -eu
cd "$(dirname "$0")/../.."
cxx=${CXX:-g++}
[ $# -gt 0 ] || set -- header mnist resnet18 resnet50-graph resnet50 gpt12-graph gpt12
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '| program | CPU seconds | bar | peak MB | bar |\n|---|---|---|---|---|\n'
for name in "$@"; do
  flags=
  case $name in
    header) source=benchmarks/compile/header.cpp seconds=2.5 megabytes=900 ;;
    mnist) source=examples/06_mnist.cpp seconds=12 megabytes=900 ;;
    resnet18) source=benchmarks/compile/resnet18.cpp seconds=25 megabytes=1500 ;;
    *-graph) source=benchmarks/compile/${name%-graph}.cpp seconds=20 megabytes=1500 flags=-DGRAPH_ONLY ;;
    *) source=benchmarks/compile/$name.cpp seconds=40 megabytes=1500 ;;
  esac
  [ -f "$source" ] || { echo "measure.sh: there is no program '$name'" >&2; exit 2; }
  /usr/bin/time -o "$work/time" -f '%U %S %M' "$cxx" -std=c++20 -O2 -march=native -DTENON_WITH_ZLIB=1 $flags -Iinclude \
    -c "$source" -o "$work/object.o"
  awk -v name="$name" -v bar="$seconds" -v memory="$megabytes" '{
    printf "| %s | %.1f | %s | %.0f | %s |\n", name, $1 + $2, bar, $3 / 1024, memory
  }' "$work/time"
done
