"""PyTorch on a GPU: eager ("gpu_eager"), the whole step as one CUDA graph ("gpu_graph"), that of a compiled loss
("gpu_compiled"), or that of one whose kernels were tuned ("gpu_tuned"). With "_tf32" products and convolutions use
tensor cores; works of mixed precision ("gpt/amp/4") compute in bfloat16."""
import torch
import torch.nn.functional as F

from harness.numbers import batch_of, safetensors, texts_of
from harness.plan import Transformer
from harness.rivals import pytorch, pytorch_gpt

WARM_UP = 3


def wait():
    torch.cuda.synchronize()


def captured(call):
    """The call as a CUDA graph, and what its last result is."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UP):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = call()
    return lambda: (graph.replay(), result)[1]


def network_of(network, weights):
    build = pytorch_gpt.build if isinstance(network, Transformer) else pytorch.chain
    layers = network if isinstance(network, Transformer) else network.layers
    return build(layers, weights).cuda()


def columns_of(network, count):
    x, y = (texts_of if isinstance(network, Transformer) else batch_of)(network, count)
    x, y = torch.from_numpy(x).cuda(), torch.from_numpy(y).long().cuda()
    return (x.long(), y) if isinstance(network, Transformer) else (x, y)


def compiled(function, rival):
    """The function as the rival's name asks for it. Each step is captured afterwards, so without CUDA graphs."""
    if "tuned" in rival:
        return torch.compile(function, mode="max-autotune-no-cudagraphs")
    return torch.compile(function) if "compiled" in rival else function


def start_training(network, weights, count, rival, mixed=False):
    """A step, from the initial weights on."""
    net, (x, y) = network_of(network, weights), columns_of(network, count)
    if isinstance(network, Transformer):
        optimizer = torch.optim.Adam(net.parameters(), 1e-4, fused=True, capturable=True)
    else:
        optimizer = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9, foreach=True)

    def loss_of(x, y):
        with torch.autocast("cuda", torch.bfloat16, enabled=mixed, cache_enabled=False):
            logits = net(x).float()
        return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))

    loss_of = compiled(loss_of, rival)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(x, y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def training(network, weights, count, rival, mixed=False):
    step = start_training(network, weights, count, rival, mixed)
    check = [step().item() for _ in range(10)]
    return lambda: check, step if "eager" in rival else captured(step)


def forward(network, weights, count, rival):
    net, (x, _) = network_of(network, weights).eval(), columns_of(network, count)
    net = compiled(net, rival)

    @torch.no_grad()
    def call():
        return net(x)

    check = call().cpu().numpy().reshape(-1)
    return lambda: check, call if "eager" in rival else captured(call)


def mixed_training(network, weights, count, rival):
    return training(network, weights, count, rival, mixed=True)


def isa(rival):
    return f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}"


def works(rival, group, threads, folder):
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = "tf32" in rival

    def make(name):
        network, what, count = name.split("/")
        weights = safetensors(f"{folder}/{network}.safetensors")
        start = {"train": training, "amp": mixed_training, "forward": forward}[what]
        return start(group.networks[network], weights, int(count), rival)

    return make
