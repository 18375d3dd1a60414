"""Matrix products: large squares, small and skinny ones, and squares in bfloat16. A size is M x N x K."""
from harness.plan import Bar, GeometricMean, Group, Work

SQUARES = (256, 512, 1024, 2048)
BFLOAT16 = (512, 1024, 2048)
SMALL = tuple((n, n, n) for n in (4, 8, 16, 32, 48, 64, 96, 128)) + (
    (32, 120, 400), (32, 84, 120), (32, 10, 84), (64, 10, 84), (1, 512, 784), (1, 10, 512), (1, 128, 784), (1, 8, 4),
    (32, 512, 784), (64, 512, 784), (16, 100, 150), (6, 784, 25), (64, 64, 512), (128, 64, 64))


def product(m, n, k, rivals, bars=()):
    return Work(
        f"gemm/{m}x{n}x{k}", f"matrix product {m} x {n} x {k}", rivals, ("pynative", "graph"), 2 * m * n * k, 1e-5, bars
    )


def mean(rival):
    return GeometricMean(
        "10",
        "small and skinny products",
        tuple(f"gemm/{m}x{n}x{k}" for m, n, k in SMALL),
        rival,
        1.2,
        1.6,
        0.9,
        "pynative",
    )


# Results are rounded to 8 bits.
def product_bf16(n):
    return Work(
        f"gemm_bf16/{n}x{n}x{n}",
        f"matrix product {n} x {n} x {n} of bfloat16",
        ("pytorch",),
        ("pynative", "graph"),
        2 * n**3,
        1e-2,
        (Bar("16", "pytorch", 1.0, 1.5, "pynative"),),
    )


# The small ones are measured against the libraries called from C++ (run/blas.cpp) too: from Python the call itself is
# most of the time.
GROUP = Group(
    "gemm",
    (
        *(
            product(
                n,
                n,
                n,
                ("pytorch", "openblas"),
                (Bar("9", "peak", 0.70, 0.87, "pynative"), Bar("9", "pytorch", 0.9, 1.05, "pynative")),
            )
            for n in SQUARES
        ),
        *(product(*size, ("pytorch", "mkl", "openblas")) for size in SMALL),
        *map(product_bf16, BFLOAT16),
    ),
    (mean("pytorch"), mean("mkl"), mean("openblas")),
)
