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
says 2 "there is no command 'nothing'. The commands are list, show, diff, convert, record" nothing
says 2 "there is no command 'lst'. Did you mean 'list'?" lst a.npy
says 2 "there is no command 'recrod'. Did you mean 'record'?" recrod
says 2 "a command is missing. The commands are list" ""

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
for refused in lenet.txt lenet.npy lenet; do
  says 2 "Cannot write '$refused': the name of what convert writes ends with .safetensors, .ckpt (MindSpore), or .npz" \
    convert lenet.npz "$refused"
done
# what list and show read is converted
cp "$golden/npy/dt_float32.npy" a.npy
cp a.npy array_without_suffix
for suffix in npz safetensors ckpt; do
  says 0 "a.$suffix is written" convert a.npy "a.$suffix"
  says 0 "1 tensors compared, 0 differ." diff a.npy "a.$suffix"
done
says 0 "NumPy .npy, 1 tensors" list array_without_suffix

# ---- files of no format, of a format under another name, and empty ones
head -c 400 "$program" >program.bin
says 2 "'program.bin' is of no format that is read: it begins with '" list program.bin
grep -q 'as a print file' out && fault "list program.bin: $(cat out)"
printf '\n\n  # notes\n' >notes.md
says 2 "'notes.md' is of no format that is read" show notes.md
: >nothing.bin
says 2 "'nothing.bin' is empty" list nothing.bin
cp lenet.npz lenet.zip
says 2 "'lenet.zip' is a zip archive. Name it .npz" convert lenet.zip lenet.ckpt
says 2 "\`tenon-inspect record FILE\` takes the file beside it" list "$golden/mindrecord/all_types.mindrecord.db"

# ---- encrypted checkpoints
says 2 "is encrypted with AES-GCM: give its key by --key" list "$golden/ckpt/mlp_aes_gcm.ckpt"
key=0123456789abcdef
printf '%s\n' "$key" >key.txt
"$program" list --key "$key" "$golden/ckpt/mlp_aes_gcm.ckpt" >out 2>&1
if grep -q 'compiled without OpenSSL' out; then
  echo "SKIPPED: compiled without OpenSSL, encrypted checkpoints were not read"
else
  says 0 "MindSpore checkpoint, encrypted with AES-GCM, " list --key "$key" "$golden/ckpt/mlp_aes_gcm.ckpt"
  says 0 "fc1.weight" show "$golden/ckpt/mlp_aes_gcm.ckpt" --key @key.txt
  says 0 "mlp.safetensors is written" convert --key "${key}01234567" "$golden/ckpt/mlp_aes_cbc.ckpt" mlp.safetensors
  says 0 "0 differ" diff --key "$key" "$golden/ckpt/mlp_aes_gcm.ckpt" mlp.safetensors
  says 0 "encrypted with SM4-CBC" list --key fedcba9876543210 "$golden/ckpt/mlp_sm4_cbc.ckpt"
  says 2 "The key for" list --key short "$golden/ckpt/mlp_aes_gcm.ckpt"
  says 2 "tenon-inspect: " list --key 0000000000000000 "$golden/ckpt/mlp_aes_gcm.ckpt"
fi

# ---- list reads no elements: 3 GB of them, which are holes here, in little memory
python3 - <<'END_OF_SCRIPT'
import struct
size = 3 << 30
header = b'{"w":{"dtype":"F32","shape":[%d],"data_offsets":[0,%d]}}' % (size // 4, size)
with open("large.safetensors", "wb") as f:
    f.write(struct.pack("<Q", len(header)) + header)
    f.truncate(8 + len(header) + size)
header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % (size // 4)
header += b" " * (-(10 + len(header) + 1) % 64) + b"\n"
with open("large.npy", "wb") as f:
    f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    f.truncate(10 + len(header) + size)
name, count = b"w.npy", 10 + len(header) + size
common = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 33, 0, count, count, len(name), 0)  # a checksum of 0: list reads none
with open("large.npz", "wb") as f:
    f.write(b"PK\3\4" + common + name + b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    f.seek(30 + len(name) + count)
    directory = b"PK\1\2" + struct.pack("<H", 20) + common + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name
    f.write(directory + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(directory), f.tell(), 0))
def varint(n):
    out = b""
    while n > 127: out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])
tensor = b"\x08" + varint(size // 4) + b"\x12\x07Float32" + b"\x1a" + varint(size)
value = b"\x0a\x01w" + b"\x12" + varint(len(tensor) + size) + tensor
with open("large.ckpt", "wb") as f:
    f.write(b"\x0a" + varint(len(value) + size) + value)
    f.truncate(1 + len(varint(len(value) + size)) + len(value) + size)
END_OF_SCRIPT
for file in large.safetensors large.npy large.npz large.ckpt; do
  [ -e $file ] || continue  # without Python
  (ulimit -v 4194304; timeout 20 /usr/bin/time -f '%M' -o peak "$program" list $file) >out 2>&1 ||
    fault "list $file: $(head -n 3 out)"
  grep -q '805306368  3221225472' out || fault "list $file: $(head -n 3 out)"
  [ "$(tail -n 1 peak)" -lt 100000 ] || fault "list $file: a peak of $(tail -n 1 peak) KB"
done
rm -f large.*
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
  says 2 "--rows must be 0 or more, got -1." record --rows -1 "$golden/mindrecord/shards4.mindrecord"
  says 0 "22 rows in 4 files" record --rows 0 "$golden/mindrecord/shards4.mindrecord"
  says 2 "rows" record --rows many "$golden/mindrecord/shards4.mindrecord"
  says 2 "cannot be renamed" record "$golden/mindrecord/refuse/renamed/f.mindrecord"
  says 2 "No such file" record none.mindrecord
fi

# ---- bad input
says 2 "There is no file 'none.bin'" list none.bin
says 2 "is a folder" list "$golden/dump/tiny_all"
# a tensor of one element in its old form; a name that is dangerous only for those who write files by it; and elements
# with another checksum, which list does not read
harmless="zero_dim_with_data.ckpt member_name_traversal.npz crc_wrong.npz"
says 2 "the checksum of 'w.npy' is wrong" show "$golden/npz/refuse/crc_wrong.npz"
for file in "$golden"/ckpt/refuse/*.ckpt "$golden"/safetensors/refuse/*.safetensors "$golden"/npz/refuse/*.npz \
  "$golden"/npy/refuse/*.npy; do
  timeout 60 "$program" list "$file" >out 2>&1
  status=$?
  case " $harmless " in *" ${file##*/} "*) [ $status -eq 0 ] || fault "list $file: $(head -n 3 out)"; continue ;; esac
  { [ $status -eq 2 ] && grep -q '^tenon-inspect: ' out; } || fault "list $file: exit status $status: $(head -n 3 out)"
done
exit $faults
