#!/bin/sh
# Triton's client talks to a server of Tenon: `tritonclient.sh PROGRAM`, the program of lesson 23. $TENON_PYTHON is a
# Python with tritonclient[http], python3 at first. Exit status 77: it has none.
set -u
python=${TENON_PYTHON:-python3}
"$python" -c 'import numpy, tritonclient.http' 2>/dev/null ||
  { echo "SKIPPED: $python has no tritonclient[http]"; exit 77; }
port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$1" "$port" >log.txt 2>&1 &
server=$!
trap 'kill $server 2>/dev/null' EXIT
"$python" - "$port" <<'PYTHON' || { cat log.txt; exit 1; }
import sys, time
import numpy as np
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

client = triton.InferenceServerClient(f"127.0.0.1:{sys.argv[1]}", concurrency=4)
for _ in range(1200):  # it trains first
    try:
        if client.is_server_ready():
            break
    except OSError:
        time.sleep(0.1)
assert client.is_server_live() and client.is_model_ready("digits") and client.is_model_ready("digits", "1")
assert not client.is_model_ready("other")
assert "binary_tensor_data" in client.get_server_metadata()["extensions"]
metadata = client.get_model_metadata("digits")
assert metadata["inputs"] == [{"name": "image", "datatype": "FP32", "shape": [-1, 1, 28, 28]}], metadata
assert metadata["outputs"] == [{"name": "logits", "datatype": "FP32", "shape": [-1, 10]}], metadata
images = np.random.default_rng(1).normal(size=(20, 1, 28, 28)).astype(np.float32)


def given(array, binary=True):
    value = triton.InferInput("image", array.shape, "FP32")
    value.set_data_from_numpy(array, binary_data=binary)
    return [value]


results = []
for binary_in in (True, False):
    for binary_out in (True, False):
        asked = [triton.InferRequestedOutput("logits", binary_data=binary_out)]
        result = client.infer("digits", given(images, binary_in), outputs=asked, request_id="seven")
        assert result.get_response()["id"] == "seven"
        results.append(result.as_numpy("logits"))
assert results[0].shape == (20, 10)
assert all(np.array_equal(results[0], other) for other in results)
# alone, and in batches with others: the same bits
waiting = [client.async_infer("digits", given(images[k:k + 1])) for k in range(20)]
for k, one in enumerate(waiting):
    assert np.array_equal(one.get_result().as_numpy("logits")[0], results[0][k])
for wrong in (images[:, :, :27], images.astype(np.float64), np.concatenate([images, images])):
    value = triton.InferInput("image", wrong.shape, "FP64" if wrong.dtype == np.float64 else "FP32")
    value.set_data_from_numpy(wrong)
    try:
        client.infer("digits", [value])
    except InferenceServerException as error:
        assert "image" in error.message(), error
    else:
        sys.exit("a wrong request was answered")
for compression in ("gzip", "deflate"):
    try:
        for binary in (True, False):
            result = client.infer("digits", given(images, binary), request_compression_algorithm=compression,
                                  response_compression_algorithm=compression)
            assert np.array_equal(result.as_numpy("logits"), results[0])
    except InferenceServerException as error:
        assert "without zlib" in error.message(), error
texts = triton.InferInput("image", [1, 1], "BYTES")
texts.set_data_from_numpy(np.array([["text"]], dtype=object))
try:
    client.infer("digits", [texts])
except InferenceServerException as error:
    assert "BYTES" in error.message() and "FP32" in error.message(), error
else:
    sys.exit("a text was taken")
print("Triton's client agrees.")
PYTHON
kill -TERM $server
wait $server || { echo "FAILED: the server ends with status $?"; exit 1; }
