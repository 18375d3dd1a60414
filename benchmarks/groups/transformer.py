"""Layers of transformers on 64 places of width 256, and a dense layer on all of them: steps of training, forward
passes. A decoder attends to its own input."""
from harness.plan import FLATTEN, Dense, GeometricMean, Group, Network, TransformerLayer, Work

LENGTH, WIDTH, HEADS, HIDDEN, CLASSES = 64, 256, 4, 1024, 10
SIZES = (1, 4, 16)


def network(decoder):
    layer = TransformerLayer("layer", WIDTH, HEADS, HIDDEN, decoder)
    return Network((LENGTH, WIDTH), CLASSES, (layer, FLATTEN, Dense("fc", LENGTH * WIDTH, CLASSES)))


def operations(decoder):
    """Of one sample's forward pass: four matrices of width^2 and scores and values for each attention, two matrices
    between width and hidden, the dense layer."""
    attention = LENGTH * (4 * WIDTH**2 + 2 * LENGTH * WIDTH)
    return 2 * ((2 if decoder else 1) * attention + LENGTH * WIDTH * (2 * HIDDEN + CLASSES))


def works(name, decoder):
    return [
        Work(f"{name}/{what}/{n}", f"Transformer{name.capitalize()}Layer {what}, N = {n}", ("pytorch",), ("graph",),
             flops=times * n * operations(decoder))
        for what, times in (("forward", 1), ("train", 3))
        for n in SIZES
    ]


WORKS = (*works("encoder", False), *works("decoder", True))

GROUP = Group(
    "transformer",
    WORKS,
    (GeometricMean("op/", "layers of transformers", tuple(work.name for work in WORKS), "pytorch", 1.3, least=0.8,
                   middle="median"),),
    networks={"encoder": network(False), "decoder": network(True)},
)
