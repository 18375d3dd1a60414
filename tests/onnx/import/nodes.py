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
    return constant(values, numpy.int64)


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


add("Pad", "image", whole(0, 0, 1, 2, 0, 0, 3, 0))
add("Pad", "image", whole(0, 1, 0, 2, 0, 0, 0, 2), constant(-2.5, numpy.float32))
add("Pad", "image", whole(0, 0, 2, 1, 0, 0, 3, 5), mode="reflect")
add("Pad", "image", whole(0, 0, 4, 1, 0, 0, 0, 6), mode="edge")
add("Pad", "image", whole(1, 2, 4, 0), "", whole(2, -1), mode="wrap")
add("Slice", "x", whole(-1), whole(-1000), whole(1), whole(-1))
add("Slice", "image", whole(1, 5), whole(8, 0), whole(1, 3), whole(3, -2))
add("Gather", "image", whole(-1, 4, 1), axis=1)
add("Gather", "image", whole(2, 1, 0), axis=2)
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
constant_results = []


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
model = helper.make_model(
    helper.make_graph(nodes, "nodes", inputs, outputs, constants), opset_imports=[helper.make_opsetid("", 19)]
)
model.ir_version = 9
onnx.save(model, f"{sys.argv[1]}/nodes.onnx")
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
