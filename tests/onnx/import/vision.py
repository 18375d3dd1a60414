# Transformers of images, as timm has them, for networks.py.
import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    """Queries, keys, and values of one product; `windows`: [n, windows, T, C]."""

    def __init__(self, width, heads, windows=False):
        super().__init__()
        self.heads, self.windows = heads, windows
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        *leading, width = x.shape
        x = self.qkv(x).reshape(*leading, 3, self.heads, width // self.heads)
        if self.windows:
            q, k, v = x.permute(3, 0, 4, 1, 2, 5).unbind(0)
            x = ((q * k.shape[-1] ** -0.5) @ k.transpose(-2, -1)).softmax(-1) @ v
            x = x.permute(0, 2, 3, 1, 4)
        else:
            q, k, v = x.permute(2, 0, 3, 1, 4)
            x = F.scaled_dot_product_attention(q, k, v).transpose(1, 2)
        return self.proj(x.reshape(*leading, width))


class Channels(nn.Module):
    """Attention among channels, of queries and keys of length 1, with the values between the heads."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.temperature = nn.Parameter(torch.ones(heads, 1, 1))
        self.qkv = nn.Linear(width, 3 * width, bias=False)

    def forward(self, x):
        n, steps, width = x.shape
        q, k, v = self.qkv(x).reshape(n, steps, self.heads, 3, -1).permute(3, 0, 2, 4, 1).unbind(0)
        weights = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1) * self.temperature
        return (weights.softmax(-1) @ v).permute(0, 3, 1, 2).reshape(n, steps, width)


class Relative(nn.Module):
    """Attention over an image, with a bias for each distance; parts of other widths."""

    def __init__(self, width, heads, side):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Conv2d(width, 3 * width, 1)
        self.biases = nn.Parameter(torch.randn(heads, side * side))
        places = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")).flatten(1)
        far = (places[:, :, None] - places[:, None]).abs()
        self.register_buffer("numbers", far[0] * side + far[1])

    def forward(self, x):
        n, width, h, w = x.shape
        q, k, v = self.qkv(x).view(n, self.heads, -1, h * w).split([width // self.heads] * 3, 2)
        weights = (q.transpose(-2, -1) @ k * 0.25 + self.biases[:, self.numbers]).softmax(-1)
        return (v @ weights.transpose(-2, -1)).reshape(n, width, h, w)


class Vision(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 8, 8)
        self.relative = Relative(16, 2, 4)
        self.token = nn.Parameter(torch.randn(1, 1, 16))
        self.own = Attention(16, 4)
        self.channels = Channels(16, 2)
        self.inner = Attention(16, 2, windows=True)
        self.norm = nn.LayerNorm(16)

    def forward(self, x):
        x = self.patches(x)
        x = (x + self.relative(x)).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1)
        x = x + self.own(self.norm(x))
        x = x + self.channels(x)
        inside = x[:, 1:].reshape(x.shape[0], 2, 2, 2, 2, 16).transpose(2, 3).reshape(x.shape[0], 4, 4, 16)
        return x[:, 0], self.inner(inside)


networks = {"vision": (Vision, lambda: [torch.randn(2, 3, 32, 32)], ["image"], {})}
