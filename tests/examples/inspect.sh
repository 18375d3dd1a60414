#!/bin/sh
# tenon-inspect on files of other frameworks: `inspect.sh PROGRAM`. Listings and differences are right, damaged files
# are refused in a sentence with exit status 2. Writes to the current folder.
set -u
program=$1
golden=${TENON_SHARED:-/nowhere}/golden
[ -d "$golden" ] || { echo "SKIPPED: the files of other frameworks are not here"; exit 77; }
rm -rf inspect && mkdir inspect && cd inspect || exit 1
faults=0
fault() { echo "FAILED: $*"; faults=1; }

# says STATUS TEXT arguments: the exit status, and a text in what is printed.
says() {
  wanted=$1 part=$2
  shift 2
  timeout 600 "$program" "$@" >out 2>&1
  status=$?
  [ $status -eq "$wanted" ] || fault "tenon-inspect $*: exit status $status, not $wanted: $(head -n 3 out)"
  grep -qF -e "$part" out || fault "tenon-inspect $*: does not say \`$part\`, but: $(head -n 5 out)"
}

says 0 "diff" --help
says 2 "required" list
says 2 "subcommand" nothing

# ---- files of tensors
says 0 "MindSpore checkpoint, 8 tensors, 61684 elements, 247 KB" list "$golden/ckpt/lenet.ckpt"
says 0 "fc3.bias      float32  [10]                 10      40" list "$golden/ckpt/lenet.ckpt"
says 0 "fc3.bias" show "$golden/ckpt/lenet.ckpt"
says 0 "Tensor(shape=[10], dtype=Float32" show "$golden/ckpt/lenet.ckpt" fc3.bias
says 2 "has no tensor 'fc3.bais'. Did you mean 'fc3.bias'?" show "$golden/ckpt/lenet.ckpt" fc3.bais
says 0 "safetensors" list "$golden/safetensors/all.safetensors"
says 0 "NumPy .npz" list "$golden/npz/stored.npz"
for suffix in safetensors npz ckpt; do
  says 0 "lenet.$suffix is written" convert "$golden/ckpt/lenet.ckpt" "lenet.$suffix"
  says 0 "8 tensors compared, 0 differ." diff "$golden/ckpt/lenet.ckpt" "lenet.$suffix"
done
says 2 "lenet.txt" convert lenet.npz lenet.txt
says 1 "tensors are in the first dump only" diff lenet.npz "$golden/npz/stored.npz"

# ---- events
says 0 "event file of MindSpore" list "$golden/summary/record.events"
says 0 "event file of TensorBoard, 13 records" list "$golden/tensorboard/events.out.tfevents.golden"
says 0 "0.33333334" show "$golden/tensorboard/events.out.tfevents.golden" loss/train
says 2 "has no tag 'loss/trian'. Did you mean 'loss/train'?" \
  show "$golden/tensorboard/events.out.tfevents.golden" loss/trian
says 0 "scalars.csv is written" convert "$golden/tensorboard/events.out.tfevents.golden" scalars.csv
[ "$(wc -l <scalars.csv)" -eq 8 ] || fault "scalars.csv: $(cat scalars.csv)"

# ---- dumps
says 0 "30 tensors compared, 0 differ." diff "$golden/dump/tiny_all" "$golden/dump/tiny_all"
says 1 "are in the first dump only" diff "$golden/dump/tiny_all" "$golden/dump/lenet_inputs_only"
says 2 "not one of each" diff "$golden/dump/tiny_all" lenet.npz

# ---- MindRecord files
if "$program" record "$golden/mindrecord/shards4.mindrecord0" | grep -q 'compiled without'; then
  echo "SKIPPED: compiled without SQLite, MindRecord files were not read"
else
  says 0 "MindRecord, 22 rows in 4 files" record "$golden/mindrecord/shards4.mindrecord"
  says 0 "22 of 22 rows can be read" record --verify "$golden/mindrecord/shards4.mindrecord2"
  says 0 "id                       int32            in the index" record "$golden/mindrecord/all_types.mindrecord"
  says 0 "al                       [4] " record "$golden/mindrecord/all_types.mindrecord"
  says 0 "left                     890 bytes" record --rows 1 "$golden/mindrecord/multi_image.mindrecord"
  says 2 "cannot be renamed" record "$golden/mindrecord/refuse/renamed/f.mindrecord"
  says 2 "No such file" record none.mindrecord
fi

# ---- bad input
says 2 "There is no file 'none.bin'" list none.bin
says 2 "is a folder" list "$golden/dump/tiny_all"
# a tensor of one element in its old form; and a name that is dangerous only for those who write files by it
harmless="zero_dim_with_data.ckpt member_name_traversal.npz"
for file in "$golden"/ckpt/refuse/*.ckpt "$golden"/safetensors/refuse/*.safetensors "$golden"/npz/refuse/*.npz \
  "$golden"/npy/refuse/*.npy; do
  timeout 60 "$program" list "$file" >out 2>&1
  status=$?
  case " $harmless " in *" ${file##*/} "*) [ $status -eq 0 ] || fault "list $file: $(head -n 3 out)"; continue ;; esac
  { [ $status -eq 2 ] && grep -q '^tenon-inspect: ' out; } || fault "list $file: exit status $status: $(head -n 3 out)"
done
exit $faults
