"""What a call costs in PyNative mode: operators on four floats. Rivals are called from C++ too."""
from harness.plan import Bar, Group, Work

GROUP = Group(
    "eager",
    (
        Work(
            "eager/add/4",
            "add of 4 floats",
            ("libtorch", "pytorch"),
            ("pynative",),
            bars=(Bar("7", "libtorch", 20, ours="pynative"),),
        ),
        Work(
            "eager/add_sum_backward/4",
            "sum(x + y) of 4 floats, forward and backward",
            ("libtorch", "pytorch"),
            ("pynative",),
            bars=(Bar("7", "libtorch", 50, ours="pynative"),),
        ),
    ),
)
