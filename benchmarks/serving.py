"""Requests per second and latency of Tenon's server, beside ONNX Runtime behind the same protocol.

    python benchmarks/serving.py PROGRAM [--seconds 4] [--rounds 3]

PROGRAM is build/PRESET/benchmarks/run/serving. The peer is a server of this file: asyncio with uvloop if it is
installed, orjson if it is installed, requests put together into batches as Tenon's are, onnxruntime with its default
threads, or with --peer-threads N, which computes N batches at a time with one thread each. Both have the same
networks, as ONNX files for the peer, and the same client, one thread for all connections, on the same processors.
First both get the same requests, whose answers must agree.
"""
import argparse
import asyncio
import concurrent.futures
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

TYPES = {"FP32": "float32", "INT32": "int32"}


def serve(folder, port, threads):
    import numpy as np
    import onnxruntime as ort
    try:
        import orjson
        loads, dumps = orjson.loads, lambda value: orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    except ImportError:
        loads, dumps = json.loads, lambda value: json.dumps(value, default=lambda a: a.tolist()).encode()

    class Batcher:
        def __init__(self, name):
            options = ort.SessionOptions()
            if threads:
                options.intra_op_num_threads = 1
            self.session = ort.InferenceSession(os.path.join(folder, name + ".onnx"), options)
            self.waiting, self.running = [], 0
            self.pool = concurrent.futures.ThreadPoolExecutor(max(threads, 1))

        def submit(self, array, done):
            self.waiting.append((array, done))
            if self.running < max(threads, 1):
                asyncio.ensure_future(self.run())
                self.running += 1

        async def run(self):
            loop = asyncio.get_running_loop()
            while self.waiting:
                jobs, self.waiting = self.waiting[:64], self.waiting[64:]
                array = jobs[0][0] if len(jobs) == 1 else np.concatenate([job[0] for job in jobs])
                result = await loop.run_in_executor(self.pool, self.compute, array)
                for k, (_, done) in enumerate(jobs):
                    done(result[k:k + 1])
            self.running -= 1

        def compute(self, array):
            return self.session.run(None, {"input_0": array})[0]

    models = {name: Batcher(name) for name in ("lenet", "gpt")}

    class Connection(asyncio.Protocol):
        def connection_made(self, transport):
            self.transport, self.buffer = transport, b""

        def data_received(self, data):
            self.buffer += data
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self.buffer[:end].decode().split("\r\n")
            fields = dict(line.lower().split(": ", 1) for line in head[1:])
            size = int(fields["content-length"])
            if len(self.buffer) < end + 4 + size:
                return
            body, self.buffer = self.buffer[end + 4:end + 4 + size], self.buffer[end + 4 + size:]
            self.infer(head[0].split("/")[3], body, int(fields.get("inference-header-content-length", size)))

        def infer(self, model, body, json_bytes):
            one = loads(body[:json_bytes])["inputs"][0]
            kind = TYPES[one["datatype"]]
            binary = json_bytes < len(body)
            array = np.frombuffer(body[json_bytes:], kind) if binary else np.array(one["data"], kind)
            models[model].submit(array.reshape(one["shape"]), lambda result: self.answer(model, result, binary))

        def answer(self, model, result, binary):
            output = {"name": "output", "datatype": "FP32", "shape": list(result.shape)}
            tail, header = b"", ""
            if binary:
                tail = result.tobytes()
                output["parameters"] = {"binary_data_size": len(tail)}
            else:
                output["data"] = np.ascontiguousarray(result).reshape(-1)
            text = dumps({"model_name": model, "model_version": "1", "outputs": [output]})
            if binary:
                header = f"Inference-Header-Content-Length: {len(text)}\r\n"
            self.transport.write(f"HTTP/1.1 200 OK\r\n{header}Content-Length: {len(text) + len(tail)}\r\n\r\n".encode()
                                 + text + tail)

    async def forever():
        server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", port, backlog=1024)
        await server.serve_forever()

    try:
        import uvloop
        uvloop.install()
    except ImportError:
        pass
    asyncio.run(forever())


def check_equal(ports):
    """Both servers answer the same requests with the same numbers, up to rounding."""
    for model, kind, shape, data in (("lenet", "FP32", [1, 1, 28, 28], [k % 256 / 255 for k in range(784)]),
                                     ("gpt", "INT32", [1, 32], [k * k % 64 for k in range(32)])):
        body = json.dumps({"inputs": [{"name": "input_0", "datatype": kind, "shape": shape, "data": data}]})
        answers = []
        for port in ports:
            with socket.create_connection(("127.0.0.1", port), 10) as s:
                head = f"POST /v2/models/{model}/infer HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n"
                s.sendall((head + body).encode())
                text = b""
                while not text.endswith(b"]}]}"):
                    text += s.recv(65536)
            answers.append(json.loads(text[text.index(b"\r\n\r\n"):])["outputs"][0]["data"])
        assert len(answers[0]) == len(answers[1]) > 0
        worst = max(abs(a - b) for a, b in zip(*answers))
        assert worst < 1e-4 * max(map(abs, answers[1])), (model, worst)


def started(command, port):
    process = subprocess.Popen(command)
    for _ in range(200):
        if process.poll() is not None:
            break
        time.sleep(0.05)
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return process
        except OSError:
            pass
    sys.exit("the server does not start")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def load(options, port, model, form, clients):
    """Requests per second, p50, and p99, after a short load to warm up."""
    for seconds in (0.1, options.seconds):
        text = subprocess.run([options.program, "load", str(port), model, form, str(clients), str(seconds)], check=True,
                              capture_output=True, text=True).stdout
    *values, failed = text.split()
    assert failed == "0", failed
    return [float(value) for value in values]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=1, help="of both sides in turn; the best of each counts")
    parser.add_argument("--peer-threads", type=int, default=0, help="batches that the peer computes at a time")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.program, options.serve, options.peer_threads)
    folder = tempfile.mkdtemp()
    subprocess.run([options.program, "export", folder], check=True)
    ports = [free_port(), free_port()]
    print("| network | format | clients | Tenon: requests/s | p50 ms | p99 ms | "
          "ONNX Runtime: requests/s | p50 ms | p99 ms | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    servers = []
    try:
        servers.append(started([options.program, "serve", str(ports[0])], ports[0]))
        servers.append(started([sys.executable, __file__, "--serve", str(ports[1]), "--peer-threads",
                                str(options.peer_threads), folder], ports[1]))
        check_equal(ports)
        for model in ("lenet", "gpt"):
            for form in ("json", "binary"):
                for clients in (1, 8, 64):
                    rounds = [[load(options, port, model, form, clients) for port in ports]
                              for _ in range(options.rounds)]
                    rows = [max(side) for side in zip(*rounds)]
                    print(f"| {model} | {form} | {clients} |",
                          " | ".join(f"{rate:.0f} | {p50:.3f} | {p99:.3f}" for rate, p50, p99 in rows),
                          f"| {rows[0][0] / rows[1][0]:.2f} |", flush=True)
    finally:
        for server in servers:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
