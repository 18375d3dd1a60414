#!/bin/sh
# libFuzzer on the readers of files with all sanitizers, from the files in tests and in $TENON_SHARED: `run.sh
# [seconds for each reader [compiler]]`. `TENON_READER=3 run.sh 600` feeds one alone, by its number in readers.cpp. A
# file that breaks a reader stays in the current folder as crash-*. `TENON_FUZZ_LEDGER=FILE run.sh 600` adds a line per
# reader to FILE: date, reader, seconds, files. Exit status 77: clang, its fuzzer, or protozero is not installed.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
seconds=${1:-5} compiler=${2:-clang++-19}
level=-O1
[ "$seconds" -gt 1 ] || level=-O0  # a run that short would take a minute more for the compiler
flags="-std=c++20 $level -gline-tables-only -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all"
echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' >probe.cpp
# shellcheck disable=SC2086  # several words
"$compiler" $flags probe.cpp -o probe >/dev/null 2>&1 || { echo "SKIPPED: $compiler has no fuzzer here"; exit 77; }
echo '#include <protozero/pbf_reader.hpp>' | "$compiler" -E -x c++ - >/dev/null 2>&1 ||
  { echo "SKIPPED: protozero is not installed"; exit 77; }
echo '#include <nlohmann/json.hpp>' | "$compiler" -E -x c++ - >/dev/null 2>&1 ||
  { echo "SKIPPED: nlohmann_json is not installed"; exit 77; }
zlib=
echo '#include <zlib.h>' | "$compiler" -E -x c++ - >/dev/null 2>&1 && zlib='-DTENON_WITH_ZLIB=1 -lz'
# shellcheck disable=SC2086
"$compiler" $flags -I"$root/include" "$root/tests/fuzz/readers.cpp" -o readers $zlib ||
  { echo "FAILED: the fuzzer does not compile"; exit 1; }

# ran NAME: says how many files a reader was fed; with $TENON_FUZZ_LEDGER, also in that file.
ran() {
  files=$(sed -n 's/^stat::number_of_executed_units: *//p' log)
  echo "$1: $files files in $seconds s"
  [ -z "${TENON_FUZZ_LEDGER:-}" ] ||
    printf '%s\t%s\t%s\t%s\n' "$(date -u +%Y-%m-%d)" "$1" "$seconds" "$files" >>"$TENON_FUZZ_LEDGER"
}

mkdir -p corpus
golden=${TENON_SHARED:-none}/golden
{
  find "$golden/ckpt" "$golden/npz" "$golden/npy" "$golden/summary" -size -4k -type f
  find "$golden/dump" -name '*_dump.json'
} 2>/dev/null | while read -r file; do
  cp -f "$file" "corpus/$(echo "$file" | tr / _)" && chmod u+w "corpus/$(echo "$file" | tr / _)"
