"""What a run counts, and how it is printed."""
import collections

import numpy as np

from .parse import BYTES
from .time_model import CLOCK_GHZ, QUARTERS

SHOWN_CAUSES = 5
OPERATIONS_OF_PHASES = ("FFMA", "FADD", "LDS", "LDG", "IMAD", "ISETP", "BRA")


class Phase:
    """Between two barriers of the first of the blocks that run at the same time."""

    def __init__(self, begin):
        self.begin, self.end, self.barrier_at = begin, begin, None
        self.opcodes, self.warps, self.causes = collections.Counter(), collections.Counter(), collections.Counter()
        self.wavefronts = 0


class Statistics:
    def __init__(self, traced_warp=None):
        self.traced_warp, self.trace = traced_warp, []
        self.executed = collections.Counter()  # per instruction
        self.phases = [Phase(0)]
        self.wavefronts = 0

    def started(self, warp, instruction, now):
        self.executed[instruction.address // BYTES] += 1
        of_shared = warp.wavefronts if instruction.opcode in ("LDS", "STS", "SHFL", "LDC", "S2R") else 0
        self.wavefronts += of_shared
        if not warp.block.is_first:
            return
        phase = self.phases[-1]
        phase.opcodes[instruction.opcode] += 1
        phase.warps[warp.number] += 1
        phase.wavefronts += of_shared
        phase.end = now
        if warp.number == self.traced_warp:
            self.trace.append((now, instruction))

    def waited(self, warp, cause, cycles):
        """A quarter of a multiprocessor had nothing to start, at first because of this warp."""
        if warp.block.times is warp.block.machine.blocks[0].times:
            self.phases[-1].causes[cause] += cycles

    def barrier(self, block, at, now):
        if block.is_first:
            self.phases[-1].end, self.phases[-1].barrier_at = now, at
            self.phases.append(Phase(now))


class Groups:
    """The groups of blocks that ran one after the other."""

    def __init__(self):
        self.count = self.cycles = self.wavefronts = self.longest_cycles = 0
        self.longest = None  # the statistics of the group that takes longest
        self.executed = collections.Counter()

    def add(self, statistics, cycles):
        self.count, self.cycles = self.count + 1, self.cycles + cycles
        self.wavefronts += statistics.wavefronts
        self.executed += statistics.executed
        if not self.longest or cycles > self.longest_cycles:
            self.longest, self.longest_cycles = statistics, cycles


def print_differences(before, computed, expected, only_changed=False):
    """Compares the memory, piece by piece; returns how many words differ. `only_changed`: of those that were changed by
    some of the blocks alone, which others do not."""
    differing = total = changed = 0
    for (at, data), (_, right), (_, old) in zip(computed.pieces, expected.pieces, before.pieces):
        left, right = data.view(np.uint32), right.view(np.uint32)
        changed += int((right != old.view(np.uint32)).sum())
        compared = left != old.view(np.uint32) if only_changed else np.ones(len(left), bool)
        where = np.nonzero(compared & (left != right))[0]
        total += int(compared.sum())
        differing += len(where)
        if len(where):
            first = where[0]
            print(f"  at 0x{at:x} + {4 * first}: {len(where)} of {len(left)} words differ, the first one is "
                  f"{left[first].view(np.float32)} and must be {right[first].view(np.float32)}")
    of_these = " that these blocks change; the kernel changes" if only_changed else ", of which the kernel changes"
    print(f"words that differ: {differing} of {total:,}{of_these} {changed:,}")
    return differing


def differing_numbers(computed, expected):
    """How many words differ, but for NaNs, which a processor and a GPU write with other bits."""
    differing = 0
    for (_, data), (_, right) in zip(computed.pieces, expected.pieces):
        both_nan = np.isnan(data.view(np.float32)) & np.isnan(right.view(np.float32))
        differing += int(((data.view(np.uint32) != right.view(np.uint32)) & ~both_nan).sum())
    return differing


def print_races(races):
    for race in races:
        other = f"warp {race.other & 255} of block {race.other >> 8}" if race.other >= 0 else "several warps"
        rank, number = race.warp
        print(f"  race: warp {number} of block {rank} {'writes' if race.writes else 'reads'} the byte at {race.place} "
              f"of shared memory at 0x{race.instruction.address:x} ({race.instruction.text}), which {other} accessed "
              "since the last barrier")
    print(f"races in shared memory: {len(races)}")


def listed(counter, divisor):
    return ", ".join(f"{cause} {cycles / divisor:.0f}" for cause, cycles in counter.most_common(SHOWN_CAUSES))


def print_counts(executed, wavefronts, code):
    products = sum(count for at, count in executed.items() if code[at].opcode == "FFMA")
    print(f"instructions of warps: {executed.total():,}, of which FFMA: {products:,}; wavefronts of shared memory: "
          f"{wavefronts:,}; {len(executed):,} of {len(code):,} instructions were reached")


def print_time(groups, code):
    statistics, cycles = groups.longest, groups.longest_cycles
    causes = sum((phase.causes for phase in statistics.phases), collections.Counter())
    print(f"estimated time of the longest group: {cycles:,} cycles, {cycles / CLOCK_GHZ / 1000:.1f} us at {CLOCK_GHZ} "
          "GHz")
    print_counts(statistics.executed, statistics.wavefronts, code)
    print("cycles without an instruction, mean of the quarters of the first multiprocessor: " +
          listed(causes, QUARTERS))
    print(f"all {groups.count} groups: {groups.cycles:,} cycles")
    if groups.count > 1:
        print_counts(groups.executed, groups.wavefronts, code)


def print_phases(statistics):
    print("phase, address of the barrier that ends it, cycles: instructions of warps (most in a quarter), wavefronts; "
          "cycles without an instruction, by cause")
    for k, phase in enumerate(statistics.phases):
        quarters = [sum(count for warp, count in phase.warps.items() if warp % QUARTERS == q) for q in range(QUARTERS)]
        opcodes = " ".join(f"{name} {phase.opcodes[name]}" for name in OPERATIONS_OF_PHASES)
        end = "end" if phase.barrier_at is None else f"{phase.barrier_at * BYTES:x}"
        print(f"{k:3} {end:>6} {phase.end - phase.begin:7}: {sum(quarters):6} ({max(quarters):5}), "
              f"{phase.wavefronts:5}; {opcodes}; {listed(phase.causes, QUARTERS)}")


def print_trace(statistics, begin, end):
    last = begin
    for start, i in statistics.trace:
        if begin <= start < end:
            waits = [k for k in range(6) if i.wait_mask >> k & 1]
            print(f"{start:8} +{start - last:<5} {i.address:6x} {i.text:60} stall {i.stall}" +
                  (f", waits for {waits}" if waits else ""))
            last = start
