"""PyTorch and Tenon give each other tensors by DLPack: check.py MODULE."""
import ctypes
import sys

import torch
from torch.utils import dlpack

module = ctypes.CDLL(sys.argv[1])
module.numbers.restype = ctypes.c_void_p
module.number.restype = ctypes.c_float
module.add_one.restype = ctypes.c_double
module.add_one.argtypes = [ctypes.c_void_p]
python = ctypes.pythonapi
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

x = dlpack.from_dlpack(python.PyCapsule_New(module.numbers(), b"dltensor", None))
assert x.tolist() == [[0, 1, 2], [3, 4, 5]], x
x[1, 2] = 50
assert module.number(1, 2) == 50, "not the same elements"
del x
assert module.number(1, 2) == 50


USED = b"used_dltensor"


def give(tensor):
    capsule = dlpack.to_dlpack(tensor)
    result = module.add_one(python.PyCapsule_GetPointer(capsule, b"dltensor"))
    if result != -1:  # Tenon has it now
        python.PyCapsule_SetName(capsule, USED)
    return result


y = torch.arange(8, dtype=torch.float64).reshape(2, 4)
assert give(y) == 36 and y[0, 0] == 1, y  # the same elements
wide = torch.arange(12, dtype=torch.float64).reshape(4, 3).T
assert give(wide) == 66 + 12 and wide[0, 0] == 0, wide  # a copy
assert give(torch.zeros(2, 3, dtype=torch.float64)) == -1
assert give(torch.zeros(2, 4)) == -1
assert give(torch.zeros(0, 4, dtype=torch.float64)) == 0
print("PyTorch and Tenon share their elements.")
