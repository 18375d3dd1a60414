"""JAX: one jitted function per step, images with the channels last, parameters donated."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from harness.isa import of_environment
from harness.numbers import batch_of, safetensors
from harness.plan import FLATTEN, MAX_POOL, RELU, Conv, Dense, Lstm, Transformer
from harness.rivals import jax_gpt, recurrent


def parameters(network, weights):
    """Pairs of weight and bias in JAX's layouts."""
    result, shape, flattened = [], network.sample, None
    for layer in network.layers:
        if layer == MAX_POOL:
            shape = (shape[0], shape[1] // 2, shape[2] // 2)
        elif layer == FLATTEN:
            flattened = shape
        elif isinstance(layer, Conv):
            shrink = layer.kernel - 1 - 2 * layer.padding
            shape = (layer.outputs, shape[1] - shrink, shape[2] - shrink)
            result.append((weights[layer.name + ".weight"].transpose(2, 3, 1, 0), weights[layer.name + ".bias"]))
        elif isinstance(layer, Dense):
            weight = weights[layer.name + ".weight"].T
            if flattened:  # here the channels come last
                weight = weight.reshape(*flattened, -1).transpose(1, 2, 0, 3).reshape(layer.inputs, -1)
                flattened = None
            result.append((weight, weights[layer.name + ".bias"]))
        elif isinstance(layer, Lstm):
            result.append(recurrent.jax_parameters(layer, weights))
    return [tuple(jnp.asarray(np.ascontiguousarray(w)) for w in own) for own in result]


def predict(network, p, x):
    p = iter(p)
    for layer in network.layers:
        if layer == RELU:
            x = jax.nn.relu(x)
        elif layer == MAX_POOL:
            x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        elif layer == FLATTEN:
            x = x.reshape(x.shape[0], -1)
        elif isinstance(layer, Lstm):
            x = recurrent.jax_last(next(p), x)
        elif isinstance(layer, Conv):
            weight, bias = next(p)
            x = (
                lax.conv_general_dilated(
                    x, weight, (1, 1), [(layer.padding, layer.padding)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC")
                )
                + bias
            )
        else:
            weight, bias = next(p)
            x = x @ weight + bias
    return x


def training_step(network, p, moments, x, y):
    def loss_of(p):
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(predict(network, p, x)), y[:, None], -1))

    loss, gradients = jax.value_and_grad(loss_of)(p)
    moments = jax.tree.map(lambda m, g: 0.9 * m + g, moments, gradients)
    return jax.tree.map(lambda v, m: v - 0.01 * m, p, moments), moments, loss


def isa(rival):
    """XLA reports nothing: what it was told."""
    return of_environment("XLA_FLAGS")


def works(rival, group, threads, folder):
    def make(name):
        network_name, what, batch = name.split("/")
        network, weights = group.networks[network_name], safetensors(f"{folder}/{network_name}.safetensors")
        if isinstance(network, Transformer):
            return jax_gpt.work(network, weights, what, int(batch))
        x, y = batch_of(network, int(batch))
        x = jnp.asarray(x.transpose(0, 2, 3, 1) if x.ndim == 4 else x)
        if what == "forward":
            p, run = parameters(network, weights), jax.jit(lambda p, x: predict(network, p, x))
            return lambda: np.asarray(run(p, x)).reshape(-1), lambda: run(p, x).block_until_ready()

        # x and y are arguments, else XLA would fold what depends on them alone.
        step = jax.jit(lambda *state_and_batch: training_step(network, *state_and_batch), donate_argnums=(0, 1))
        y = jnp.asarray(y)

        def start():
            p = parameters(network, weights)
            state = [p, jax.tree.map(jnp.zeros_like, p)]

            def call():
                state[0], state[1], loss = step(state[0], state[1], x, y)
                jax.block_until_ready((state, loss))
                return loss

            return call

        return lambda: [float(call()) for call in [start()] * 10], start()

    return make
