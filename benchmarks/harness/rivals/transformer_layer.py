"""A layer of a transformer in PyTorch."""
import torch
from torch import nn


class Decoder(nn.Module):
    """A decoder that attends to its own input."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x, x)


def torch_layer(layer, weights):
    kind = nn.TransformerDecoderLayer if layer.decoder else nn.TransformerEncoderLayer
    made = kind(layer.width, layer.heads, layer.hidden, dropout=0, batch_first=True)
    names = {"gamma": "weight", "beta": "bias"}
    state = {}
    for name, value in weights.items():
        if name.startswith(layer.name + "."):
            cell, _, last = name.removeprefix(layer.name + ".").replace("dense", "linear").rpartition(".")
            state[f"{cell}.{names.get(last, last)}"] = torch.from_numpy(value)
    made.load_state_dict(state)
    return Decoder(made) if layer.decoder else made
