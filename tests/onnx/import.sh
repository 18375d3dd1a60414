#!/bin/sh
# Networks from PyTorch to ONNX, by tenon-import to Tenon, computed there in both modes, exported again, and computed by
# ONNX Runtime: `import.sh [compiler [NAME...]]`. NAME_new is of PyTorch's newer exporter. TENON_PYTHON names a Python
# that has torch, onnx, onnxruntime, and onnxscript. Writes to the current folder. Exit status 77: they are not there.
set -u
source=$(cd "$(dirname "$0")/../.." && pwd)
compiler=${1:-g++}
[ $# -eq 0 ] || shift
python=${TENON_PYTHON:-python3}
"$python" -c 'import torch, onnx, onnxruntime, onnxscript' >/dev/null 2>&1 ||
  { echo "SKIPPED: $python does not have torch, onnx, onnxruntime, and onnxscript"; exit 77; }
printf '#include <protozero/pbf_writer.hpp>\n#include <CLI/CLI.hpp>\n' |
  "$compiler" -std=c++20 -E -x c++ - >/dev/null 2>&1 ||
  { echo "SKIPPED: protozero or CLI11 is not installed"; exit 77; }
work=$PWD/onnx_import
rm -rf "$work" && mkdir -p "$work" || exit 1
trap 'rm -rf "$work"' EXIT
names=${*:-mlp lenet resnet18 mobilenet unet generator lstm gru gpt bert lenet_new resnet_small_new mobilenet_new
  unet_new generator_new lstm_new gru_new gpt_new bert_new
  loops choice_new encoder causal decoder attention masked encoder_new causal_new decoder_new attention_new masked_new
  vision vision_new llama qwen llama_new qwen_new}
# shellcheck disable=SC2086  # several names
"$python" "$source/tests/onnx/import/networks.py" "$work" $(printf '%s\n' $names | sed 's/_new//' | sort -u) \
  >"$work/python.log" 2>&1 || { tail -n 5 "$work/python.log"; echo "FAILED: PyTorch cannot export"; exit 1; }
"$compiler" -std=c++20 -O1 -I"$source/include" "$source/examples/tools/import.cpp" -o "$work/tenon-import" ||
  { echo "FAILED: tenon-import does not compile"; exit 1; }

failed=0
for name in $names; do
  case $name in
    mlp*) inputs='float Shape<dyn,4>' ;;
    lenet*) inputs='float Shape<dyn,1,28,28>' ;;
    unet*) inputs='float Shape<dyn,1,32,32>' ;;
    resnet18*) inputs='float Shape<dyn,3,64,64>' ;;
    lstm* | gru* | encoder* | causal*) inputs='std::int64_t Shape<dyn,12>' ;;
    gpt* | llama* | qwen*) inputs='std::int64_t Shape<dyn,16>' ;;
    masked*) inputs='std::int64_t Shape<dyn,12> std::int64_t Shape<dyn,12>' ;;
    bert*) inputs='std::int64_t Shape<dyn,16> std::int64_t Shape<dyn,16>' ;;
    decoder*) inputs='float Shape<dyn,7,16> float Shape<dyn,5,16>' ;;
    loops* | choice*) inputs='float Shape<dyn,6>' ;;
    attention*) inputs='float Shape<dyn,7,16> float Shape<dyn,5,16> float Shape<dyn,5,16>' ;;
    *) inputs='float Shape<dyn,3,32,32>' ;;
  esac
  extents=
  case $name in gpt_new | bert_new) extents=$("$python" -c 'import onnx, sys
print("--extent", onnx.load(sys.argv[1]).graph.input[0].type.tensor_type.shape.dim[1].dim_param + "=16,32")' \
    "$work/$name.onnx") ;; gpt | bert) extents='--extent seq=16,32' ;; esac
  # shellcheck disable=SC2086  # two words, or none
  "$work/tenon-import" "$work/$name.onnx" $extents || { failed=1; continue; }
  case $name in llama* | qwen*)  # what their cells become
    for word in 'nn::RMSNorm<' 'rotary_embedding(' 'attention<AttentionConfig{.heads = 4, .causal = true}>('; do
      grep -qF "$word" "$work/$name.hpp" || { echo "FAILED: $name.hpp has no $word"; failed=1; }
    done ;;
  esac
  network=$(sed -n '1s/^\/\/ \([A-Za-z0-9]*\), made.*/\1/p' "$work/$name.hpp")
  space=$(sed -n 's/^namespace \([A-Za-z0-9_]*\) {$/\1/p' "$work/$name.hpp")
  x=$(echo "$inputs" | awk '{ for (k = 1; k < NF; k += 2)
    printf("%sround_trip::input<%s, %s>(arrays, \"x%d\")", (k == 1 ? "" : ", "), $k, $(k + 1), (k - 1) / 2) }')
  {
    echo "#include \"$name.hpp\""
    echo '#include "program.hpp"'
    echo 'int main(int, char** argument) {'
    echo '  using namespace tenon;'
    echo '  const io::Npz arrays(argument[2]);'
    echo "  return round_trip::run<$space::$network>(argument[1], arrays, $x);"
    echo '}'
  } >"$work/$name.cpp"
  "$compiler" -std=c++20 -O1 -I"$source/include" -I"$source/tests/onnx/import" "$work/$name.cpp" -lpthread -lz \
    -DTENON_WITH_ZLIB=1 -o "$work/$name.program" || { echo "FAILED: $name.hpp does not compile"; failed=1; continue; }
  "$work/$name.program" "$work/$name" "$work/${name%_new}.npz" || failed=1
done
[ $failed -eq 0 ] || { echo "FAILED"; exit 1; }
# shellcheck disable=SC2086
"$python" "$source/tests/onnx/import/check.py" "$work" $names ||
  { echo "FAILED: ONNX Runtime computes something else"; exit 1; }
