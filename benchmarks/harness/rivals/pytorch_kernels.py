"""PyTorch's single operators, by the names of their works."""
import time

import torch
import torch.nn.functional as F

from harness.numbers import numbers, some_of
from harness.plan import convolution, numbers_in

SECOND, THIRD = 12345, 54321  # where in the sequence of numbers these operands begin


layout = torch.channels_last  # of images and kernels


def operand(shape, first=0, dtype=torch.float32):
    count = 1
    for extent in shape:
        count *= extent
    tensor = torch.from_numpy(numbers(count, first)).reshape(shape).to(dtype)
    return tensor.contiguous(memory_format=layout) if len(shape) == 4 else tensor


def product(name):
    m, n, k = numbers_in(name)
    dtype = torch.bfloat16 if name.startswith("gemm_bf16/") else torch.float32
    a, b, c = operand((m, k), 0, dtype), operand((k, n), SECOND, dtype), torch.empty(m, n, dtype=dtype)
    return lambda: torch.mm(a, b, out=c)


def conv(name):
    s, what = convolution(name), name.split("/")[1]
    image, weight, result = (s.n, *s.image), s.weight, (s.n, *s.result)
    if what == "forward":
        x, w = operand(image), operand(weight, SECOND)
        return lambda: F.conv2d(x, w, None, s.stride, s.padding, s.dilation, s.groups)
    # The operand whose gradient is not asked for gives its shape only.
    x, w, dy = operand(image), operand(weight, SECOND), operand(result, THIRD)
    mask = [what == "backward_input", what == "backward_weight", False]
    which = mask.index(True)
    backward = torch.ops.aten.convolution_backward
    return lambda: backward(dy, x, w, None, s.stride, s.padding, s.dilation, False, [0, 0], s.groups, mask)[which]


def small_add(name):
    x, y = operand((4,)), operand((4,), SECOND)
    return lambda: x + y


def matmul(name):
    """Of two matrices, one of them transposed, or of stacks."""
    what, sizes = name.split("/")[1], numbers_in(name)
    if what == "stack":
        stack, m, n, k = sizes
        a, b = operand((stack, m, k)), operand((stack, k, n), SECOND)
    else:
        m, n, k = sizes
        a = operand((k, m)).T if what == "first" else operand((m, k))
        b = operand((n, k), SECOND).T if what == "second" else operand((k, n), SECOND)
    return lambda: a @ b


def pool(name):
    what, (n, c, h, w, kh, kw, sh, sw, ph, pw) = name.split("/")[1], numbers_in(name)
    x, window = operand((n, c, h, w)), ((kh, kw), (sh, sw), (ph, pw))
    if what == "avg":
        return lambda: F.avg_pool2d(x, *window)
    if what == "max":
        return lambda: F.max_pool2d(x, *window)
    if what == "avg_backward":
        dy, backward = operand(tuple(F.avg_pool2d(x, *window).shape), THIRD), torch.ops.aten.avg_pool2d_backward
        return lambda: backward(dy, x, *window, False, True, None)
    y, argmaxes = F.max_pool2d(x, *window, return_indices=True)
    dy, backward = operand(tuple(y.shape), THIRD), torch.ops.aten.max_pool2d_with_indices_backward
    if what == "max_train":
        return lambda: backward(dy, x, *window, (1, 1), False, F.max_pool2d(x, *window, return_indices=True)[1])
    return lambda: backward(dy, x, *window, (1, 1), False, argmaxes)


def rows(name):
    what, (r, c) = name.split("/")[1], numbers_in(name)
    x, gamma, beta = operand((r, c)), operand((c,), SECOND), operand((c,), THIRD)
    if what == "layer_norm":
        return lambda: F.layer_norm(x, (c,), gamma, beta)
    return (lambda: torch.softmax(x, -1)) if what == "softmax" else (lambda: torch.log_softmax(x, -1))


def reduction(name):
    what, (a, b, c, axis) = name.split("/")[1], numbers_in(name)
    x, reduce = operand((a, b, c)), {"sum": torch.sum, "mean": torch.mean, "max": torch.amax}[what]
    return lambda: reduce(x, axis)


KINDS = {
    "gemm": product,
    "gemm_bf16": product,
    "conv": conv,
    "eager": small_add,
    "matmul": matmul,
    "pool": pool,
    "rows": rows,
    "reduce": reduction,
}


def add_sum_backward():
    p, y = operand((4,)).requires_grad_(), operand((4,), SECOND)

    def call():
        p.grad = None
        loss = (p + y).sum()
        loss.backward()
        return loss

    return lambda: [call().item(), *p.grad.tolist()], call


def seconds(call):
    """The least time of some calls, the first of which is not counted."""
    call()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def make(name, layouts=(torch.channels_last,)):
    """check() and call(), in the fastest of these layouts."""
    global layout
    if name == "eager/add_sum_backward/4":
        return add_sum_backward()
    found = []
    with torch.inference_mode():
        for layout in layouts:
            run = KINDS[name.split("/")[0]](name)
            found.append((seconds(run) if len(layouts) > 1 else 0, run))
    run = min(found, key=lambda pair: pair[0])[1]

    @torch.inference_mode()
    def call():
        return run()

    return lambda: some_of(call().contiguous().float().numpy()), call
