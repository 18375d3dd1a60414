"""PyTorch: eager, eager in mixed precision ("autocast"), or compiled."""
import torch
import torch.nn.functional as F
from torch import nn

from harness import plan
from harness.isa import libraries_of, printed
from harness.numbers import batch_of, safetensors
from harness.plan import FLATTEN, MAX_POOL, MEAN, RELU, BatchNorm, Conv, Lstm, Transformer, TransformerLayer
from harness.rivals import pytorch_gpt, pytorch_kernels, pytorch_table, recurrent, transformer_layer


class Residual(nn.Module):
    def __init__(self, body, shortcut):
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, x):
        return self.body(x) + self.shortcut(x)


class Mean(nn.Module):
    def forward(self, x):
        return x.mean((2, 3))


PLAIN = {RELU: lambda: nn.ReLU(inplace=True), MAX_POOL: lambda: nn.MaxPool2d(2), FLATTEN: nn.Flatten, MEAN: Mean}
NAMES = {
    "weight": "weight",
    "bias": "bias",
    "gamma": "weight",
    "beta": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
}


def chain(layers, weights):
    made = []
    for layer in layers:
        if isinstance(layer, str):
            made.append(PLAIN[layer]())
            continue
        if isinstance(layer, Lstm):
            made.append(recurrent.torch_layer(layer, weights))
            continue
        if isinstance(layer, TransformerLayer):
            made.append(transformer_layer.torch_layer(layer, weights))
            continue
        if isinstance(layer, plan.Residual):
            made.append(Residual(chain(layer.body, weights), chain(layer.shortcut, weights)))
            continue
        if isinstance(layer, Conv):
            one = nn.Conv2d(layer.inputs, layer.outputs, layer.kernel, layer.stride, layer.padding, bias=layer.bias)
        elif isinstance(layer, BatchNorm):
            one = nn.BatchNorm2d(layer.channels)
        else:
            one = nn.Linear(layer.inputs, layer.outputs)
        state = {
            NAMES[kind]: torch.from_numpy(weights[f"{layer.name}.{kind}"])
            for kind in NAMES
            if f"{layer.name}.{kind}" in weights
        }
        one.load_state_dict(state, strict=not isinstance(layer, BatchNorm))  # we do not count batches
        made.append(one)
    return nn.Sequential(*made)


def build(network, weights):
    """The network, with the memory format in which its convolutions are fastest."""
    net = chain(network.layers, weights)
    return net.to(memory_format=torch.channels_last) if len(network.sample) == 3 else net


def batch(network, count):
    x, y = map(torch.from_numpy, batch_of(network, count))
    return x.to(memory_format=torch.channels_last) if x.ndim == 4 else x, y.long()


def training(network, weights, count, rival):
    x, y = batch(network, count)

    def start():
        net = build(network, weights)
        optimizer = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9, fused=True)

        def loss_of(x, y):
            with torch.autocast("cpu", torch.bfloat16, enabled=rival == "autocast"):
                return F.cross_entropy(net(x), y)

        loss_of = torch.compile(loss_of) if rival == "compiled" else loss_of

        def step():
            optimizer.zero_grad()
            loss = loss_of(x, y)
            loss.backward()
            optimizer.step()
            return loss

        return step

    return lambda: [step().item() for step in [start()] * 10], start()


def forward(network, weights, count, rival):
    x, _ = batch(network, count)
    net = build(network, weights).eval()
    net = torch.compile(net) if rival == "compiled" else net

    @torch.inference_mode()
    def call():
        return net(x)

    return lambda: call().numpy().reshape(-1), call


def isa(rival):
    """Of ATen's own loops, of MKL and oneDNN as they print it when they first compute, and of torch.compile."""
    with printed() as lines, torch.inference_mode(), torch.backends.mkl.verbose(1), torch.backends.mkldnn.verbose(1):
        torch.mm(torch.ones(8, 8), torch.ones(8, 8))
        F.conv2d(torch.ones(16, 16, 16, 16), torch.ones(16, 16, 3, 3))  # large enough for oneDNN
    told = [f"ATen {torch.backends.cpu.get_cpu_capability()}", *libraries_of(lines)]
    if rival == "compiled":
        from torch._inductor import config, cpu_vec_isa
        told.append(f"compiled for {cpu_vec_isa.pick_vec_isa()}, -march={config.cpp.march or 'native'}")
    return "; ".join(told)


LAYOUTS = (torch.channels_last, torch.contiguous_format)  # works of many shapes get the faster one


def works(rival, group, threads, folder):
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)

    def make(name):
        if group.rows:
            return pytorch_table.make(group.rows, name)
        parts = name.split("/")
        if parts[0] in pytorch_kernels.KINDS:
            return pytorch_kernels.make(name, LAYOUTS if group.program in ("random", "rows") else LAYOUTS[:1])
        if isinstance(group.networks[parts[0]], Transformer):
            return pytorch_gpt.work(
                group.networks[parts[0]],
                safetensors(f"{folder}/{parts[0]}.safetensors"),
                parts[1],
                int(parts[2]),
                rival,
            )
        network, weights = group.networks[parts[0]], safetensors(f"{folder}/{parts[0]}.safetensors")
        return {"train": training, "amp": training, "forward": forward}[parts[1]](
            network, weights, int(parts[2]), rival
        )

    return make
