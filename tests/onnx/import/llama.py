# Language models as transformers' LLaMA, Qwen, and Gemma are written, for networks.py.
import torch
from torch import nn
from torch.nn import functional as F


class RMSNorm(nn.Module):
    def __init__(self, width, offset=0.0):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.offset = offset

    def forward(self, x):
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
        return x * (self.offset + self.weight) if self.offset else self.weight * x


def turned(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


class Attention(nn.Module):
    """Heads of queries share keys and values."""

    def __init__(self, width, heads, shared, has_norm):
        super().__init__()
        self.features, self.times = width // heads, heads // shared
        self.query, self.output = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.key, self.value = (nn.Linear(width, shared * self.features, bias=False) for _ in range(2))
        self.query_norm, self.key_norm = (RMSNorm(self.features) if has_norm else nn.Identity() for _ in range(2))

    def forward(self, x, cos, sin, mask):
        q, k, v = (f(x).view(*x.shape[:2], -1, self.features) for f in (self.query, self.key, self.value))
        q, k, v = self.query_norm(q).transpose(1, 2), self.key_norm(k).transpose(1, 2), v.transpose(1, 2)
        q, k = q * cos + turned(q) * sin, k * cos + turned(k) * sin
        n, shared, length, features = k.shape
        k, v = (y[:, :, None].expand(n, shared, self.times, length, features).reshape(n, -1, length, features)
                for y in (k, v))
        weights = torch.softmax(q @ k.transpose(2, 3) * features ** -0.5 + mask, -1)
        return self.output((weights @ v).transpose(1, 2).reshape(*x.shape[:2], -1))


class Layer(nn.Module):
    def __init__(self, width, heads, shared, has_norm):
        super().__init__()
        self.input_norm, self.output_norm = RMSNorm(width), RMSNorm(width, 1.0)
        self.attention = Attention(width, heads, shared, has_norm)
        self.gate, self.up = nn.Linear(width, 48, bias=False), nn.Linear(width, 48, bias=False)
        self.down = nn.Linear(48, width, bias=False)

    def forward(self, x, cos, sin, mask):
        x = x + self.attention(self.input_norm(x), cos, sin, mask)
        y = self.output_norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, shared=2, has_norm=False):
        super().__init__()
        self.words = nn.Embedding(50, 32)
        self.layers = nn.ModuleList(Layer(32, 4, shared, has_norm) for _ in range(2))
        self.norm, self.head = RMSNorm(32), nn.Linear(32, 50, bias=False)
        self.register_buffer("frequency", 100.0 ** (-torch.arange(0, 8, 2) / 8), persistent=False)

    def forward(self, text):
        places = torch.arange(text.size(1))
        angles = places[None, None, :, None].float() * self.frequency
        angles = torch.cat((angles, angles), dim=-1)
        mask = torch.where(places <= places[:, None], 0.0, torch.finfo(torch.float32).min)
        x = self.words(text)
        for layer in self.layers:
            x = layer(x, angles.cos(), angles.sin(), mask)
        return self.head(self.norm(x))


def text():
    return [torch.randint(0, 50, (2, 16))]


networks = {
    "llama": (Llama, text, ["text"], {}),
    "qwen": (lambda: Llama(1, True), text, ["text"], {}),
}
