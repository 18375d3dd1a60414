"""GPT-mini: a decoder-only transformer of 4 pre-norm blocks on 128 letters; steps of training with Adam, in mixed
precision too, and forward passes."""

from harness.plan import Bar, Group, Transformer, Work

GPT = Transformer(layers=4, length=128, width=256, heads=4, vocabulary=65)

# Products of one sample's forward pass: four matrices of width^2 and two of 4 width^2 per position, scores and values,
# the head.
FORWARD = 2 * GPT.length * (GPT.layers * (12 * GPT.width**2 + 2 * GPT.length * GPT.width) + GPT.width * GPT.vocabulary)

GROUP = Group(
    "gpt",
    (
        Work(
            "gpt/train/4",
            "GPT-mini training step, N = 4",
            ("pytorch", "compiled", "jax"),
            flops=3 * FORWARD * 4,
            bars=(Bar("15", "best", 1.0, 1.45),),
        ),
        Work(
            "gpt/amp/4",
            "GPT-mini training step in mixed precision, N = 4",
            ("autocast",),
            flops=3 * FORWARD * 4,
            tolerance=1e-2,
            bars=(Bar("15", "autocast", 1.2, 2.2),),
        ),
        Work("gpt/forward/1", "GPT-mini forward, N = 1", ("pytorch", "compiled", "jax"), flops=FORWARD),
    ),
    networks={"gpt": GPT},
)
