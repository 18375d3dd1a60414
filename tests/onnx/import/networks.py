# Writes networks as PyTorch's exporters write them: `networks.py FOLDER [NAME...]`. FOLDER gets NAME.onnx, and
# NAME.npz with inputs x0, x1, ... and PyTorch's outputs y0, y1, ...; NAME_new.onnx is of the exporter that is the
# default since PyTorch 2.9.
import sys
import warnings

import attention
import control
import llama
import vision
import numpy
import torch
from torch import nn
from torch.nn import functional as F


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 3))

    def forward(self, x):
        return self.net(x)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.view(x.size(0), -1)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


class BasicBlock(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.downsample = None
        if stride != 1 or before != after:
            self.downsample = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet18(nn.Module):
    """torchvision's resnet18; `width` is 64 there."""

    def __init__(self, width=64, classes=1000):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        sizes = [width, width, 2 * width, 4 * width, 8 * width]
        for k in range(4):
            first = BasicBlock(sizes[k], sizes[k + 1], 1 if k == 0 else 2)
            setattr(self, f"layer{k + 1}", nn.Sequential(first, BasicBlock(sizes[k + 1], sizes[k + 1], 1)))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(8 * width, classes)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 4, 3, 2, 1)
        self.blocks = nn.Sequential(BasicBlock(4, 4, 1), BasicBlock(4, 4, 1), BasicBlock(4, 6, 2), BasicBlock(6, 6, 1))
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        return F.log_softmax(self.head(self.blocks(F.relu(self.stem(x))).mean((2, 3))), 1)


class InvertedResidual(nn.Module):
    """As torchvision's of MobileNet V2."""

    def __init__(self, before, after, stride, expand):
        super().__init__()
        hidden = before * expand
        layers = [] if expand == 1 else [self.layer(before, hidden, 1)]
        layers += [self.layer(hidden, hidden, 3, stride, hidden), nn.Conv2d(hidden, after, 1, bias=False),
                   nn.BatchNorm2d(after)]
        self.conv = nn.Sequential(*layers)
        self.residual = stride == 1 and before == after

    @staticmethod
    def layer(before, after, kernel, stride=1, groups=1):
        return nn.Sequential(nn.Conv2d(before, after, kernel, stride, kernel // 2, groups=groups, bias=False),
                             nn.BatchNorm2d(after), nn.ReLU6(inplace=True))

    def forward(self, x):
        return x + self.conv(x) if self.residual else self.conv(x)


class MobileNet(nn.Module):
    def __init__(self, rows=((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 2, 2)), classes=10):
        super().__init__()
        layers, before = [InvertedResidual.layer(3, 32, 3, 2)], 32
        for expand, after, count, stride in rows:
            for i in range(count):
                layers.append(InvertedResidual(before, after, stride if i == 0 else 1, expand))
                before = after
        layers.append(InvertedResidual.layer(before, 128, 1))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(128, classes))

    def forward(self, x):
        x = self.features(x)
        return self.classifier(torch.flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1))


