#!/bin/sh
# Holds the direction of #include lines between the folders of include/tenon: `direction.sh [project root]`.
# The table below is the rule. If a direction proves wrong, change it here, with the reason.
set -u
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 1
cd "$root/include/tenon" || exit 1

find . -name '*.hpp' -o -name '*.cuh' | sed 's|^\./||' | LC_ALL=C sort | xargs awk '
BEGIN {
  # folder              may include, beside itself and the core
  # by -DTENON_TARGET=FOLDER core/target.hpp includes backend/FOLDER/target.hpp, too, which needs the core alone
  allowed["core"]    = ""
  allowed["target"]  = ""
  # bytes between ranks; the operators on them are in ops, what a training does with them in train
  allowed["dist"]    = ""
  allowed["graph"]   = "target"
  # sums over ranks are added in the memory of a GPU, too
  allowed["backend"] = "target graph dist"
  allowed["lowering"] = "target graph backend"
  allowed["run"]     = "target graph backend lowering"
  allowed["call"]    = "target graph backend lowering run"
  allowed["ops"]     = "target graph lowering run call dist"
  allowed["nn"]      = "target graph lowering run call ops"
  # a Model draws batches from a dataset, and its callbacks write files
  allowed["train"]   = "target graph lowering run call ops nn io dataset dist"
    allowed["io"]      = ""
  # images as memory; operations on columns of images are in dataset/vision
  allowed["vision"]  = "io"
  allowed["dataset"] = "io vision"
  # one include has the tools and all else
  allowed["debug"]   = "target graph lowering run call ops nn train io dataset dist tenon.hpp"
  # a traced network as a file
  allowed["onnx"]    = "target graph lowering run call ops nn io more.hpp"
  allowed["onnx.hpp"] = "onnx nn"
  # a training step without a heap
  allowed["embedded"] = "target graph lowering run call ops nn train"
  allowed["embedded.hpp"] = "embedded nn ops"
  allowed["dist.hpp"] = "dist ops nn train"
  # a Model behind a server
  allowed["serve"]   = "train dataset io"
  allowed["serve.hpp"] = "serve"
  allowed["fwd.hpp"] = ""                                      # names only; anybody may include it
}
function folder(path) { return path ~ /\// ? substr(path, 1, index(path, "/") - 1) : path }
function fault(text) { printf "include/tenon/%s:%d: %s\n", FILENAME, FNR, text; ++faults }

FNR == 1 {
  ++files
  from = folder(FILENAME)
  if (from != "tenon.hpp" && from != "more.hpp" && !(from in allowed))
    fault("`" from "` is not in the table of tests/layout/direction.sh: say there what it may include")
}
/^[ \t]*#[ \t]*include[ \t]*<tenon\/backend\/[a-z0-9_]+\// && FILENAME !~ /^backend\// {
  # operators, cells, and all above say what is computed; where it is computed is decided in one place
  fault("only backend/backends.hpp includes a backend")
  next
}
/^[ \t]*#[ \t]*include[ \t]*"/ { fault("write #include <tenon/...>, not \"...\""); next }
/^[ \t]*#[ \t]*include[ \t]*<tenon\// {
  target = $0
  sub(/^[^<]*<tenon\//, "", target)
  sub(/>.*/, "", target)
  to = folder(target)
  if ((getline line < target) < 0) fault("<tenon/" target "> does not exist")
  else close(target)
  if (from == "tenon.hpp" || from == "more.hpp" || to == from || to == "fwd.hpp" || to == "core") next
  if (index(" " allowed[from] " ", " " to " ") == 0)
    fault(from " includes <tenon/" target ">; it may include only: " from " core" \
      (allowed[from] == "" ? "" : " ") allowed[from])
}
END {
  if (!files) { print "no headers found"; exit 1 }
  if (faults) exit 1
  print files " headers: every #include points in an allowed direction."
}'
