# The losses of tests/train/buckets.cpp in PyTorch (float64): a small GPT is trained on texts of 5 to 128 letters, each
# of which is computed alone and without padding.
#     python3 tests/train/buckets.py
import math

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
LETTERS, WIDTH, HEADS, LONGEST = 11, 16, 2, 128
BUCKETS, SIZES = [32, 64, 128], [8, 4, 2]

lengths = [5 + (37 * i) % 124 for i in range(40)]
texts = [[(i + t * (1 + i % 2)) % LETTERS for t in range(n + 1)] for i, n in enumerate(lengths)]


def parameter(k, shape, offset):
    count = math.prod(shape)
    values = torch.tensor([offset + 0.2 * math.sin(0.7 * (i + 1) + k) for i in range(count)]).float().double()
    return values.reshape(shape).requires_grad_()


shapes = [[LETTERS, WIDTH], [LONGEST, WIDTH]]
for _ in range(2):
    shapes += [[WIDTH], [WIDTH], [WIDTH], [WIDTH], [3 * WIDTH, WIDTH], [3 * WIDTH], [WIDTH, WIDTH], [WIDTH],
               [4 * WIDTH, WIDTH], [4 * WIDTH], [WIDTH, 4 * WIDTH], [WIDTH]]
shapes += [[WIDTH], [WIDTH], [LETTERS, WIDTH], [LETTERS]]
gammas = {2, 4, 14, 16, 26}
p = [parameter(k, shape, 1.0 if k in gammas else 0.0) for k, shape in enumerate(shapes)]


def logits(tokens):
    x = p[0][tokens] + p[1][:len(tokens)]
    norm = lambda v, k: F.layer_norm(v, [WIDTH], p[k], p[k + 1], eps=EPSILON)
    for b in (2, 14):
        q, k, v = (norm(x, b) @ p[b + 4].T + p[b + 5]).chunk(3, -1)
        heads = lambda m: m.reshape(len(tokens), HEADS, -1).transpose(0, 1)
        y = F.scaled_dot_product_attention(heads(q), heads(k), heads(v), is_causal=True)
        x = x + y.transpose(0, 1).reshape(len(tokens), WIDTH) @ p[b + 6].T + p[b + 7]
        up = F.gelu(norm(x, b + 2) @ p[b + 8].T + p[b + 9], approximate="tanh")
        x = x + up @ p[b + 10].T + p[b + 11]
    return norm(x, 26) @ p[28].T + p[29]


EPSILON = 1e-7
waiting, batches = [[] for _ in BUCKETS], []
for i, n in enumerate(lengths):
    b = next(k for k, longest in enumerate(BUCKETS) if n <= longest)
    waiting[b].append(i)
    if len(waiting[b]) == SIZES[b]:
        batches.append(waiting[b])
        waiting[b] = []
batches += [rest for rest in waiting if rest]

optimizer = torch.optim.SGD(p, lr=0.1, momentum=0.9)
for batch in 2 * batches:
    loss = sum(F.cross_entropy(logits(torch.tensor(texts[i][:-1])), torch.tensor(texts[i][1:]), reduction="sum")
               for i in batch) / sum(lengths[i] for i in batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.7f},")
