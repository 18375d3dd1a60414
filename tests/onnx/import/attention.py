# Networks with PyTorch's own attention, for networks.py.
import torch
from torch import nn


class Encoder(nn.Module):
    """A classifier of texts. Its attention has the steps first inside, as PyTorch computes it."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.position = nn.Embedding(12, 16)
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(16), enable_nested_tensor=False)
        self.head = nn.Linear(16, 5)

    def forward(self, text):
        x = self.embedding(text) + self.position(torch.arange(text.size(1)))
        return self.head(self.encoder(x)[:, 0])


class Causal(nn.Module):
    """A language model: normalization first, a mask, texts with the steps first."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, norm_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(12))
        self.register_buffer("places", torch.randn(12, 1, 16))
        self.head = nn.Linear(16, 50)

    def forward(self, text):
        x = self.embedding(text) * 4 + self.places
        return self.head(self.encoder(x, mask=self.mask, is_causal=True))


class Decoder(nn.Module):
    """Reads a memory, with the steps first."""

    def __init__(self):
        super().__init__()
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 4, 24), 2)
        self.head = nn.Linear(16, 3)

    def forward(self, x, memory):
        y = self.decoder(x, memory)
        return self.head(y), self.head(y[-1]), y.mean(0)


class Attention(nn.Module):
    """Attention alone: of three tensors, without biases; of one, with a mask."""

    def __init__(self):
        super().__init__()
        self.cross = nn.MultiheadAttention(16, 4, bias=False, batch_first=True)
        self.own = nn.MultiheadAttention(16, 2, batch_first=True)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(7))

    def forward(self, x, y, z):
        a, _ = self.cross(x, y, z, need_weights=False)
        b, _ = self.own(a, a, a, attn_mask=self.mask)
        return a + b


class MaskedLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x, mask):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.query, self.key, self.value))
        weights = torch.softmax(q @ k.transpose(2, 3) * q.size(-1) ** -0.5 + mask, -1)
        return x + self.output((weights @ v).transpose(1, 2).flatten(2))


class Masked(nn.Module):
    """Masks and positions as transformers' networks make them: of constants, by the shape of an input."""

    def __init__(self):
        super().__init__()
        self.words, self.types, self.distances = nn.Embedding(50, 16), nn.Embedding(2, 16), nn.Embedding(8, 4)
        self.layers = nn.ModuleList(MaskedLayer(16, 4) for _ in range(2))

    def forward(self, text, shown):
        places = torch.arange(text.size(1))
        samples = torch.arange(text.size(0))[:, None, None, None]
        seen = (places <= places[:, None]) & shown.bool()[samples, places[None, None, None]]
        mask = torch.where(seen, 0.0, torch.finfo(torch.float32).min)
        bias = self.distances(torch.clamp(places[:, None] - places, 0, 7)).permute(2, 0, 1)[None]
        x = self.words(text) + self.types(torch.zeros(text.shape, dtype=torch.int64))
        for layer in self.layers:
            x = layer(x, bias + mask)
        return x


networks = {
    "masked": (Masked, lambda: [torch.randint(0, 50, (2, 12)), (torch.arange(12) < torch.tensor([[12], [7]])).long()],
               ["text", "shown"], {}),
    "encoder": (Encoder, lambda: [torch.randint(0, 50, (2, 12))], ["text"], {}),
    "causal": (Causal, lambda: [torch.randint(0, 50, (12, 2))], ["text"], {}),
    "decoder": (Decoder, lambda: [torch.randn(7, 2, 16), torch.randn(5, 2, 16)], ["x", "memory"], {}),
    "attention": (Attention, lambda: [torch.randn(2, 7, 16), torch.randn(2, 5, 16), torch.randn(2, 5, 16)],
                  ["x", "y", "z"], {}),
}
steps_first = {"causal", "decoder"}
