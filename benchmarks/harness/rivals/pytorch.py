"""PyTorch, eager or compiled."""
import torch
import torch.nn.functional as F
from torch import nn

from harness.numbers import batch_of, numbers, safetensors, some_of
from harness.plan import FLATTEN, MAX_POOL, RELU, Conv, Transformer
from harness.rivals import pytorch_gpt


def build(network, weights):
    """The network, with the memory format in which its convolutions are fastest."""
    layers = []
    for layer in network.layers:
        if layer in (RELU, MAX_POOL, FLATTEN):
            layers.append({RELU: nn.ReLU, MAX_POOL: lambda: nn.MaxPool2d(2), FLATTEN: nn.Flatten}[layer]())
            continue
        if isinstance(layer, Conv):
            made = nn.Conv2d(layer.inputs, layer.outputs, layer.kernel, padding=layer.padding)
        else:
            made = nn.Linear(layer.inputs, layer.outputs)
        made.load_state_dict({kind: torch.from_numpy(weights[f"{layer.name}.{kind}"]) for kind in ("weight", "bias")})
        layers.append(made)
    net = nn.Sequential(*layers)
    return net.to(memory_format=torch.channels_last) if len(network.sample) == 3 else net


def batch(network, count):
    x, y = map(torch.from_numpy, batch_of(network, count))
    return x.to(memory_format=torch.channels_last) if x.ndim == 4 else x, y.long()


def training(network, weights, count, compiled):
    x, y = batch(network, count)

    def start():
        net = build(network, weights)
        optimizer = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9, fused=True)

        def loss_of(x, y):
            return F.cross_entropy(net(x), y)

        loss_of = torch.compile(loss_of) if compiled else loss_of

        def step():
            optimizer.zero_grad()
            loss = loss_of(x, y)
            loss.backward()
            optimizer.step()
            return loss

        return step

    return lambda: [step().item() for step in [start()] * 10], start()


def forward(network, weights, count, compiled):
    x, _ = batch(network, count)
    net = build(network, weights).eval()
    net = torch.compile(net) if compiled else net

    @torch.inference_mode()
    def call():
        return net(x)

    return lambda: call().numpy().reshape(-1), call


def product(m, n, k):
    a, b = torch.from_numpy(numbers(m * k).reshape(m, k)), torch.from_numpy(numbers(k * n, 12345).reshape(k, n))
    c = torch.empty(m, n)

    @torch.inference_mode()
    def call():
        return torch.mm(a, b, out=c)

    return lambda: some_of(call().numpy()), call


def works(rival, group, threads, folder):
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)

    def make(name):
        parts = name.split("/")
        if parts[0] == "gemm":
            return product(*map(int, parts[1].split("x")))
        if isinstance(group.networks[parts[0]], Transformer):
            return pytorch_gpt.work(group.networks[parts[0]], safetensors(f"{folder}/{parts[0]}.safetensors"), parts[1], int(parts[2]), rival == "compiled")
        network, weights = group.networks[parts[0]], safetensors(f"{folder}/{parts[0]}.safetensors")
        return {"train": training, "forward": forward}[parts[1]](network, weights, int(parts[2]), rival == "compiled")

    return make
