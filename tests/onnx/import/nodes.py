# A network of single nodes, with what ONNX Runtime computes of it: `nodes.py FOLDER` writes nodes.onnx and nodes.npz.
import sys

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

nodes, outputs, constants = [], [], []


def constant(values, dtype):
    name = f"constant{len(constants)}"
    constants.append(numpy_helper.from_array(numpy.array(values, dtype), name))
    return name


def whole(*values):
    return constant(values[0] if isinstance(values[0], list) else values, numpy.int64)


def real(*values):
    return constant(values, numpy.float32)


def add(operation, *inputs, dtype=TensorProto.FLOAT, **attributes):
    """One more node, whose result is an output."""
    name = f"y{len(outputs)}"
    nodes.append(helper.make_node(operation, inputs, [name], name=f"node{len(outputs)}", **attributes))
    outputs.append(helper.make_tensor_value_info(name, dtype, None))


def inner(name, operation, *inputs, **attributes):
    """A node whose result others read."""
    nodes.append(helper.make_node(operation, inputs, [name], **attributes))


add("Pad", "image", whole(0, 0, 1, 2, 0, 0, 3, 0))
add("Pad", "image", whole(0, 1, 0, 2, 0, 0, 0, 2), constant(-2.5, numpy.float32))
add("Pad", "image", whole(0, 0, 2, 1, 0, 0, 3, 5), mode="reflect")
add("Pad", "image", whole(0, 0, 4, 1, 0, 0, 0, 6), mode="edge")
add("Pad", "image", whole(1, 2, 4, 0), "", whole(2, -1), mode="wrap")
add("Slice", "x", whole(-1), whole(-1000), whole(1), whole(-1))
add("Slice", "image", whole(1, 5), whole(8, 0), whole(1, 3), whole(3, -2))
add("Gather", "image", whole(-1, 4, 1), axis=1)
add("Gather", "image", whole(2, 1, 0), axis=2)
add("Gather", "image", whole(5, 0, 2, 3, 7), axis=1)
nodes.append(helper.make_node("Unsqueeze", ["x", whole(-1)], ["column"]))
nodes.append(helper.make_node("ReduceSum", ["column", whole(1)], ["one"]))  # [n, 1, 1]
for axis, shape in ((0, (5, 4, 6)), (1, (8, 5, 6)), (-1, (8, 4, 5))):  # a table by numbers on each of its axes
    table = constant(numpy.arange(numpy.prod(shape)).reshape(shape) / 1000, numpy.float32)
    by = whole([[1, -1, 0], [2, 2, 3]])
    nodes.append(helper.make_node("Gather", [table, by], [f"looked_up{axis}"], axis=axis))
    nodes.append(helper.make_node("ReduceSum", [f"looked_up{axis}", whole(1, -1)], [f"table{axis}"], keepdims=0))
    add("Mul", "one", f"table{axis}")
add("Gather", constant(numpy.arange(42).reshape(7, 2, 3) / 7, numpy.float32), "classes")
nodes.append(helper.make_node("Shape", ["x"], ["shape"]))
add("Expand", constant([[1, 2, 3, 4]], numpy.float32), "shape")
nodes.append(helper.make_node("ConstantOfShape", [whole(4, 6)], ["none"]))  # a mask that the file computes
two = helper.make_tensor("two", TensorProto.FLOAT, [1], [2])
nodes.append(helper.make_node("ConstantOfShape", [whole(2, 6)], ["twos"], value=two))
nodes.append(helper.make_node("ScatterND", ["none", whole([[1], [-1]]), "twos"], ["mask"]))
add("Add", "image", "mask")
nodes.append(helper.make_node("Slice", ["shape", whole(0), whole(1)], ["samples"]))
nodes.append(helper.make_node("Concat", ["samples", whole(1)], ["repeats"], axis=0))
add("Tile", constant([[3, 4]], numpy.float32), "repeats")
# heads with queries and keys in them, which a transpose moves before the samples
nodes.append(helper.make_node("Reshape", ["image", whole(0, 2, 2, 2, 24)], ["apart"]))
nodes.append(helper.make_node("Transpose", ["apart"], ["moved"], perm=[2, 0, 1, 4, 3]))
nodes.append(helper.make_node("Split", ["moved"], ["queries", "keys"], axis=0, num_outputs=2))
add("Squeeze", "queries", whole(0))
add("Gather", "moved", constant(-1, numpy.int64), axis=0)
nodes.append(helper.make_node("Slice", ["moved", whole(1), whole(9), whole(0)], ["second"]))
nodes.append(helper.make_node("Sub", ["keys", "second"], ["difference"]))
add("Squeeze", "difference", whole(0))
add("Sum", "x", "x", real(0.5, 1, 2, 3))
add("Mean", "x", real(7), "x")
add("Einsum", "image", "image", equation="bchw, bdhw -> bcd")
add("Einsum", "x", constant(numpy.arange(12).reshape(4, 3) / 5, numpy.float32), equation="bi,ij")
add("DepthToSpace", "image", blocksize=2)
add("DepthToSpace", "image", blocksize=2, mode="CRD")
add("SpaceToDepth", "image", blocksize=2)
add("Tile", "image", whole(1, 2, 1, 3))
add("OneHot", "classes", constant(7, numpy.int64), real(0.25, 3))
add("OneHot", "classes", whole(7), whole(0, 1), dtype=TensorProto.INT64)
add("GatherElements", "x", "places", axis=1)
nodes.append(helper.make_node("Slice", ["x", whole(1), whole(4), whole(1)], ["part"]))
add("ScatterElements", "x", "places", "part", axis=1, reduction="add")
add("ScatterElements", "x", "places", "part", axis=-1)
add("InstanceNormalization", "image", real(*numpy.arange(8) / 3), real(*range(-2, 6)), epsilon=1e-3)
add("InstanceNormalization", "image", real(*[1] * 8), real(*[0] * 8))
add("Mish", "x")
add("ReduceL1", "image", whole(2, 3), keepdims=0)
add("ReduceLogSumExp", "image", whole(1))
nodes.append(helper.make_node("Div", ["x", real(0, 1, 0, 2)], ["quotient"]))
add("IsNaN", "quotient", dtype=TensorProto.BOOL)

