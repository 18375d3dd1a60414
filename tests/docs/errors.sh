#!/bin/sh
# docs/errors.md lists the sentences of mistakes in tests/error: what a compiler says, what was written, what is right.
#   errors.sh [project root]            compares the page with the mistakes
#   errors.sh [project root] --write    writes it anew
set -eu
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 1
page=$root/docs/errors.md
new=$(mktemp)
trap 'rm -f "$new"' EXIT
LC_ALL=C
export LC_ALL

head_of() { printf '\n## %s\n\n| the compiler says | written | right |\n|---|---|---|\n' "$1"; }
# table TITLE NAME: the mistakes of a table that have a sentence of Tenon's own, each sentence once.
table() {
  head_of "$1"
  grep -v '^#' "$root/tests/error/table/$2.txt" | awk -f "$root/tests/docs/errors.awk"
}
# files TITLE FOLDER...: programs; the lines in which each differs from its cure.
files() {
  head_of "$1"
  shift
  for folder; do
    for file in "$root/tests/error/$folder"/*.fixed.cpp; do
      wrong=${file%.fixed.cpp}.cpp
      sentence=$(sed -n '1,/^#include/{s|^// expects: *||p;t;/^\/\/ lines/d;s|^// *||p;}' "$wrong" | tr '\n' ' ')
      changed=$(diff "$wrong" "$file" | sed -n '/^[<>] *\/\//d;/^[<>] *#/d;s/^\([<>]\)  */\1/p')
      printf '%s ## %s ## %s ## %s\n' "$(basename "$wrong" .cpp)" \
        "$(printf '%s\n' "$changed" | sed -n 's/^>//p' | head -n 1)" \
        "$(printf '%s\n' "$changed" | sed -n 's/^<//p' | head -n 1)" "$sentence"
    done
  done | awk -f "$root/tests/docs/errors.awk"
}

{
  sed '/^<!-- tables/q' "$page"
  table "Networks" network
  files "Cells" cell
  files "Shapes and derivatives" shape derivative
  table "Tensors" tensors
  table "Training" training
  table "Steps without a Model" steps
  table "Several inputs" inputs
  table "Several outputs" outputs
  files "Models" model
  table "Data sets" operations
  table "Images" images
  files "Stages" dataset
  echo
  sed -n '/^<!-- end of the tables/,$p' "$page"
} >"$new"
if [ "${2:-}" = --write ]; then
  cp "$new" "$page"
  echo "$page is written."
elif cmp -s "$new" "$page"; then
  echo "docs/errors.md has the sentences of tests/error: $(sed '1,/^<!-- tables/d' "$page" | grep -c '^| `')."
else
  diff "$page" "$new" | head -n 20
  echo "FAILED: docs/errors.md differs from tests/error. Write it anew: sh tests/docs/errors.sh \"\$PWD\" --write"
  exit 1
fi
