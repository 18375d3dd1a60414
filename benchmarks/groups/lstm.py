"""A layer of LSTM with 128 units over 64 steps of 32 or 128 features, and a dense layer on its last output."""
from harness.plan import Bar, Dense, Group, Lstm, Network, Work

STEPS, HIDDEN, CLASSES = 64, 128, 10


def network(features):
    return Network((STEPS, features), CLASSES, (Lstm("lstm", features, HIDDEN), Dense("fc", HIDDEN, CLASSES)))


def operations(features, training):
    """Per sample: products with both weights; training has gradients of both and of the state, none of its input."""
    return 2 * STEPS * 4 * HIDDEN * ((2 * features + 3 * HIDDEN) if training else features + HIDDEN)


def train(features, batch):
    return Work(
        f"lstm{features}/train/{batch}",
        f"LSTM {features}-{HIDDEN} training step, T = {STEPS}, N = {batch}",
        ("pytorch", "jax"),
        flops=batch * operations(features, True),
        bars=(Bar("17", "best", 1.5, 3),),
    )


def forward(features, batch, *bars):
    return Work(
        f"lstm{features}/forward/{batch}",
        f"LSTM {features}-{HIDDEN} forward, T = {STEPS}, N = {batch}",
        ("onnxruntime", "pytorch", "jax"),
        flops=batch * operations(features, False),
        bars=bars,
    )


GROUP = Group("lstm", tuple(
    work for features in (32, 128)
    for work in (train(features, 32), forward(features, 32), forward(features, 1, Bar("17", "onnxruntime", 3, 8)))),
    networks={f"lstm{features}": network(features) for features in (32, 128)})
