"""The transformer in PyTorch: fused attention, fused Adam, inference mode."""
import torch
import torch.nn.functional as F
from torch import nn

from harness.numbers import texts_of


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads)  # its parameters only: its own forward is slower
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads = heads

    def attend(self, x):
        count, length, width = x.shape
        packed = F.linear(x, self.attention.in_proj_weight, self.attention.in_proj_bias)
        q, k, v = (part.view(count, length, self.heads, -1).transpose(1, 2) for part in packed.split(width, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.attention.out_proj(y.transpose(1, 2).reshape(count, length, width))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, network):
        super().__init__()
        self.token, self.position = nn.Embedding(network.vocabulary, network.width), nn.Embedding(
            network.length, network.width
        )
        self.blocks = nn.ModuleList(Block(network.width, network.heads) for _ in range(network.layers))
        self.norm, self.head = nn.LayerNorm(network.width), nn.Linear(network.width, network.vocabulary)

    def forward(self, tokens):
        x = self.token(tokens) + self.position.weight
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def build(network, weights):
    net = Gpt(network)
    names = {"embedding_table": "weight", "gamma": "weight", "beta": "bias"}
    state = {}
    for name, value in weights.items():
        cell, _, kind = name.rpartition(".")
        state[f"{cell}.{names.get(kind, kind)}"] = torch.from_numpy(value)
    net.load_state_dict(state)
    return net


def work(network, weights, what, count, rival):
    x, y = (torch.from_numpy(text).long() for text in texts_of(network, count))
    if what == "forward":
        net = build(network, weights).eval()
        net = torch.compile(net) if rival == "compiled" else net

        @torch.inference_mode()
        def call():
            return net(x)

        return lambda: call().numpy().reshape(-1), call

    def start():
        net = build(network, weights)
        optimizer = torch.optim.Adam(net.parameters(), 1e-4, fused=True)

        def loss_of(x, y):
            with torch.autocast("cpu", torch.bfloat16, enabled=rival == "autocast"):
                return F.cross_entropy(net(x).view(-1, network.vocabulary), y.view(-1))

        loss_of = torch.compile(loss_of) if rival == "compiled" else loss_of

        def step():
            optimizer.zero_grad()
            loss = loss_of(x, y)
            loss.backward()
            optimizer.step()
            return loss

        return step

    return lambda: [step().item() for step in [start()] * 10], start()
