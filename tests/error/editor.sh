#!/bin/sh
# What an editor shows: clangd says the sentence of a mistake at the user's line, in the call that leads to it.
#   editor.sh [clangd]
# clangd instantiates no function whose type it knows without (which is why train() and eval() of a Model are `auto`).
# Exit status 77: clangd is not installed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
clangd=${1:-clangd-19}
command -v "$clangd" >/dev/null || { echo "SKIPPED: $clangd is not installed"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
printf -- '-std=c++20\n-I%s/../../include\n' "$here" >"$work/compile_flags.txt"
cd "$work" || exit 1
failed=0

# shown TABLE NAME LINE: the mistake NAME of a table is shown at the line of the program that has the text LINE.
shown() {
  grep "^$2 " "$here/table/$1.txt" | awk -v base="$here/table/$1.cpp" -v mistake=mistake.cpp -v fields=fields \
    -f "$here/table.awk" || { failed=1; return; }
  at=$(grep -nF -- "$3" mistake.cpp | head -n 1 | cut -d: -f1)
  "$clangd" --check=mistake.cpp >said 2>&1
  sed -n "s/^E\[[^]]*\] \[[^]]*\] Line $at: /error: /p" said >here
  if awk -v sentence="$(sed -n 2p fields | sed 's/\\/\\\\/g')" -f "$here/text.awk" -f "$here/read.awk" here; then
    echo "$1/$2: at \`$3\`, line $at"
  else
    echo "FAILED: $1/$2: clangd does not say \`$(sed -n 2p fields)\` at line $at (\`$3\`), but"
    grep '^E' said | grep -v tweak | cut -c1-300
    failed=1
  fi
}

shown training loss_function 'model.train('
shown training train_vector 'model.train('
shown training callback_lambda 'model.train('
shown training hook_by_value 'model.train('
shown training map_types 'model.eval('
shown training returns_nothing 'model.eval('
shown training eval_tensor 'model.eval('
shown training predict_shape 'model.predict('
shown network conv_channels 'images(x)'
shown network shape_changes 'images(x)'
shown network string_member 'struct Images'
shown network lstm_one_value 'words(w)'
exit $failed