# by the shape of an input: constants of which each sample has the same, and places that depend on a sample's number
inner("samples", "Shape", "x", end=1)
inner("sample_count", "Squeeze", "samples")
inner("numbers", "Range", constant(0, numpy.int64), "sample_count", constant(1, numpy.int64))
inner("down", "Range", constant(7, numpy.int64), constant(-1, numpy.int64), constant(-2, numpy.int64))
inner("rows_shape", "Concat", "samples", whole(4), axis=0)
inner("down_rows", "Expand", "down", "rows_shape")
inner("down_real", "Cast", "down_rows", to=TensorProto.FLOAT)
add("Mul", "x", "down_real")
inner("waves", "Sin", "down_real")
add("Concat", "waves", "x", axis=1)
inner("begins", "Mul", "numbers", constant(4, numpy.int64))
inner("begin_column", "Unsqueeze", "begins", whole(1))
inner("two_places", "Add", "begin_column", whole(3, 1))
inner("joined", "Reshape", "x", whole(-1))
add("Gather", "joined", "two_places")
inner("number_rows", "Unsqueeze", "numbers", whole(1, 2))
inner("pairs_shape", "Concat", "samples", whole(2, 1), axis=0)
inner("number_pairs", "Expand", "number_rows", "pairs_shape")
inner("place_pairs", "Expand", constant([[[2], [3]]], numpy.int64), "pairs_shape")
inner("pairs", "Concat", "number_pairs", "place_pairs", axis=-1)
add("GatherND", "x", "pairs")
inner("positive", "Greater", "x", real(0))
add("Where", "positive", constant(0, numpy.float32), constant(-2.5, numpy.float32))
add("Where", "positive", constant(0.5, numpy.float32), constant(3, numpy.float32))
table = constant(numpy.arange(24).reshape(8, 3) / 7, numpy.float32)
inner("table_rows", "Gather", table, "down_rows")
add("ReduceSum", "table_rows", whole(1), keepdims=0)

inputs = [
    helper.make_tensor_value_info(name, dtype, ["n", *shape])
    for name, dtype, shape in (
        ("x", TensorProto.FLOAT, [4]),
        ("image", TensorProto.FLOAT, [8, 4, 6]),
        ("classes", TensorProto.INT64, [3]),
        ("places", TensorProto.INT64, [3]),
    )
]
model = helper.make_model(
    helper.make_graph(nodes, "nodes", inputs, outputs, constants), opset_imports=[helper.make_opsetid("", 19)]
)
model.ir_version = 9
onnx.save(model, f"{sys.argv[1]}/nodes.onnx")
random = numpy.random.default_rng(1)
feed = {
    "x": random.normal(size=(2, 4)).astype(numpy.float32),
    "image": random.normal(size=(2, 8, 4, 6)).astype(numpy.float32),
    "classes": random.integers(0, 7, (2, 3)),
    "places": numpy.array([[3, 0, 2], [1, 2, 0]]),
}
feed["x"][0, 0] = 0
results = onnxruntime.InferenceSession(f"{sys.argv[1]}/nodes.onnx").run(None, feed)
arrays = {f"x{k}": value for k, value in enumerate(feed.values())}
arrays.update({f"y{k}": value for k, value in enumerate(results)})
numpy.savez(f"{sys.argv[1]}/nodes.npz", **arrays)
