#!/bin/sh
# TensorBoard and MindSpore read what Tenon recorded: `summary_readers.sh [compiler]`. TENON_PYTHON names a Python that
# has one of them, or both. Writes to the current folder. Exit status 77: neither is installed.
set -u
source=$(cd "$(dirname "$0")/../.." && pwd)
compiler=${1:-g++}
python=${TENON_PYTHON:-python3}
"$python" -c 'import tensorboard' >/dev/null 2>&1 && tensorboard=yes || tensorboard=
"$python" -c 'import mindspore' >/dev/null 2>&1 && mindspore=yes || mindspore=
[ "$tensorboard$mindspore" ] || { echo "SKIPPED: $python has neither TensorBoard nor MindSpore"; exit 77; }
echo '#include <protozero/pbf_reader.hpp>' | "$compiler" -E -x c++ - >/dev/null 2>&1 ||
  { echo "SKIPPED: protozero is not installed"; exit 77; }
png=
echo '#include <png.h>' | "$compiler" -E -x c++ - >/dev/null 2>&1 && png='-DTENON_WITH_PNG=1 -lpng'
work=$PWD/summary_readers
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

cat >record.cpp <<'END_OF_PROGRAM'
#include <tenon/tenon.hpp>
#include <tenon/train/callback/summary_collector.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Conv2d<3, 4, 3, nn::Conv2dConfig{.pad_mode = PadMode::same, .has_bias = true}> conv;
  nn::Dense<4 * 64, 2> fc;
  constexpr auto construct(auto x) const { return fc(flatten(relu(conv(x)))); }
};

int main() {
  std::vector<float> x(20 * 3 * 64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(i % 97) / 97;
  std::vector<std::int32_t> y(20);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = i % 3 == 0;
  const auto data =
      dataset::from_arrays(dataset::column<Shape<3, 8, 8>>(x), dataset::column<Shape<>>(y)) | dataset::batch(5);
  for (const SummaryFormat format : {SummaryFormat::tensorboard, SummaryFormat::mindspore}) {
    Net net;
    Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f},
                nn::Accuracy{}};
    const char* const folder = format == SummaryFormat::tensorboard ? "tensorboard" : "mindspore";
    model.fit(2, data, data,
              SummaryCollector(folder, {.collect_freq = 2, .custom_lineage_data = {{"layers", 2}, {"note", "a|b"}},
                                        .format = format}));
    SummaryRecord record(folder, {.file_prefix = "by_hand", .format = format});
    record.add_value("tensor", "t", net.fc.weight.view());
    record.add_value("scalar", "s", 0.25);
    record.record(7);
  }
}
END_OF_PROGRAM
# shellcheck disable=SC2086  # several words
"$compiler" -std=c++20 -O1 -Wall -Wextra -I"$source/include" record.cpp -o record $png -lpthread ||
  fail "the program does not compile"
./record || fail "the program does not run"

cat >tensorboard_reads.py <<'END_OF_SCRIPT'
import glob, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util
paths = sorted(glob.glob("tensorboard/events.out.tfevents.*"))
assert len(paths) == 1, paths
events = EventAccumulator(paths[0], size_guidance={"scalars": 0, "histograms": 0, "images": 0, "tensors": 0})
events.Reload()
tags = events.Tags()
assert tags["scalars"] == ["loss/auto"], tags
loss = events.Scalars("loss/auto")
assert [one.step for one in loss] == [1, 2, 4, 6, 8] and all(0 < one.value < 10 for one in loss), loss
assert sorted(tags["histograms"]) == ["conv.bias/auto", "conv.weight/auto", "fc.bias/auto", "fc.weight/auto"], tags
for tag, count in ("conv.weight/auto", 108), ("fc.weight/auto", 512):
    for one in events.Histograms(tag):
        h = one.histogram_value
        assert h.num == count == sum(h.bucket) and h.min < 0 < h.max and len(h.bucket) == len(h.bucket_limit), h
