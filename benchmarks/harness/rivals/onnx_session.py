"""ONNX Runtime: forward passes with IO binding, all graph optimizations."""
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from harness.numbers import batch_of, safetensors
from harness.plan import FLATTEN, MAX_POOL, RELU, Conv, Lstm
from harness.rivals import recurrent


def model_of(network, weights, batch):
    nodes, value = [], "x"
    for i, layer in enumerate(network.layers):
        result = "y" if i + 1 == len(network.layers) else f"value{i}"
        if layer == RELU:
            nodes.append(helper.make_node("Relu", [value], [result]))
        elif layer == MAX_POOL:
            nodes.append(helper.make_node("MaxPool", [value], [result], kernel_shape=[2, 2], strides=[2, 2]))
        elif layer == FLATTEN:
            nodes.append(helper.make_node("Flatten", [value], [result]))
        elif isinstance(layer, Lstm):
            nodes += recurrent.onnx_nodes(layer, value, result, weights)
        else:
            operands = [value, layer.name + ".weight", layer.name + ".bias"]
            if isinstance(layer, Conv):
                nodes.append(helper.make_node("Conv", operands, [result], pads=[layer.padding] * 4))
            else:
                nodes.append(helper.make_node("Gemm", operands, [result], transB=1))
        value = result
    graph = helper.make_graph(
        nodes, "network", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, *network.sample])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, network.classes])], [numpy_helper.from_array(w, name) for name, w in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def works(rival, group, threads, folder):
    def make(name):
        network_name, _, batch = name.split("/")
        network, weights = group.networks[network_name], safetensors(f"{folder}/{network_name}.safetensors")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        session = onnxruntime.InferenceSession(model_of(network, weights, int(batch)).SerializeToString(), options, providers=["CPUExecutionProvider"])
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
