"""The rivals' virtual environments: made and filled by pip when a run needs them."""
import functools
import glob
import os
import subprocess
import sys

from harness import isa as instructions
from harness.rivals import LIBRARIES, PACKAGES, PROGRAMS, SEPARATE


class Environment:
    def __init__(self, folder, install):
        self.folder, self.install = os.path.abspath(folder), install

    def folder_of(self, rival):
        return f"{self.folder}-{rival}" if rival in SEPARATE else self.folder

    def python_of(self, rival):
        return self.folder_of(rival) + "/bin/python"

    def library_of(self, rival):
        """File and entry point of a rival that is a library, or None if it is not there."""
        pattern, entry = LIBRARIES[rival]
        found = self.files_of(rival, "lib/python3*/site-packages/" + pattern)
        return (found[0], entry) if found else None

    def files_of(self, rival, pattern):
        return glob.glob(f"{self.folder_of(rival)}/{pattern}")

    def flags_of(self, rival):
        """What the compiler needs for a rival in C++."""
        cxx = PROGRAMS[rival]
        headers = [folder for pattern in cxx.headers for folder in self.files_of(rival, pattern)]
        libraries = self.files_of(rival, cxx.libraries)[0]
        flags = [f"-isystem{folder}" for folder in headers] + [
            f"-L{libraries}",
            f"-Wl,-rpath,{libraries},--disable-new-dtags",  # the path holds for what libraries need, too
            "-Wl,--no-as-needed",
        ]
        flags += [f"-l{name}" for name in cxx.link]
        if rival == "libtorch":
            ask = "import torch; print(int(torch.compiled_with_cxx11_abi()))"
            abi = subprocess.run(
                [self.python_of(rival), "-c", ask], stdout=subprocess.PIPE, text=True, check=True
            ).stdout.strip()
            flags.append(f"-D_GLIBCXX_USE_CXX11_ABI={abi}")
        return flags

    def variables_of(self, rival):
        """Environment variables that a rival in C++ needs of its package."""
        return {
            name: f"{self.folder_of(rival)}/{file}" for name, file in PROGRAMS[rival].variables
        } if rival in PROGRAMS else {}

    @functools.cache
    def missing(self, rival):
        """None, or the reason why this rival cannot run. Installs it if it may."""
        names = [package.split("<")[0] for package in PACKAGES[rival]]
        if self._has(rival, names):
            return None
        if not self.install:
            return f"{', '.join(names)} not in {self.folder_of(rival)}"
        print(f"installing {' '.join(PACKAGES[rival])} into {self.folder_of(rival)}", flush=True)
        if not os.path.exists(self.python_of(rival)):
            subprocess.run([sys.executable, "-m", "venv", self.folder_of(rival)], check=True)
        done = subprocess.run(
            [self.python_of(rival), "-m", "pip", "install", "--quiet", *PACKAGES[rival]],
            stderr=subprocess.PIPE,
            text=True,
        )
        if done.returncode or not self._has(rival, names):
            return "pip could not install it: " + (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return None

    def _has(self, rival, names):
        if not os.path.exists(self.python_of(rival)):
            return False
        if rival in PROGRAMS:
            return all(
                self.files_of(rival, pattern)
                for pattern in (
                    *PROGRAMS[rival].headers,
                    f"{PROGRAMS[rival].libraries}/lib{PROGRAMS[rival].link[-1]}.so",
                )
            )
        find = "import sys, importlib.util; sys.exit(any(importlib.util.find_spec(n) is None for n in sys.argv[1:]))"
        return subprocess.run([self.python_of(rival), "-c", find, *names]).returncode == 0

    @functools.cache
    def versions(self, rival):
        """{"torch": "2.15.0", ...} of what this rival uses."""
        names = [package.split("<")[0] for package in PACKAGES[rival]]
        ask = "import sys; from importlib.metadata import version\nfor n in sys.argv[1:]: print(n, version(n))"
        lines = subprocess.run(
            [self.python_of(rival), "-c", ask, *names], stdout=subprocess.PIPE, text=True, check=True
        ).stdout.splitlines()
        return dict(line.split() for line in lines)


def variables(threads, isa):
    """The environment of a rival: as many threads and no more instructions than ours, and what it needs to be at its
    best."""
    result = dict(
        os.environ, JAX_PLATFORMS="cpu", PYTHONPATH=os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    )
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        result[name] = str(threads)
    xla = [instructions.XLA_AVX2] * (isa == "avx2")  # first: XLA reads no flags behind a word without --
    xla += ["--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"] * (threads == 1)
    if xla:
        result["XLA_FLAGS"] = " ".join(xla)
    # Without these glibc gives large blocks back to the kernel at every step, which costs PyTorch up to a fifth.
    result.update(MALLOC_MMAP_THRESHOLD_="2000000000", MALLOC_TRIM_THRESHOLD_="2000000000", MALLOC_TOP_PAD_="268435456")
    return result | instructions.variables(isa)
