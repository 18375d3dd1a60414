"""A side of the comparison: a child process that computes when asked, and is stopped at all other times."""
import contextlib
import ctypes
import glob
import os
import signal
import subprocess
import time


class Missing(Exception):
    """This side cannot run here."""


class Failed(Exception):
    """This side broke while it ran."""

    def __init__(self, side, sentence):
        super().__init__(f"{side}: {sentence}")
        self.side = side


class Side:
    """Between two questions the process is stopped by a signal, so that none of its threads can spin while another
    side is timed."""

    def __init__(self, name, command, cpus, log, environment=None):
        self.name, self.log = name, log
        libc = ctypes.CDLL(None)

        def prepare():
            os.sched_setaffinity(0, cpus)
            os.setsid()  # the scheduler weighs sessions first, then what is in them
            with contextlib.suppress(OSError):  # root only
                os.nice(-15)
                with open("/proc/self/autogroup", "w") as file:
                    file.write("-15")
            libc.prctl(1, signal.SIGKILL)  # do not outlive the parent as a stopped process

        with open(log, "w") as errors:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environment,
                preexec_fn=prepare,
            )
        first = self.process.stdout.readline().strip()
        if first != "ready":
            self.close()
            raise Missing(first.removeprefix("missing ") or self._last_words())
        self._stop()

    def check(self, work, variant="-"):
        return [float(word) for word in self._ask("check", work, variant)]

    def facts(self, work, variant):
        """Bytes of the arena and heap allocations of a call, or nothing: only our programs are asked."""
        return [float(word) for word in self._ask("facts", work, variant)]

    def isa(self):
        """What it says of the instruction set that it uses."""
        return " ".join(self._ask("isa", "-", "-"))

    def time(self, work, variant, blocks, calls):
        """The median and the least time of a call in microseconds; `waited` is then how long its threads wanted a
        processor, as a share of the turn."""
        start, waiting = time.perf_counter(), self._waiting()
        median, least = self._ask("time", work, variant, blocks, calls)
        self.waited = (self._waiting() - waiting) / (time.perf_counter() - start)
        return float(median), float(least)

    def close(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def _ask(self, *words):
        self.process.send_signal(signal.SIGCONT)
        try:
            print(*words, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            pass
        answer = self.process.stdout.readline()
        if not answer or answer.startswith("error"):
            raise Failed(
                self.name,
                f"{answer.strip() or self._last_words()} (asked: {' '.join(map(str, words))}; "
                f"its messages: {self.log})",
            )
        self._stop()
        return answer.split()

    def _waiting(self):
        """Seconds that its threads have waited for a processor so far; 0 where the kernel does not say."""
        total = 0
        for path in glob.glob(f"/proc/{self.process.pid}/task/*/schedstat"):
            with contextlib.suppress(OSError), open(path) as file:  # a thread may have ended
                total += int(file.read().split()[1])
        return total / 1e9

    def _stop(self):
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def _last_words(self):
        with open(self.log) as file:
            return (file.read().strip().splitlines() or ["it ended without a word"])[-1]


def quiet_cpus(count):
    """The processors that were least busy during a quarter of a second: all sides share them."""
    def busy():
        with open("/proc/stat") as file:
            rows = [line.split() for line in file if line.startswith("cpu") and line[3].isdigit()]
        return {int(row[0][3:]): sum(map(int, row[1:4])) for row in rows}

    allowed, before = os.sched_getaffinity(0), busy()
    time.sleep(0.25)
    after = busy()
    return sorted(sorted(allowed, key=lambda cpu: after[cpu] - before[cpu])[:count])
