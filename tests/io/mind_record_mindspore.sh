#!/bin/sh
# MindSpore reads the MindRecord files that Tenon wrote and Tenon those that MindSpore wrote, all rows equal: 4 files of
# a set, several images in a row, labels of any number, arrays of integers of all sizes; each adds rows to a file of
# the other: `mind_record_mindspore.sh [compiler]`. TENON_PYTHON names a Python that has MindSpore; without one, pip
# installs it here. Writes to the current folder. Exit status 77: it cannot be installed.
set -u
include=$(cd "$(dirname "$0")/../../include" && pwd)
compiler=${1:-g++}
python=${TENON_PYTHON:-python3}
printf '#include <sqlite3.h>\n#include <nlohmann/json.hpp>\n' | "$compiler" -E -x c++ - >/dev/null 2>&1 ||
  { echo "SKIPPED: SQLite or nlohmann_json is not installed"; exit 77; }
work=$PWD/mind_record_mindspore
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
if ! "$python" -c 'import mindspore' >/dev/null 2>&1; then
  { "$python" -m venv venv && venv/bin/python -m pip install --quiet mindspore==2.10.0; } >log 2>&1 ||
    { tail -n 3 log; echo "SKIPPED: pip does not install MindSpore for $("$python" --version 2>&1)"; exit 77; }
  python=$work/venv/bin/python
fi

cat >exchange.cpp <<'END_OF_PROGRAM'
// show FROM: each row in a line, as the script below. copy FROM TO SHARDS: the rows of a set in another one. append TO
// FROM: the rows of a set behind those of another one. data FROM TO SHARDS: copy by a data set, texts as bytes.
#include <cstdio>
#include <tenon/dataset/mind_record.hpp>
#include <tenon/dataset/to_mind_record.hpp>
#include <tenon/io/mind_record.hpp>
using namespace tenon;
std::string hex(const void* data, std::size_t count) {
  std::string s;
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned byte = static_cast<const unsigned char*>(data)[i];
    s += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  }
  return s;
}
void show(const std::string& path) {
  const io::MindRecordReader reader(path);
  for (long i = 0; i < reader.size(); ++i) {
    const io::MindRecordRow row = reader.read(i);
    std::string line;
    for (std::size_t f = 0; f < reader.schema().size(); ++f) {
      const TextOrTensor& value = row[f];
      line += reader.schema()[f].name + "=";
      if (value.is_tensor)
        line += text(name(value.tensor.dtype), shape_text(value.tensor.shape()),
                     hex(value.tensor.data, value.tensor.bytes()));
      else line += hex(value.text.data(), value.text.size());
      line += " ";
    }
    std::printf("%s\n", line.c_str());
  }
}
std::vector<io::MindRecordCell> cells_of(const io::MindRecordRow& row) {
  std::vector<io::MindRecordCell> cells;
  for (std::size_t f = 0; f < row.schema().size(); ++f) {
    const TextOrTensor& value = row[f];
    const std::string_view name = row.schema()[f].name;
    if (!value.is_tensor) cells.emplace_back(name, value.text);
    else if (value.tensor.rank) cells.emplace_back(name, value.tensor);
    else
      io::detail::with_elements(value.tensor.dtype, value.tensor.data,
                                [&](auto* number) { cells.emplace_back(name, *number); });
  }
  return cells;
}
void write(io::MindRecordWriter& writer, const io::MindRecordReader& reader) {
  std::vector<io::MindRecordRow> rows;
  std::vector<std::vector<io::MindRecordCell>> block;
  for (long i = 0; i < reader.size(); ++i) rows.push_back(reader.read(i)), block.push_back(cells_of(rows.back()));
  writer.write_block(block);
  writer.commit();
}
void copy_data(const std::string& from, const std::string& to, int shards) {
  using dataset::any, dataset::Column, dataset::Ragged;
  using Bytes = Ragged<any>;
  const dataset::MindRecord data{
      from, dataset::as<Column<std::int32_t, Shape<>, "id">, Column<std::uint8_t, Bytes, "name">,
                        Column<std::int64_t, Shape<>, "big">, Column<float, Shape<>, "x">,
                        Column<double, Shape<>, "y">, Column<std::uint8_t, Bytes, "left">,
                        Column<std::uint8_t, Bytes, "middle">, Column<std::uint8_t, Bytes, "right">,
                        Column<std::int32_t, Ragged<any>, "labels">, Column<std::int64_t, Ragged<any, 3>, "wide">,
                        Column<float, Ragged<2, any>, "f">, Column<double, Shape<3>, "d">>};
  dataset::to_mind_record(data, to, {.shards = shards, .page_size = 1 << 20});
}
int main(int, char** argument) {
  const std::string act = argument[1];
  if (act == "show") return show(argument[2]), 0;
  if (act == "data") return copy_data(argument[2], argument[3], std::atoi(argument[4])), 0;
  const io::MindRecordReader reader(argument[act == "copy" ? 2 : 3]);
  if (act == "append") {
    io::MindRecordWriter writer = io::MindRecordWriter::append(argument[2]);
    write(writer, reader);
  } else {
    io::MindRecordWriter writer(argument[3], {.shards = std::atoi(argument[4]), .page_size = 1 << 20});
    writer.set_schema(reader.schema());
    writer.add_index(reader.index_fields());
    write(writer, reader);
  }
}
END_OF_PROGRAM
"$compiler" -std=c++20 -O1 -Wall -Wextra -I"$include" exchange.cpp -o exchange -lsqlite3 ||
  fail "the program does not compile"

