# Networks with loops and conditions, for networks.py. PyTorch's older exporter writes those of a script, the newer one
# torch.cond.
import torch
from torch import nn


@torch.jit.script
def root(size: torch.Tensor) -> torch.Tensor:
    y = size
    while bool((y * y - size).abs() > 1e-5):
        y = (y + size / y) * 0.5
    return y


@torch.jit.script
def grown(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    for k in range(5):
        if bool(x.sum() > 0):
            x = torch.tanh(x @ weight) + float(k)
        else:
            x = x * 0.5 - weight.sum()
    return x


class Loops(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 4)
        self.weight = nn.Parameter(torch.randn(4, 4))

    def forward(self, x):
        y = self.fc(x)
        return grown(y, self.weight), root(y.square().mean() + 1)


class Choice(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 4)
        self.second = nn.Linear(6, 4)

    def forward(self, x):
        size = x.square().mean()
        return torch.cond(size > 0.5, lambda v: torch.relu(self.first(v)) * size, lambda v: self.second(v) + 1, (x,))


networks = {
    "loops": (Loops, lambda: [torch.randn(3, 6)], ["x"], {}),
    "choice": (Choice, lambda: [torch.randn(3, 6)], ["x"], {}),
}
