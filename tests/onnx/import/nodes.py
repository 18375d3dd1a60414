# Two networks of single nodes, with what ONNX Runtime computes of them: `nodes.py FOLDER` writes nodes.onnx and
# nodes.npz into FOLDER/1 and FOLDER/2.
import os
import sys

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

nodes, outputs, constants = [], [], []
constant_prefix = ""  # "/": of constants that are no weights


def constant(values, dtype):
    name = f"{constant_prefix}constant{len(constants)}"
    constants.append(numpy_helper.from_array(numpy.array(values, dtype), name))
    return name


def whole(*values):
    return constant(values[0] if isinstance(values[0], list) else values, numpy.int64)


def real(*values):
    return constant(values, numpy.float32)


random = numpy.random.default_rng(1)


def weight(*shape):
    return constant(random.normal(size=shape), numpy.float32)


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
nodes.append(helper.make_node("Slice", ["shape", whole(0), whole(1)], ["samples_alone"]))
nodes.append(helper.make_node("Concat", ["samples_alone", whole(1)], ["repeats"], axis=0))
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
# windows of sequences, images, and volumes
nodes.append(helper.make_node("Reshape", ["image", whole(0, 8, 24)], ["sequence"]))
nodes.append(helper.make_node("Reshape", ["image", whole(0, 4, 2, 4, 6)], ["volume"]))
add("Conv", "sequence", weight(6, 4, 3), real(*range(6)), group=2, strides=[2], pads=[1, 3], dilations=[2])
add("Conv", "image", weight(3, 8, 2, 3), auto_pad="SAME_UPPER", strides=[1, 2])
add("Conv", "image", weight(8, 1, 4, 2), auto_pad="SAME_LOWER", group=8, strides=[3, 1])
add("Conv", "volume", weight(3, 4, 1, 2, 3), real(1, 2, 3), strides=[1, 2, 1], pads=[0, 1, 0, 1, 0, 2])
add("ConvTranspose", "sequence", weight(8, 2, 3), strides=[2], pads=[1, 0], output_padding=[1])
add("ConvTranspose", "image", weight(8, 1, 4, 3), auto_pad="SAME_UPPER", strides=[3, 2], group=2)
add("ConvTranspose", "image", weight(8, 2, 4, 3), auto_pad="SAME_LOWER", strides=[1, 2])
add("ConvTranspose", "volume", weight(4, 2, 1, 3, 2), real(1, 2), strides=[2, 1, 2], pads=[0, 1, 0, 0, 1, 1])
add("MaxPool", "sequence", kernel_shape=[4], strides=[3], ceil_mode=1)
add("MaxPool", "image", kernel_shape=[3, 2], strides=[2, 4], pads=[1, 0, 0, 1], ceil_mode=1)
add("MaxPool", "volume", kernel_shape=[2, 2, 3], strides=[1, 2, 2])
add("AveragePool", "image", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1)
add("AveragePool", "sequence", kernel_shape=[5], strides=[3], pads=[1, 2], ceil_mode=1, count_include_pad=1)
add("AveragePool", "volume", kernel_shape=[2, 3, 2], auto_pad="SAME_LOWER")
statistics = [real(*numpy.arange(k, k + 8) / 4) for k in range(1, 5)]
add("BatchNormalization", "sequence", *statistics)
add("BatchNormalization", "volume", *[real(*numpy.arange(k, k + 4) / 4) for k in range(1, 5)], epsilon=1e-3)

# windows by their places, as PyTorch writes unfold
add("Gather", "image", constant([[0, 2], [1, 3]], numpy.int64), axis=2)
add("Gather", "image", constant([[1, 3, 5]], numpy.int64), axis=3)
add("Gather", "image", constant([[1, 2, 3, 4], [3, 4, 5, 6]], numpy.int64), axis=-3)
nodes.append(helper.make_node("Reshape", ["image", whole(0, 24, 8)], ["columns"]))
columns = {"pads": [1, 0, 0, 1], "strides": [2, 1], "dilations": [1, 2]}
add("Col2Im", "columns", whole(4, 5), whole(3, 2), **columns)
add("Concat", "x", axis=1)

# an adaptive pool of 8 x 8 pixels to 3 x 2, as PyTorch's newer exporter writes it: rows of 3, 4, and 3 pixels
nodes.append(helper.make_node("Reshape", ["image", whole(0, 3, 8, 8)], ["square"]))
first, end = numpy.array([0, 2, 5]), numpy.array([3, 6, 8])
table = numpy.zeros((3, 4, 2, 4, 2), numpy.int64)
table[..., 0] = numpy.minimum(first[:, None] + numpy.arange(4), 7)[:, :, None, None]
table[..., 1] = numpy.arange(8).reshape(2, 4)
hidden = constant((numpy.arange(4) >= (end - first)[:, None]).reshape(3, 4, 1, 1), bool)
nodes.append(helper.make_node("Transpose", ["square"], ["pixels"], perm=[2, 3, 0, 1]))
nodes.append(helper.make_node("GatherND", ["pixels", constant(table, numpy.int64)], ["in_windows"]))
nodes.append(helper.make_node("Transpose", ["in_windows"], ["windows"], perm=[4, 5, 0, 1, 2, 3]))
nodes.append(helper.make_node("Where", [hidden, constant(0, numpy.float32), "windows"], ["masked"]))
nodes.append(helper.make_node("ReduceSum", ["masked", whole(3, 5)], ["sums"], keepdims=0))
add("Div", "sums", constant([[12], [16], [12]], numpy.float32))