if sys.argv[1]:
    from io import BytesIO
    image = events.Images("input_data/auto")[0]
    assert (image.height, image.width) == (8, 40), image
    assert image.encoded_image_string.startswith(b"\x89PNG")
graph = events.Graph()
names = {node.name for node in graph.node}
assert {"inputs0", "conv.weight", "fc.bias"} <= names, names
assert any("Default/network-Net/conv-Conv2d/" in name for name in names), names
assert all(input in names for node in graph.node for input in node.input)
texts = {tag: events.Tensors(tag)[0].tensor_proto.string_val[0].decode() for tag in tags["tensors"]}
assert "| optimizer | Momentum |" in texts["train_lineage"] and "accuracy" in texts["eval_lineage"], texts
assert "| note | a\\|b |" in texts["custom_lineage_data"], texts
assert "| Batch | batch\\_size = 5" in texts["train_dataset"], texts
hand = EventAccumulator(glob.glob("tensorboard/by_hand*")[0], size_guidance={"tensors": 0})
hand.Reload()
assert tensor_util.make_ndarray(hand.Tensors("t")[0].tensor_proto).shape == (2, 256)
assert hand.Scalars("s")[0].value == 0.25 and hand.Scalars("s")[0].step == 7
END_OF_SCRIPT
cat >mindspore_reads.py <<'END_OF_SCRIPT'
import glob, os, struct, sys
from mindspore.train import lineage_pb2, summary_pb2
def messages(pattern, kind):
    paths = sorted(glob.glob(pattern))
    assert len(paths) == 1 and os.stat(paths[0]).st_mode & 0o777 == 0o400, paths
    with open(paths[0], "rb") as file:
        while head := file.read(12):
            message = kind()
            message.ParseFromString(file.read(struct.unpack("<Q", head[:8])[0]))
            file.read(4)
            assert message.IsInitialized()
            yield message
events = list(messages("mindspore/events*_MS", summary_pb2.Event))
assert events[0].version == "MindSpore.Event:1"
graph = next(event.graph_def for event in events if event.HasField("graph_def"))
assert any(node.full_name.startswith("Default/network-Net/conv-Conv2d/") for node in graph.node)
known = {one.name for one in list(graph.node) + list(graph.parameters)} | {one.key for one in graph.const_vals}
assert all(input.name in known for node in graph.node for input in node.input)
values = [(event.step, value) for event in events for value in event.summary.value]
assert [step for step, value in values if value.tag == "loss/auto"] == [1, 2, 4, 6, 8], values
weights = [value.histogram for _, value in values if value.tag == "conv.weight/auto"]
assert all(h.count == 108 == sum(bucket.count for bucket in h.buckets) and len(h.buckets) == 11 for h in weights)
lineage = list(messages("mindspore/events*_lineage", lineage_pb2.LineageEvent))
kinds = [one.WhichOneof("what") for one in lineage]
assert kinds == ["dataset_graph", "user_defined_info"] + 2 * ["evaluation_lineage"] + ["train_lineage"], kinds
training = lineage[-1].train_lineage
assert training.hyper_parameters.optimizer == "Momentum" and training.train_dataset.train_dataset_size == 20, training
assert lineage[0].dataset_graph.parameter.mapInt["batch_size"] == 5
assert lineage[1].user_defined_info.user_info[0].map_int32["layers"] == 2
hand = list(messages("mindspore/by_hand*", summary_pb2.Event))[1]
assert hand.step == 7 and list(hand.summary.value[0].tensor.dims) == [2, 256]
END_OF_SCRIPT
if [ "$tensorboard" ]; then
  "$python" tensorboard_reads.py "$png" >log 2>&1 || { cat log; fail "TensorBoard does not read what Tenon recorded"; }
  echo "TensorBoard reads what Tenon recorded."
fi
if [ "$mindspore" ]; then
  "$python" mindspore_reads.py >log 2>&1 || { cat log; fail "MindSpore does not read what Tenon recorded"; }
  echo "MindSpore reads what Tenon recorded."
fi
