#!/bin/sh
# curl and Triton's clients of HTTPS and gRPC talk to a server: `clients.sh PROGRAM`, clients/program.cpp. $TENON_PYTHON
# is a Python with tritonclient[http,grpc], python3 at first. Exit status 77: something is not installed.
set -u
python=${TENON_PYTHON:-python3}
"$python" -c 'import numpy, tritonclient.http, tritonclient.grpc' 2>/dev/null ||
  { echo "SKIPPED: $python has no tritonclient[http,grpc]"; exit 77; }
for tool in openssl curl; do
  command -v $tool >/dev/null || { echo "SKIPPED: $tool is not installed"; exit 77; }
done
for name in good other; do
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $name.key -out $name.crt -days 2 \
    -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null ||
    { echo "FAILED: openssl makes no certificate"; exit 1; }
done
free_port() {
  "$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
https=$(free_port) grpc=$(free_port)
"$1" "$https" "$grpc" good.crt good.key >log.txt 2>&1 &
server=$!
trap 'kill $server 2>/dev/null' EXIT
tries=0
until curl -s --cacert good.crt "https://localhost:$https/v2/health/ready" >ready.txt; do
  kill -0 $server 2>/dev/null || {
    wait $server
    [ $? -ne 77 ] || { echo "SKIPPED: gRPC or OpenSSL was not there when the program was compiled"; exit 77; }
    cat log.txt
    exit 1
  }
  tries=$((tries + 1))
  [ $tries -lt 100 ] || { echo "FAILED: no answer"; exit 1; }
  sleep 0.1
done
grep -q '"ready":true' ready.txt || { cat ready.txt; exit 1; }
for wrong in "--cacert other.crt https" "http"; do
  # shellcheck disable=SC2086  # several words
  if curl -s $wrong://localhost:"$https"/v2; then echo "FAILED: curl got an answer with $wrong"; exit 1; fi
done
"$python" - "$https" "$grpc" <<'PYTHON' || { cat log.txt; exit 1; }
import ssl, sys
import grpc
import numpy as np
import tritonclient.grpc as over_grpc
import tritonclient.http as over_http
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException

https = over_http.InferenceServerClient(f"localhost:{sys.argv[1]}", ssl=True,
                                        ssl_context_factory=lambda: ssl.create_default_context(cafile="good.crt"))
rpc = over_grpc.InferenceServerClient(f"localhost:{sys.argv[2]}", ssl=True, root_certificates="good.crt")
assert rpc.is_server_live() and rpc.is_server_ready() and rpc.is_model_ready("net") and rpc.is_model_ready("net", "1")
assert not rpc.is_model_ready("net", "2") and not rpc.is_model_ready("other")
assert rpc.get_server_metadata().name == "tenon"
metadata = rpc.get_model_metadata("net", as_json=True)
assert metadata["inputs"] == [{"name": "word", "datatype": "INT32", "shape": ["-1"]},
                              {"name": "x", "datatype": "FP32", "shape": ["-1", "3"]}], metadata
words = np.array([1, 9, 0, 7], np.int32)
x = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)


def infer(client, module, words, x):
    inputs = [module.InferInput("x", x.shape, "FP32"), module.InferInput("word", words.shape, "INT32")]
    for given, array in zip(inputs, (x, words)):
        given.set_data_from_numpy(array)
    return client.infer("net", inputs, request_id="seven")


one, two = infer(https, over_http, words, x), infer(rpc, over_grpc, words, x)
assert one.get_response()["id"] == two.get_response().id == "seven"
assert two.as_numpy("output").shape == (4, 4)
assert np.array_equal(one.as_numpy("output"), two.as_numpy("output"))
# alone the same bits, with elements in typed contents
with open("good.crt", "rb") as file:
    channel = grpc.secure_channel(f"localhost:{sys.argv[2]}", grpc.ssl_channel_credentials(file.read()))
typed = service_pb2_grpc.GRPCInferenceServiceStub(channel)
for k in range(4):
    request = service_pb2.ModelInferRequest(model_name="net", model_version="1")
    request.inputs.add(name="word", datatype="INT32", shape=[1]).contents.int_contents.append(int(words[k]))
    request.inputs.add(name="x", datatype="FP32", shape=[1, 3]).contents.fp32_contents.extend(x[k].tolist())
    response = typed.ModelInfer(request)
    assert list(response.outputs[0].shape) == [1, 4]
    assert response.raw_output_contents[0] == two.as_numpy("output")[k].tobytes()
for wrong, status in ((np.array([1, 10, 0, 7], np.int32), "INVALID_ARGUMENT"), (words[:3], "INVALID_ARGUMENT")):
    try:
        infer(rpc, over_grpc, wrong, x)
    except InferenceServerException as error:
        assert status in error.status(), error
    else:
        sys.exit("a wrong request was answered")
try:
    typed.ModelInfer(service_pb2.ModelInferRequest(model_name="other"))
except grpc.RpcError as error:
    assert error.code() == grpc.StatusCode.NOT_FOUND, error
print("curl and Triton's clients agree.")
PYTHON
kill -TERM $server
wait $server || { echo "FAILED: the server ends with status $?"; exit 1; }
