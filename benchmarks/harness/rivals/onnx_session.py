"""ONNX Runtime: forward passes with IO binding, all graph optimizations."""
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from harness.isa import has_avx512
from harness.numbers import batch_of, safetensors
from harness.plan import FLATTEN, MAX_POOL, MEAN, RELU, BatchNorm, Conv, Lstm, Residual
from harness.rivals import recurrent


class Nodes:
    """The nodes of a graph, made layer by layer."""

    def __init__(self, weights):
        self.weights, self.nodes, self.values = weights, [], 0

    def add(self, operator, operands, **attributes):
        self.values += 1
        self.nodes.append(helper.make_node(operator, operands, [f"value{self.values}"], **attributes))
        return f"value{self.values}"

    def chain(self, layers, value):
        for layer in layers:
            value = self.layer(layer, value)
        return value

    def layer(self, layer, value):
        if layer in (RELU, FLATTEN):
            return self.add({RELU: "Relu", FLATTEN: "Flatten"}[layer], [value])
        if layer == MAX_POOL:
            return self.add("MaxPool", [value], kernel_shape=[2, 2], strides=[2, 2])
        if layer == MEAN:
            return self.add("Flatten", [self.add("GlobalAveragePool", [value])])
        if isinstance(layer, Residual):
            return self.add("Add", [self.chain(layer.body, value), self.chain(layer.shortcut, value)])
        if isinstance(layer, BatchNorm):
            return self.add(
                "BatchNormalization",
                [value, *(f"{layer.name}.{kind}" for kind in ("gamma", "beta", "moving_mean", "moving_variance"))],
                epsilon=1e-5,
            )
        if isinstance(layer, Lstm):
            self.values += 1
            self.nodes += recurrent.onnx_nodes(layer, value, f"value{self.values}", self.weights)
            return f"value{self.values}"
        operands = [
            value,
            layer.name + ".weight",
            *([layer.name + ".bias"] if layer.name + ".bias" in self.weights else []),
        ]
        if isinstance(layer, Conv):
            return self.add("Conv", operands, pads=[layer.padding] * 4, strides=[layer.stride] * 2)
        return self.add("Gemm", operands, transB=1)


def model_of(network, weights, batch):
    nodes = Nodes(weights)
    nodes.chain(network.layers, "x")
    nodes.nodes[-1].output[0] = "y"
    graph = helper.make_graph(
        nodes.nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, *network.sample])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, network.classes])],
        [numpy_helper.from_array(w, name) for name, w in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def isa(rival):
    """It reports nothing, and MLAS has no switch."""
    return "MLAS takes what the processor has" + (": AVX-512" if has_avx512() else "")


def works(rival, group, threads, folder):
    def make(name):
        network_name, _, batch = name.split("/")
        network, weights = group.networks[network_name], safetensors(f"{folder}/{network_name}.safetensors")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        session = onnxruntime.InferenceSession(
            model_of(network, weights, int(batch)).SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        x = onnxruntime.OrtValue.ortvalue_from_numpy(batch_of(network, int(batch))[0])
        y = onnxruntime.OrtValue.ortvalue_from_shape_and_type([int(batch), network.classes], "float32")
        binding = session.io_binding()
        binding.bind_ortvalue_input("x", x)
        binding.bind_ortvalue_output("y", y)

        def call():
            session.run_with_iobinding(binding)

        def check():
            call()
            return y.numpy().reshape(-1)

        return check, call

    return make
