"""The transformer in JAX: one jitted function per step, parameters and moments donated, Adam written out."""
import jax
import jax.numpy as jnp
import numpy as np

from harness.numbers import texts_of


def norm(p, name, x):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p[name + ".gamma"] + p[name + ".beta"]


def dense(p, name, x, weight=".weight", bias=".bias"):
    return x @ p[name + weight] + p[name + bias]


def attend(network, p, name, x):
    count, length, width = x.shape
    q, k, v = (
        part.reshape(count, length, network.heads, -1)
        for part in jnp.split(dense(p, name, x, ".in_proj_weight", ".in_proj_bias"), 3, -1)
    )
    return dense(
        p, name + ".out_proj", jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(count, length, width)
    )


def predict(network, p, tokens):
    x = p["token.embedding_table"][tokens] + p["position.embedding_table"]
    for i in range(network.layers):
        block = f"blocks.{i}"
        x = x + attend(network, p, block + ".attention", norm(p, block + ".norm1", x))
        x = x + dense(
            p, block + ".down", jax.nn.gelu(dense(p, block + ".up", norm(p, block + ".norm2", x)), approximate=True)
        )
    return dense(p, "head", norm(p, "norm", x))


def training_step(network, p, first, second, number, x, y):
    def loss_of(p):
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(predict(network, p, x)), y[..., None], -1))

    loss, gradients = jax.value_and_grad(loss_of)(p)
    number = number + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)
    rate = 1e-4 * jnp.sqrt(1 - 0.999**number) / (1 - 0.9**number)
    return (
        jax.tree.map(lambda w, m, v: w - rate * m / (jnp.sqrt(v) + 1e-8), p, first, second),
        first,
        second,
        number,
        loss,
    )


def parameters(weights):
    """Dense weights as [in, out], embedding tables as they are."""
    return {
        name: jnp.asarray(np.ascontiguousarray(value.T) if value.ndim == 2 and "embedding" not in name else value)
        for name, value in weights.items()
    }


def work(network, weights, what, count):
    x, y = map(jnp.asarray, texts_of(network, count))
    if what == "forward":
        p, run = parameters(weights), jax.jit(lambda p, x: predict(network, p, x))
        return lambda: np.asarray(run(p, x)).reshape(-1), lambda: run(p, x).block_until_ready()

    step = jax.jit(lambda *state_and_batch: training_step(network, *state_and_batch), donate_argnums=(0, 1, 2, 3))

    def start():
        p = parameters(weights)
        state = [p, jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p), jnp.float32(0)]

        def call():
            *state[:], loss = step(*state, x, y)
            jax.block_until_ready((state, loss))
            return loss

        return call

    return lambda: [float(call()) for call in [start()] * 10], start()
