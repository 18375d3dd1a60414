#!/usr/bin/env python3
"""Writes pytorch_models.txt: state dicts of small models of PyTorch, torchvision, and transformers, and what the models
make of an input.

    python3 tests/golden/pytorch_models.py > tests/golden/pytorch_models.txt     # needs all three; the tests need none

A line is `model name dtype shape elements...`. The name is one of the state dict, or `=` before the name of a result.
Element i of an image is ((7 i) mod 23 - 11) / 16, of numbers of words (5 i + 3) mod 11, of their types (i / 3) mod 2.
Parameters are rounded to sixteenths, which keeps the file small.
"""

import sys
import warnings

import torch
from torch import nn
from torchvision.models.resnet import BasicBlock
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel

warnings.filterwarnings("ignore")
torch.set_num_threads(1)


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 2, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(2)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = nn.Sequential(BasicBlock(2, 2))
        shortcut = nn.Sequential(nn.Conv2d(2, 4, 1, 2, bias=False), nn.BatchNorm2d(4))
        self.layer2 = nn.Sequential(BasicBlock(2, 4, 2, shortcut), BasicBlock(4, 4))
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        x = self.maxpool(torch.relu(self.bn1(self.conv1(x))))
        return self.fc(self.layer2(self.layer1(x)).mean((2, 3)))


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.embedding = nn.Embedding(11, 3)
        self.rnn = kind(3, 3, num_layers=2, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(6, 2)

    def forward(self, ids):
        return self.fc(self.rnn(self.embedding(ids))[0])


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 4)
        layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, ids):
        return self.encoder(self.embedding(ids))


class Transfer(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 2, 3, padding=1)
        self.fc = nn.Linear(8, 3)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 2)
        return self.fc(torch.max_pool2d(torch.relu(self.conv2(x)), 2).flatten(1))


def rounded(model):
    """Other parameters and statistics than a fresh model has, all of them sixteenths."""
    with torch.no_grad():
        for name, value in model.state_dict().items():
            if not value.is_floating_point():
                value.fill_(3)
                continue
            drawn = torch.randn(value.shape) * 0.4
            if "running_var" in name:
                drawn = drawn.abs() + 0.5
            elif value.dim() == 1 and (value == 1).all():  # a scale
                drawn = 1 + drawn / 2
            value.copy_((drawn * 16).round() / 16)
    return model.eval()


def image(*shape):
    count = torch.Size(shape).numel()
    return torch.tensor([((7 * i) % 23 - 11) / 16 for i in range(count)]).reshape(shape)


def ids(n, length):
    return torch.tensor([(5 * i + 3) % 11 for i in range(n * length)]).reshape(n, length)


def line(model, name, value):
    value = value.detach()
    elements = ["%.9g" % v for v in value.flatten().tolist()]
    shape = ",".join(map(str, value.shape)) or "-"
    print(model, name, str(value.dtype).removeprefix("torch."), shape, *elements)


def write(name, model, *inputs, results=lambda y: {"y": y}):
    for key, value in rounded(model).state_dict().items():
        line(name, key, value)
    with torch.no_grad():
        for key, value in results(model(*inputs)).items():
            line(name, "=" + key, value)


torch.manual_seed(0)
types = torch.tensor([[0, 0, 0, 1, 1, 1]])
gpt = GPT2Config(vocab_size=11, n_positions=6, n_embd=4, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
bert = BertConfig(
    vocab_size=11, hidden_size=4, num_hidden_layers=2, num_attention_heads=2, intermediate_size=8,
    max_position_embeddings=6,
)
write("transfer", Transfer(), image(2, 3, 8, 8))
write("resnet", ResNet(), image(2, 3, 16, 16))
write("gpt2", GPT2LMHeadModel(gpt), ids(1, 6), results=lambda y: {"y": y.logits})
write("bert", BertModel(bert), ids(1, 6), None, types,
      results=lambda y: {"y": y.last_hidden_state, "pooled": y.pooler_output})
write("lstm", Recurrent(nn.LSTM), ids(2, 5))
write("gru", Recurrent(nn.GRU), ids(2, 5))
write("encoder", Encoder(), ids(2, 5))
sys.stdout.flush()
