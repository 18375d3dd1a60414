"""What PyTorch computes for the rows of tests/support/accuracy_*.hpp. A row is (name, length, error(data))."""


def rows():
    from accuracy import sums
    yield from sums.rows()