# other sizes
half_pixel = {"coordinate_transformation_mode": "pytorch_half_pixel"}
add("Resize", "image", "", "", whole(7, 5), mode="cubic", axes=[2, 3], **half_pixel)
add("Resize", "image", "", "", whole(7, 9), mode="linear", axes=[2, 3], coordinate_transformation_mode="align_corners")
add("Resize", "image", "", "", whole(9, 1), mode="linear", axes=[-2, -1], **half_pixel)
add("Resize", "image", "", real(1, 1, 1.4, 1.4), mode="linear")
add("Resize", "image", "", real(1, 1, 2, 1.5), nearest_mode="ceil")
add("Resize", "image", "", real(3, 1.5), mode="cubic", axes=[2, 3], exclude_outside=1, cubic_coeff_a=-0.5)
add("Resize", "image", "", real(1, 1, 0.5, 0.5), mode="linear", antialias=1)
add("Resize", "sequence", "", "", whole(36), axes=[2])

# constants alone: all of them in one row
constant_results, constant_prefix = [], "/"


def known(operation, *inputs, dtype=None, **attributes):
    """One more constant that the file computes; dtype: it is none of float32."""
    name = f"known{len(constant_results)}"
    nodes.append(helper.make_node(operation, inputs, [name], name=f"node_{name}", **attributes))
    flat = name
    if dtype:
        nodes.append(helper.make_node("Cast", [name], [flat := f"{name}_float"], to=TensorProto.FLOAT))
    nodes.append(helper.make_node("Reshape", [flat, whole(-1)], [f"{name}_row"]))
    constant_results.append(f"{name}_row")
    return name


matrix, table = weight(5, 7), weight(2, 3, 4, 5)
known("Add", matrix, weight(5, 1))
known("Mul", matrix, known("Sigmoid", matrix))
known("Clip", matrix, constant(-0.5, numpy.float32), constant(0.25, numpy.float32))
known("Transpose", table, perm=[2, 0, 3, 1])
known("Slice", table, whole(-1, 0), whole(-9, 5), whole(2, 3), whole(-2, 2))
known("Pad", table, whole(0, 1, 0, 2, 1, 0, 0, 0), constant(2.5, numpy.float32))
known("Pad", table, whole(1, 2, 2, 1), "", whole(2, 3), mode="reflect")
known("Gather", table, whole(1, -1, 0), axis=2)
known("GatherND", table, constant([[[0, 2], [1, -1]]], numpy.int64))
known("GatherElements", matrix, constant([[0, 3, -1], [2, 2, 6]], numpy.int64), axis=1)
known("Expand", weight(3, 1), whole(2, 1, 4))
known("Tile", matrix, whole(2, 3))
known("Concat", table, weight(2, 1, 4, 5), axis=1)
known("Where", known("Less", matrix, weight(7), dtype=bool), matrix, constant(9, numpy.float32))
known("Trilu", matrix, constant(1, numpy.int64))
known("Range", constant(7, numpy.int64), constant(-4, numpy.int64), constant(-3, numpy.int64), dtype=int)
known("Range", *(constant(each, numpy.float32) for each in (0.5, 3, 0.25)))
known("ReduceMean", table, whole(1, -1))
known("ReduceL2", table, whole(0, 2, 3), keepdims=0)
known("Softmax", table, axis=1)
known("CumSum", matrix, whole(1), reverse=1)
known("MatMul", table, weight(3, 5, 2))
known("BatchNormalization", table, *[real(*numpy.arange(k, k + 3) / 4) for k in range(1, 5)])
known("LayerNormalization", table, weight(4, 5), weight(4, 5), axis=-2)
known("Resize", table, "", "", whole(2, 3, 7, 3), mode="cubic", **half_pixel)
known("Conv", table, weight(4, 3, 2, 2), strides=[1, 2], pads=[1, 0, 0, 1])
nodes.append(helper.make_node("Concat", constant_results, ["all_known"], axis=0))
nodes.append(helper.make_node("ReduceMean", ["x", whole(1)], ["mean"]))
add("Add", "mean", "all_known")

inputs = [
    helper.make_tensor_value_info(name, dtype, ["n", *shape])
    for name, dtype, shape in (
        ("x", TensorProto.FLOAT, [4]),
        ("image", TensorProto.FLOAT, [8, 4, 6]),
        ("classes", TensorProto.INT64, [3]),
        ("places", TensorProto.INT64, [3]),
    )
]
feed = {
    "x": random.normal(size=(2, 4)).astype(numpy.float32),
    "image": random.normal(size=(2, 8, 4, 6)).astype(numpy.float32),
    "classes": random.integers(0, 7, (2, 3)),
    "places": numpy.array([[3, 0, 2], [1, 2, 0]]),
}
feed["x"][0, 0] = 0


def save(folder, results):
    """A model with some of the outputs, because a network has at most 64."""
    needed, chosen = {each.name for each in results}, []
    for node in reversed(nodes):
        if needed.intersection(node.output):
            needed.update(node.input)
            chosen.insert(0, node)
    tables = [each for each in constants if each.name in needed]
    model = helper.make_model(
        helper.make_graph(chosen, "nodes", inputs, results, tables), opset_imports=[helper.make_opsetid("", 19)]
    )
    model.ir_version = 9
    os.mkdir(folder)
    onnx.save(model, f"{folder}/nodes.onnx")
    found = onnxruntime.InferenceSession(f"{folder}/nodes.onnx").run(None, feed)
    arrays = {f"x{k}": value for k, value in enumerate(feed.values())}
    arrays.update({f"y{k}": value for k, value in enumerate(found)})
    numpy.savez(f"{folder}/nodes.npz", **arrays)


half = len(outputs) // 2
save(f"{sys.argv[1]}/1", outputs[:half])
save(f"{sys.argv[1]}/2", outputs[half:])
