# ONNX Runtime computes the networks that Tenon exported again: `check.py FOLDER NAME...`.
import sys

import numpy
import onnx
import onnxruntime

failed = False
for name in sys.argv[2:]:
    base = f"{sys.argv[1]}/{name}"
    onnx.checker.check_model(f"{base}_again.onnx", full_check=True)
    arrays = numpy.load(f"{base.removesuffix('_new')}.npz")
    session = onnxruntime.InferenceSession(f"{base}_again.onnx")
    found = session.run(None, {f"input_{k}": arrays[f"x{k}"] for k in range(len(session.get_inputs()))})
    most = max(numpy.abs(y - arrays[f"y{k}"]).max() for k, y in enumerate(found))
    print(f"{name}: {most:.2g} from PyTorch in ONNX Runtime, after the way through Tenon")
    failed = failed or not most <= 1e-5
sys.exit(failed)