done
# a print file: a text, an Int32 of shape [2], and one of shape []
printf '\012\003\012\001a\012\025\022\023\010\002\022\005Int32\032\010\001\000\000\000\002\000\000\000' >corpus/print
printf '2\n{MD:1, ME:2}\nlogs\nERROR\n50\n0640\n3\n' >corpus/log_variables
# IDX: two bytes; an image of CIFAR; CSV; an Example; a vocabulary and byte pairs
printf '\000\000\010\001\000\000\000\002ab' >corpus/idx
{ printf '\003' && head -c 3072 /dev/zero; } >corpus/cifar
printf 'a,b,c\r\n1.5,2,"3"\r\n\r\n4,"5,"" 6\n",7\n' >corpus/csv
printf '\012\016\012\014\012\005image\022\003\012\001\012' >corpus/example
printf '\012\020\012\016\012\005label\022\005\032\003\012\001\007' >corpus/example_label
printf 'tenon-vocabulary 1\nwords\nunknown 0\n<unk>\n\\n\nword\n' >corpus/vocabulary
printf 'tenon-byte-pairs 1\n97 98\n256 99\n' >corpus/byte_pairs
# files of PyTorch, and the pickle of one: {"w": a tensor [2]}
cp -f "$root"/tests/io/pt_files/*.pt corpus
{
  printf '\200\002}X\001\000\000\000wctorch._utils\n_rebuild_tensor_v2\n('
  printf '(X\007\000\000\000storagectorch\nFloatStorage\n'
  printf 'X\001\000\000\0000X\003\000\000\000cpuK\020tQK\000K\002\205K\001\205\211ccollections\nOrderedDict\n)RtRs.'
} >corpus/pickle
# files of ONNX
cp -f "$root"/tests/io/onnx_files/*.onnx corpus
# files of Keras
cp -f "$root"/tests/io/keras_files/*.h5 corpus
names='ckpt npz npy safetensors callback_state print_file event_file dump_config log_variables idx cifar csv_and_text
  tf_record vocabulary pt onnx keras'
for reader in ${TENON_READER:-$(seq 0 16)}; do
  most=4000
  case $reader in 15) most=25000 ;; 16) most=15000 ;; esac  # a graph has many nodes, HDF5 large groups
  TENON_READER=$reader ./readers -max_total_time="$seconds" -max_len=$most -rss_limit_mb=1000 -print_final_stats=1 \
    corpus >log 2>&1 || {
    tail -n 60 log
    echo "FAILED: reader $reader breaks; the file is here: $(ls crash-* oom-* timeout-* 2>/dev/null)"
    exit 1
  }
  # shellcheck disable=SC2086  # several words
  ran "$(printf '%s\n' $names | sed -n "$((reader + 1))p")"
done

# there HEADER...: whether the headers are installed
there() {
  for header in "$@"; do echo "#include <$header>"; done | "$compiler" -E -x c++ - >/dev/null 2>&1
}
# built FILE FLAG...: builds its fuzzer
built() {
  file=$1
  shift
  # shellcheck disable=SC2086
  "$compiler" $flags -I"$root/include" "$root/tests/fuzz/$file.cpp" -o "$file" "$@" ||
    { echo "FAILED: the fuzzer $file does not compile"; exit 1; }
  mkdir -p "${file}_corpus"
}
# run FILE READER LARGEST: lets a fuzzer look for files that break a reader
run() {
  TENON_READER=$2 TENON_SEEDS=${1}_corpus ./"$1" -max_total_time="$seconds" -max_len="$3" -rss_limit_mb=1000 \
    -timeout=20 -print_final_stats=1 "${1}_corpus" >log 2>&1 || {
    tail -n 60 log
    echo "FAILED: reader $2 of $1 breaks; the file: $(ls crash-* oom-* timeout-* 2>/dev/null)"
    exit 1
  }
  ran "$1_$2"
}
if there cstdio jpeglib.h png.h doctest/doctest.h; then
  built images -DTENON_WITH_JPEG=1 -DTENON_WITH_PNG=1 -ljpeg -lpng
  run images 0 4000
else
  echo "SKIPPED: libjpeg-turbo, libpng, or doctest is not installed, images were not decoded"
fi
if there sqlite3.h; then
  built mind_record -lsqlite3
  for reader in 0 1 2 3; do run mind_record $reader 20000; done  # an index is a database of some pages of 4 KB
else
  echo "SKIPPED: SQLite is not installed, MindRecord files were not read"
fi
built cached_row
# one sample: its origin, two numbers, and 1 x 2 x 3 bytes
{
  printf '\001\000\000\000\000\000\000\000' && head -c 40 /dev/zero
  printf '\003\000\000\000\000\000\000\000\001\000\000\000\000\000\000\000\002\000\000\000\000\000\000\000'
  printf '\003\000\000\000\000\000\000\000abcdef'
} >cached_row_corpus/row
run cached_row 0 300
# shellcheck disable=SC2086  # several words
built infer_request $zlib
# requests in JSON, one with nested data, one with null; and JSON with the bytes of tensors after it
{
  printf '{"id":"7","inputs":[{"name":"a","shape":[1,2,3],"datatype":"FP32","data":[[[1,2.5,-3],[4,5e1,6]]]},'
  printf '{"name":"b","shape":[1],"datatype":"INT64","data":[-9223372036854775808]},'
  printf '{"name":"c","shape":[1,2],"datatype":"BOOL","data":[true,false]}],"outputs":[{"name":"x"},{"name":"z"}]}'
} >infer_request_corpus/json
json='{"inputs":[{"name":"a","shape":[1,2,3],"datatype":"FP32","parameters":{"binary_data_size":24}},'$(:
)'{"name":"b","shape":[1],"datatype":"INT64","data":[1]},{"name":"c","shape":[1,2],"datatype":"BOOL",'$(:
)'"parameters":{"binary_data_size":2}}],"parameters":{"binary_data_output":true}}'
{
  # shellcheck disable=SC2059  # octal digits of the length
  printf "$(printf '\\%03o\\%03o' $((${#json} % 256)) $((${#json} / 256)))"
  printf '%s' "$json" && head -c 26 /dev/zero
} >infer_request_corpus/binary
printf '\000\000/v2/models/m/versions/12/infer?a=b' >infer_request_corpus/path
# "aaaaaaaa", as zlib compresses it
printf '\000\000\170\234\113\114\204\000\000\015\254\003\011' >infer_request_corpus/deflate
run infer_request 0 2000
built infer_message
# a request of gRPC with elements in contents, and one with raw bytes
{
  printf '\012\001m\022\0017\032\002id'
  printf '\052\052\012\001a\022\004FP32\032\003\001\002\003\052\032\062\030' && head -c 24 /dev/zero
  printf '\052\024\012\001b\022\005INT64\032\001\001\052\005\032\003\377\377\003'
  printf '\052\023\012\001c\022\004BOOL\032\002\001\002\052\004\012\002\001\000'
  printf '\052\022\012\001d\022\005UINT8\032\001\001\052\003\042\001\007\062\003\012\001y'
} >infer_message_corpus/contents
{
  printf '\012\001m\052\016\012\001a\022\004FP32\032\003\001\002\003\052\015\012\001b\022\005INT64\032\001\001'
  printf '\052\015\012\001c\022\004BOOL\032\002\001\002\052\015\012\001d\022\005UINT8\032\001\001'
  printf '\072\030' && head -c 24 /dev/zero && printf '\072\01001234567\072\002\001\000\072\001a'
} >infer_message_corpus/raw
run infer_message 0 1000
