"""Checks exported networks with ONNX's checker and ONNX Runtime: check.py FOLDER."""

import pathlib
import sys

import numpy
import onnx
import onnxruntime

failures = 0
files = sorted(pathlib.Path(sys.argv[1]).glob("*.onnx"))
for path in files:
    onnx.checker.check_model(str(path), full_check=True)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    stem = str(path.with_suffix(""))
    inputs = {given.name: numpy.load(f"{stem}.x{k}.npy") for k, given in enumerate(session.get_inputs())}
    results = session.run(None, inputs)
    for k, result in enumerate(results):
        expected = numpy.load(f"{stem}.y{k}.npy")
        same = result.dtype == expected.dtype and result.shape == expected.shape
        close = same and numpy.allclose(result, expected, rtol=1e-5, atol=1e-5, equal_nan=True)
        if close and result.dtype.kind == "f":
            zeros = (result == 0) & (expected == 0)
            close = (numpy.signbit(result) == numpy.signbit(expected))[zeros].all()
        apart = "-"
        if same and result.dtype != bool:
            finite = numpy.isfinite(result) & numpy.isfinite(expected)
            apart = abs(result[finite] - expected[finite]).max(initial=0)
        print(f"{path.stem:12} result {k}: {result.dtype} {result.shape} differs by {apart}", "" if close else "FAILED")
        failures += not close
print(f"{len(files)} networks")
sys.exit(failures > 0 or not files)