class DoubleConv(nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(),
                                 nn.Conv2d(after, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU())

    def forward(self, x):
        return self.net(x)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1 = DoubleConv(1, 8)
        self.down2 = DoubleConv(8, 16)
        self.bottom = DoubleConv(16, 32)
        self.pool = nn.MaxPool2d(2)
        self.enlarge2 = nn.ConvTranspose2d(32, 16, 2, 2)
        self.up2 = DoubleConv(32, 16)
        self.enlarge1 = nn.ConvTranspose2d(16, 8, 2, 2)
        self.up1 = DoubleConv(16, 8)
        self.output = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        x1 = self.down1(x)
        x2 = self.down2(self.pool(x1))
        x3 = self.bottom(self.pool(x2))
        x = self.up2(torch.cat([x2, self.enlarge2(x3)], 1))
        return self.output(self.up1(torch.cat([x1, self.enlarge1(x)], 1)))


class Lstm(nn.Module):
    """Reads a text of 12 words, in two layers and in both directions."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.lstm = nn.LSTM(16, 24, 2, batch_first=True)
        self.both = nn.LSTM(24, 12, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(24, 5)

    def forward(self, text):
        x, _ = self.lstm(self.embedding(text))
        x, (h, c) = self.both(x)
        return self.fc(x[:, -1])


class Gru(nn.Module):
    """Reads also the last state of the upper layer."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.gru = nn.GRU(16, 12, 2, batch_first=True)
        self.both = nn.GRU(12, 12, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(24, 12)

    def forward(self, text):
        x, h = self.gru(self.embedding(text))
        x, _ = self.both(x)
        return self.fc(x).mean(1) + h[-1]


class CausalAttention(nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.register_buffer("mask", torch.tril(torch.ones(length, length)).view(1, 1, length, length))

    def forward(self, x):
        n, t, c = x.size()
        q, k, v = self.qkv(x).split(c, dim=2)
        q = q.view(n, t, self.heads, c // self.heads).transpose(1, 2)
        k = k.view(n, t, self.heads, c // self.heads).transpose(1, 2)
        v = v.view(n, t, self.heads, c // self.heads).transpose(1, 2)
        scores = (q @ k.transpose(-2, -1)) * (1.0 / (k.size(-1) ** 0.5))
        scores = scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        y = F.softmax(scores, dim=-1) @ v
        return self.proj(y.transpose(1, 2).contiguous().view(n, t, c))


class GptBlock(nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = CausalAttention(width, heads, length)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    """minGPT."""

    def __init__(self, words=65, width=32, heads=4, length=64, layers=3):
        super().__init__()
        self.wte = nn.Embedding(words, width)
        self.wpe = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(GptBlock(width, heads, length) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, words, bias=False)

    def forward(self, text):
        places = torch.arange(0, text.size(1), dtype=torch.long).unsqueeze(0)
        x = self.wte(text) + self.wpe(places)
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.ln_f(x))


class BertAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.dense = nn.Linear(width, width)

    def split(self, x):
        return x.view(*x.shape[:-1], self.heads, -1).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        scores = self.split(self.query(x)) @ self.split(self.key(x)).transpose(-1, -2)
        scores = scores / (x.shape[-1] // self.heads) ** 0.5 + mask
        y = torch.softmax(scores, -1) @ self.split(self.value(x))
        y = y.permute(0, 2, 1, 3)
        return self.dense(y.reshape(*y.shape[:-2], -1))


class BertLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = BertAttention(width, heads)
        self.norm1 = nn.LayerNorm(width, eps=1e-12)
        self.intermediate = nn.Linear(width, 4 * width)
        self.output = nn.Linear(4 * width, width)
        self.norm2 = nn.LayerNorm(width, eps=1e-12)

    def forward(self, x, mask):
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.output(F.gelu(self.intermediate(x))))


class BertEmbeddings(nn.Module):
    def __init__(self, words, width, length):
        super().__init__()
        self.word_embeddings = nn.Embedding(words, width)
        self.position_embeddings = nn.Embedding(length, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.register_buffer("position_ids", torch.arange(length).expand((1, -1)))

    def forward(self, text):
        return self.norm(self.word_embeddings(text) + self.position_embeddings(self.position_ids[:, : text.shape[1]]))


class Bert(nn.Module):
    """An encoder as that of transformers' BertModel, with its pooler."""

    def __init__(self, words=100, width=32, heads=2, length=32, layers=2):
        super().__init__()
        self.embeddings = BertEmbeddings(words, width, length)
        self.layer = nn.ModuleList(BertLayer(width, heads) for _ in range(layers))
        self.pooler = nn.Linear(width, width)

    def forward(self, text, attention_mask):
        mask = (1.0 - attention_mask[:, None, None, :].float()) * -10000.0
        x = self.embeddings(text)
        for layer in self.layer:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler(x[:, 0]))


class Generator(nn.Module):
    """As networks that make images: norms of groups and instances, borders, pixels from channels."""

    def __init__(self):
        super().__init__()
        self.head = nn.Conv2d(3, 8, 3, padding=1, padding_mode="reflect")
        self.norm = nn.GroupNorm(2, 8)
        self.border = nn.ReplicationPad2d((1, 2, 0, 1))
        self.instance = nn.InstanceNorm2d(8, affine=True)
        self.plain = nn.InstanceNorm2d(8)
        self.shuffle = nn.PixelShuffle(2)

    def forward(self, x):
        y = F.mish(self.norm(self.plain(self.head(x))))
        y = self.instance(self.border(y))
        y = self.shuffle(F.pad(y, (1, 0, 2, 1), value=-1.0))
        part = y.flip(3)[:, :, ::3, 1::2]
        line = part.mean(3)
        best = torch.gather(line, 2, line.argmax(2, keepdim=True))
        return part, torch.einsum("nchw,ndhw->ncd", y, y) / 72**2, best, F.one_hot(line.argmax(2), 24).float()


def text(words, length, n=2):
    return torch.randint(0, words, (n, length))


networks = {
    "mlp": (Mlp, lambda: [torch.randn(2, 4)], ["x"], {}),
    "lenet": (LeNet, lambda: [torch.randn(2, 1, 28, 28)], ["image"], {}),
    "resnet18": (ResNet18, lambda: [torch.randn(2, 3, 64, 64)], ["image"], {}),
    "resnet_small": (lambda: ResNet18(8, 10), lambda: [torch.randn(2, 3, 32, 32)], ["image"], {}),
    "mobilenet": (MobileNet, lambda: [torch.randn(2, 3, 32, 32)], ["image"], {}),
    "small": (Small, lambda: [torch.randn(2, 1, 8, 8)], ["image"], {}),
    "unet": (UNet, lambda: [torch.randn(2, 1, 32, 32)], ["image"], {}),
    "generator": (Generator, lambda: [torch.randn(2, 3, 32, 32)], ["image"], {}),
    "lstm": (Lstm, lambda: [text(50, 12)], ["text"], {}),
    "gru": (Gru, lambda: [text(50, 12)], ["text"], {}),
    "gpt": (Gpt, lambda: [text(65, 16)], ["text"], {1: "seq"}),
    "bert": (Bert, lambda: [text(100, 16), torch.ones(2, 16, dtype=torch.long)], ["text", "mask"], {1: "seq"}),
    **attention.networks,
    **control.networks,
    **llama.networks,
    **vision.networks,
}


def export(name, folder):
    make, inputs, names, dynamic = networks[name]
    torch.manual_seed(1)
    net = make()
    for module in net.modules():  # as after a training
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5), nn.init.normal_(module.bias)
            nn.init.normal_(module.running_mean), nn.init.uniform_(module.running_var, 0.5, 1.5)
        if isinstance(module, (nn.GroupNorm, nn.InstanceNorm2d)) and module.affine:
            nn.init.uniform_(module.weight, 0.5, 1.5), nn.init.normal_(module.bias)
    if name in attention.networks or name in llama.networks:
        for parameter in net.parameters():
            nn.init.normal_(parameter, std=0.3)
    net.eval()
    x = inputs()
    with torch.no_grad():
        y = net(*x)
    y = y if isinstance(y, tuple) else (y,)
    first = name not in attention.steps_first
    axes = {0 if first else 1: "batch", **dynamic}
    results = [f"y{k}" for k in range(len(y))]
    if name != "choice":  # the older exporter has no torch.cond, the newer one no scripts
        torch.onnx.export(net, tuple(x), f"{folder}/{name}.onnx", opset_version=17, dynamo=False, input_names=names,
                          output_names=results, dynamic_axes={k: axes for k in names})
    dims = {k: torch.export.Dim.DYNAMIC for k in axes}
    if name != "loops":
        torch.onnx.export(net, tuple(x), f"{folder}/{name}_new.onnx", dynamo=True, verbose=False, input_names=names,
                          output_names=results, dynamic_shapes=[dims] * len(x), external_data=False)
    arrays = {f"x{k}": v for k, v in enumerate(x)} | {f"y{k}": v for k, v in enumerate(y)}
    if not first:  # the header takes and returns the samples first
        arrays = {k: v.transpose(0, 1) if v.shape[0] != 2 else v for k, v in arrays.items()}
    numpy.savez(f"{folder}/{name}.npz", **{k: v.contiguous().numpy() for k, v in arrays.items()})


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    for name in sys.argv[2:] or networks:
        export(name, sys.argv[1])
