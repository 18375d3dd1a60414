"""PyTorch on a GPU: eager ("gpu_eager"), the whole step as one CUDA graph ("gpu_graph"), or that of a compiled loss
("gpu_compiled"); with "_tf32" products and convolutions use tensor cores."""
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


def start_training(network, weights, count, rival):
    """A step, from the initial weights on."""
    net, (x, y) = network_of(network, weights), columns_of(network, count)
    if isinstance(network, Transformer):
        optimizer = torch.optim.Adam(net.parameters(), 1e-4, fused=True, capturable=True)
    else:
        optimizer = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9, foreach=True)

    def loss_of(x, y):
        logits = net(x)
        return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))

    loss_of = torch.compile(loss_of) if "compiled" in rival else loss_of

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(x, y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def training(network, weights, count, rival):
    step = start_training(network, weights, count, rival)
    check = [step().item() for _ in range(10)]
    return lambda: check, step if "eager" in rival else captured(step)


def forward(network, weights, count, rival):
    net, (x, _) = network_of(network, weights).eval(), columns_of(network, count)
    net = torch.compile(net) if "compiled" in rival else net

    @torch.no_grad()
    def call():
        return net(x)

    check = call().cpu().numpy().reshape(-1)
    return lambda: check, call if "eager" in rival else captured(call)


def isa(rival):
    return f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}"


def works(rival, group, threads, folder):
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = "tf32" in rival

    def make(name):
        network, what, count = name.split("/")
        weights = safetensors(f"{folder}/{network}.safetensors")
        return {"train": training, "forward": forward}[what](group.networks[network], weights, int(count), rival)

    return make