cat >theirs.py <<'END_OF_SCRIPT'
import sys, numpy as np
from mindspore.mindrecord import FileWriter, FileReader
import mindspore.dataset as ds
schema = {"id": {"type": "int32"}, "name": {"type": "string"}, "big": {"type": "int64"}, "x": {"type": "float32"},
          "y": {"type": "float64"}, "left": {"type": "bytes"}, "middle": {"type": "bytes"}, "right": {"type": "bytes"},
          "labels": {"type": "int32", "shape": [-1]}, "wide": {"type": "int64", "shape": [-1, 3]},
          "f": {"type": "float32", "shape": [2, -1]}, "d": {"type": "float64", "shape": [3]}}
names = sorted(schema)
kinds = {"int32": np.int32, "int64": np.int64, "float32": np.float32, "float64": np.float64}
def made(first, count):
    rng = np.random.default_rng(first)
    image = lambda most: rng.integers(0, 256, rng.integers(1, most), dtype=np.uint8).tobytes() + b"\xd9"
    wide = lambda n: (rng.integers(-2**63, 2**63 - 1, n, dtype=np.int64) >> rng.integers(0, 64, n)).astype(np.int64)
    return [{"id": i, "name": "r\u00e4w \u2211 %d" % i, "big": int(wide(1)[0]), "x": float(np.float32(rng.normal())),
             "y": rng.normal(), "left": image(90000), "middle": image(30), "right": image(5000),
             "labels": wide(1 + i % 5).astype(np.int32), "wide": wide(3 * (1 + i % 7)).reshape(-1, 3),
             "f": rng.normal(size=(2, 1 + i % 3)).astype(np.float32), "d": rng.normal(size=3)}
            for i in range(first, first + count)]
def shown(row):
    line = ""
    for name in names:
        value, kind = row[name], schema[name]
        line += name + "="
        if kind["type"] == "bytes": line += (value if isinstance(value, bytes) else value.tobytes()).hex()
        elif kind["type"] == "string": line += str(value).encode().hex()
        else:
            value = np.asarray(value, kinds[kind["type"]])
            line += str(value.dtype) + str(list(value.shape)) + value.tobytes().hex()
        line += " "
    return line + "\n"
def write(file, rows, shards):
    writer = FileWriter(file, shards)
    writer.set_page_size(1 << 20)
    writer.add_schema(schema, "all")
    writer.add_index(["id", "name"])
    for i in range(0, len(rows), 50): writer.write_raw_data(rows[i:i + 50])
    writer.commit()
if sys.argv[1] == "write":
    write("theirs", made(0, 200), 4), write("one", made(0, 60), 1)
    open("expected", "w").writelines(shown(row) for row in made(0, 200))
    open("expected_more", "w").writelines(shown(row) for row in made(0, 60) + made(60, 60))
elif sys.argv[1] == "append":
    writer = FileWriter.open_for_append(sys.argv[2])
    writer.write_raw_data(made(60, 60))
    writer.commit()
elif sys.argv[1] == "show":
    if len(sys.argv) > 3: schema["name"] = {"type": "bytes"}
    data = ds.MindDataset(sys.argv[2], shuffle=False)
    for row in data.create_dict_iterator(num_epochs=1, output_numpy=True):
        sys.stdout.write(shown({k: v[0] if schema[k]["type"] == "bytes" else v for k, v in row.items()}))
elif sys.argv[1] == "more": write("more", made(60, 60), 1)
END_OF_SCRIPT
"$python" theirs.py write >log 2>&1 || { tail -n 20 log; fail "MindSpore does not write"; }
"$python" theirs.py more >log 2>&1 || { tail -n 20 log; fail "MindSpore does not write"; }

# same WHAT FILE: the lines of a file are the expected ones, in any order
same() {
  sort "$2" >sorted && sort "$3" >expected_sorted && cmp sorted expected_sorted ||
    fail "$1: $(wc -l <"$2") rows, expected $(wc -l <"$3")"
}
./exchange show theirs0 >ours_of_theirs || fail "Tenon does not read four files of MindSpore"
same "Tenon reads MindSpore's files" ours_of_theirs expected
./exchange copy theirs2 ours 4 || fail "Tenon does not write four files"
"$python" theirs.py show ours0 >theirs_of_ours 2>log ||
  { tail -n 20 log; fail "MindSpore does not read four files of Tenon"; }
grep '^big=' theirs_of_ours >rows
same "MindSpore reads Tenon's files" rows expected
cmp ours_of_theirs rows || fail "the order of the rows differs"

./exchange data theirs2 set 4 || fail "Tenon does not write a data set"
"$python" theirs.py show set0 bytes >theirs_of_set 2>log ||
  { tail -n 20 log; fail "MindSpore does not read a data set of Tenon"; }
grep '^big=' theirs_of_set >rows
same "MindSpore reads a data set of Tenon" rows expected
cmp ours_of_theirs rows || fail "the order of the rows of a data set differs"

./exchange copy one one_of_ours 1 || fail "Tenon does not write one file"
"$python" theirs.py append one_of_ours >log 2>&1 ||
  { tail -n 20 log; fail "MindSpore does not append to a file of Tenon"; }
./exchange show one_of_ours >rows || fail "Tenon does not read what MindSpore appended"
same "MindSpore appends to a file of Tenon" rows expected_more
./exchange append one more || fail "Tenon does not append to a file of MindSpore"
"$python" theirs.py show one >shown 2>log || { tail -n 20 log; fail "MindSpore does not read what Tenon appended"; }
grep '^big=' shown >rows
same "Tenon appends to a file of MindSpore" rows expected_more
echo "MindSpore and Tenon read each other's MindRecord files: 840 rows are equal."
