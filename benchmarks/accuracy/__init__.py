"""What PyTorch computes for the rows of tests/support/accuracy_*.hpp. A row is (name, length, error(data))."""


def rows():
    from accuracy import products, sums
    yield from sums.rows()
    yield from products.rows()
