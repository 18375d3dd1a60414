"""Writes keras_files.zip, files of Keras with predictions, and small.h5, for a fuzzer: `keras_files.py FOLDER [SEED]`.
Those in tests/io/keras_files are from Keras 3.15.1 and seed 7. Needs keras, h5py, and torch.

net.weights.h5      save_weights of a network with each kind of layer that load_keras_weights knows, trained for a step
net.h5, net.keras   save of it
forms.h5            arrays of other dtypes, and chunked ones, by h5py
compact.h5          arrays whose elements lie in the headers, by h5py
gru_*.h5            weights of a GRU(2) as Keras 3 saves them, by h5py
bad_*.h5            what is refused: links, other files, filters, newer forms
predictions.npz     inputs, outputs
"""
import os
import sys
import tempfile
import zipfile

os.environ.setdefault("KERAS_BACKEND", "torch")
import h5py
import keras
import numpy
from keras import layers

target, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 7
folder = tempfile.mkdtemp()
random = numpy.random.default_rng(seed)


def network():
    image = keras.Input((6, 6, 2), name="image")
    x = layers.Conv2D(3, 3, padding="same", name="conv")(image)
    x = layers.BatchNormalization(name="norm")(x)
    x = layers.ReLU(name="relu")(x)
    x = layers.DepthwiseConv2D(3, depth_multiplier=2, name="depthwise")(x)
    x = layers.Conv2DTranspose(2, 2, strides=2, name="wider")(x)
    x = layers.Flatten(name="flat")(x)
    ids = keras.Input((5,), dtype="int32", name="ids")
    e = layers.Embedding(11, 4, name="words")(ids)
    e = layers.LayerNormalization(epsilon=1e-5, name="scale")(e)
    a = layers.LSTM(3, name="memory")(e)
    b = layers.Bidirectional(layers.GRU(2, return_sequences=True), name="both")(e)
    b = layers.Conv1D(2, 3, padding="same", name="along")(b)
    b = layers.Flatten(name="flat2")(b)
    y = layers.Concatenate(name="all")([x, a, b])
    y = layers.Dense(4, activation="tanh", name="hidden")(y)
    return keras.Model([image, ids], layers.Dense(2, name="head")(y))


model = network()
model.compile("adam", "mse")
for weight in model.weights:  # also what starts at 0 or 1
    value = random.normal(0, 0.3, weight.shape).astype("float32")
    weight.assign(numpy.abs(value) + 0.5 if "variance" in weight.path else value)
image = random.normal(0, 1, (3, 6, 6, 2)).astype("float32")
ids = random.integers(0, 11, (3, 5)).astype("int32")
model.train_on_batch([image, ids], numpy.zeros((3, 2), "float32"))
model.save_weights(os.path.join(folder, "net.weights.h5"))
model.save(os.path.join(folder, "net.h5"))
model.save(os.path.join(folder, "net.keras"))
output = model.predict([image, ids], verbose=0)
numpy.savez(os.path.join(folder, "predictions.npz"), image=image, ids=ids, output=output)
with h5py.File(os.path.join(folder, "forms.h5"), "w") as file:
    ramp = numpy.arange(12).reshape(3, 4)
    for dtype in ("float16", "float32", "float64", "int8", "int64", "uint16"):
        file[f"g/{dtype}"] = ramp.astype(dtype)
    file.create_dataset("chunked", data=ramp.astype("float32"), chunks=(2, 3), compression="gzip", shuffle=True)
    file.create_dataset("plain_chunks", data=ramp.astype("float32"), chunks=(2, 3))
    file["scalar"] = numpy.float32(2.5)
    file["none"] = numpy.zeros((0, 3), "float32")
    ramp = ramp.astype("float32")
    file.create_dataset("random", data=random.integers(0, 256, 64).astype("uint8"), chunks=(8,), compression="gzip")

with h5py.File(os.path.join(folder, "compact.h5"), "w") as file:
    for name, value in (("one", [7]), ("scalar", 2.5), ("ramp", ramp)):
        value = numpy.asarray(value, "float32")
        layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        layout.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple(value.shape) if value.shape else h5py.h5s.create(h5py.h5s.SCALAR)
        array = h5py.h5d.create(file.id, name.encode(), h5py.h5t.py_create(value.dtype), space, layout)
        array.write(h5py.h5s.ALL, h5py.h5s.ALL, value)
for name, shapes in (("bias", ((4, 6), (2, 6), (2, 6))), ("plain", ((4, 6), (2, 6)))):
    with h5py.File(os.path.join(folder, f"gru_{name}.h5"), "w") as file:
        for i, shape in enumerate(shapes):
            file[f"layers/gru/cell/vars/{i}"] = random.normal(0, 1, shape).astype("float32")


def bad(name):
    return h5py.File(os.path.join(folder, f"bad_{name}.h5"), "w")


with bad("soft") as file:
    file["a"] = ramp
    file["b"] = h5py.SoftLink("/a")
with bad("link") as file:
    file["b"] = h5py.ExternalLink("/etc/hostname", "/a")
with bad("hard") as file:
    file.create_group("a")["b"] = file["/"]
with bad("external") as file:
    file.create_dataset("a", (3,), "uint8", external=[("/etc/hostname", 0, 3)])
with bad("virtual") as file:
    layout = h5py.VirtualLayout((3,), "float32")
    layout[:] = h5py.VirtualSource("/etc/hostname", "a", (3,))
    file.create_virtual_dataset("a", layout)
with bad("filter") as file:
    file.create_dataset("a", data=ramp, chunks=(3, 4), compression="lzf")
with bad("checksum") as file:
    file.create_dataset("a", data=ramp, chunks=(3, 4), fletcher32=True)
with bad("text") as file:
    file["a"] = "text"
with bad("bomb") as file:
    file.create_dataset("a", data=numpy.zeros(1 << 21, "float32"), chunks=(1 << 21,), compression="gzip")
with bad("absent") as file:
    file.create_dataset("a", (1 << 40,), "float32", chunks=(1 << 20,), compression="gzip")
with h5py.File(os.path.join(folder, "bad_new.h5"), "w", libver="latest") as file:
    file["a"] = ramp
small = os.path.join(target, "small.h5")
with h5py.File(small, "w") as file:
    group = file.create_group("layers/dense/vars")
    group.attrs["name"] = "head"
    group["0"] = numpy.float32([[1, 2, 3], [4, 5, 6]])
    group.create_dataset("1", data=numpy.float16([1, 2, 3]), chunks=(2,), compression="gzip", shuffle=True)
with zipfile.ZipFile(os.path.join(target, "keras_files.zip"), "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
    for name in sorted(os.listdir(folder)):
        archive.writestr(zipfile.ZipInfo(name), open(os.path.join(folder, name), "rb").read(), zipfile.ZIP_DEFLATED)
print("Keras", keras.__version__, "h5py", h5py.__version__, "HDF5", h5py.version.hdf5_version)
