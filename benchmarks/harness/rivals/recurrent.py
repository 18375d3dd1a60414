"""A layer of LSTM, of which the last output goes on, in each rival's terms. Frameworks are imported by whoever has
them."""

import numpy as np


def torch_layer(layer, weights):
    import torch

    class LastOutput(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = torch.nn.LSTM(layer.inputs, layer.hidden, batch_first=True)
            self.lstm.load_state_dict(
                {
                    name.removeprefix(layer.name + "."): torch.from_numpy(w)
                    for name, w in weights.items()
                    if name.startswith(layer.name + ".")
                }
            )

        def forward(self, x):
            return self.lstm(x)[0][:, -1]

    return LastOutput()


def jax_parameters(layer, weights):
    w_input, w_state, b_input, b_state = (
        weights[f"{layer.name}.{kind}_l0"] for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    return w_input.T, w_state.T, b_input, b_state


def jax_last(parameters, x):
    """x: [N, T, features]. The products with the input are one; the loop is a scan."""
    import jax
    import jax.numpy as jnp
    w_input, w_state, b_input, b_state = parameters
    projected = jnp.swapaxes(x @ w_input + (b_input + b_state), 0, 1)

    def step(state, from_input):
        h, c = state
        i, f, g, o = jnp.split(from_input + h @ w_state, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    zeros = jnp.zeros((x.shape[0], w_state.shape[0]), x.dtype)
    return jax.lax.scan(step, (zeros, zeros), projected)[0][0]


def onnx_nodes(layer, value, result, weights):
    """Nodes; replaces the layer's weights by those of ONNX, whose gates have the order i, o, f, g."""
    from onnx import helper
    own = {name: weights.pop(name) for name in list(weights) if name.startswith(layer.name + ".")}

    def ordered(kind):
        i, f, g, o = np.split(own[f"{layer.name}.{kind}_l0"], 4)
        return np.concatenate((i, o, f, g))

    names = [f"{layer.name}.{kind}" for kind in ("W", "R", "B")]
    weights |= zip(
        names,
        (
            ordered("weight_ih")[None],
            ordered("weight_hh")[None],
            np.concatenate((ordered("bias_ih"), ordered("bias_hh")))[None],
        ),
    )
    return [helper.make_node("Transpose", [value], [result + ".time"], perm=[1, 0, 2]),
            helper.make_node("LSTM", [result + ".time", *names], ["", result + ".last"], hidden_size=layer.hidden),
            helper.make_node("Flatten", [result + ".last"], [result], axis=2)]
