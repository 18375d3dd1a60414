"""Blocks that run at the same time: those of a cluster, one per multiprocessor, or some that share a multiprocessor.
Their warps execute instructions in the order of the time model."""
import heapq

import numpy as np

from . import memory
from . import double_operations, float_operations, lane_operations, uniform_operations  # noqa: F401  add to OPERATIONS
from .control import CONTROL, Group
from .operands import UINT, BadOperand, predicate
from .operations import OPERATIONS
from .parse import BYTES, Failed, NotKnown
from .time_model import QUARTERS, MultiprocessorTimes, WarpTimes

REGISTERS, UNIFORM_REGISTERS, PREDICATES = 256, 64, 8
# Where the kernel's constants, c[0x0], have what it is launched with, in bytes.
BLOCK_SIZE_AT, GRID_SIZE_AT, STACK_AT, CLUSTER_AT, ARGUMENTS_AT = 0x0, 0xC, 0x28, 0x140, 0x210


class Stuck(Failed):
    pass


class Warp:
    def __init__(self, block, number):
        self.block, self.number, self.constants = block, number, block.machine.constants
        self.registers = np.zeros((REGISTERS, 32), UINT)
        self.predicates = np.zeros((PREDICATES, 32), bool)
        self.predicates[-1] = True
        self.uniform_registers = np.zeros(UNIFORM_REGISTERS, UINT)
        self.uniform_predicates = [False] * (PREDICATES - 1) + [True]
        self.meetings = {}  # of each lane, by the name of a barrier such as B0
        self.ended = np.zeros(32, bool)
        self.groups = [Group(0, np.ones(32, bool))]
        self.state = "runs"  # or "block barrier", "cluster barrier", "done"
        self.barriers = self.cluster_barriers_reached = self.cluster_barriers_passed = 0
        self.copies = [[]]  # groups of those to shared memory that are on their way; the last one is still open
        self.stack = np.zeros(32 * memory.STACK_BYTES, np.uint8)
        self.times = WarpTimes()
        self.wavefronts, self.sectors = 1, set()  # of the instruction that was executed last

    @property
    def group(self):
        """The group of threads that goes on: the first one that does not wait for another."""
        return next((group for group in self.groups if group.waits_for is None), None)

    @property
    def at(self):
        return self.group.at

    def execute(self, i):
        """Registers and memory."""
        group = self.group
        mask = group.threads if i.predicate is None else group.threads & predicate(self, i.predicate)
        self.wavefronts, self.sectors = 1, set()
        if i.opcode not in CONTROL and mask.any():  # the predicate of what is uniform is the same for all lanes
            try:
                OPERATIONS[i.opcode](self, i, mask)
            except (BadOperand, KeyError, IndexError, ValueError) as error:
                raise NotKnown(i) from error
        return group, mask

    def go_on(self, group, i, mask, now):
        """To the next instruction; after the time model has noted when this one started."""
        if i.opcode not in CONTROL:
            group.at += 1
            return
        CONTROL[i.opcode](self, group, i, mask, now)
        if self.groups and self.group is None:
            raise Stuck(f"All threads of warp {self.number} wait for each other at 0x{i.address:x}.")


class Block:
    """`index` is its number in the grid, `rank` in its cluster; `times` are those of its multiprocessor."""

    def __init__(self, machine, index, launch, times):
        self.machine, self.rank, self.index, self.times = machine, index % launch.cluster, index, times
        self.is_first = not machine.blocks
        self.shared = memory.Shared(self.rank, launch.shared_bytes, machine.finds_races)
        self.warps = [Warp(self, k) for k in range(launch.threads // 32)]


class Quarter:
    """The warps of a multiprocessor that one scheduler serves."""

    def __init__(self, blocks, number):
        self.number = number
        self.warps = [warp for block in blocks for warp in block.warps if warp.number % QUARTERS == number]
        self.free_at, self.looks_at, self.last = 0, 0, None


def constants_of(launch):
    constants = np.zeros(4096, UINT)
    arguments = b"".join(each + b"\0" * (-len(each) % 8) for each in launch.arguments)
    words = np.frombuffer(arguments, UINT)
    constants[ARGUMENTS_AT // 4:ARGUMENTS_AT // 4 + len(words)] = words
    constants[BLOCK_SIZE_AT // 4], constants[GRID_SIZE_AT // 4] = launch.threads, launch.blocks
    constants[BLOCK_SIZE_AT // 4 + 1:BLOCK_SIZE_AT // 4 + 3] = 1
    constants[GRID_SIZE_AT // 4 + 1:GRID_SIZE_AT // 4 + 3] = 1
    constants[STACK_AT // 4], constants[CLUSTER_AT // 4] = memory.STACK_TOP, launch.cluster > 1
    return constants


class Machine:
    """Runs blocks of a launch, of one group of Launch.groups(), on a memory."""

    def __init__(self, kernel, launch, device_memory, blocks, time_model, statistics, finds_races):
        self.code, self.jump_table = kernel.code, np.array(kernel.jump_table, UINT)
        self.memory, self.time_model, self.statistics = device_memory, time_model, statistics
        self.finds_races, self.races = finds_races, {}
        self.constants, self.cluster = constants_of(launch), launch.cluster
        self.cluster_barriers = self.cluster_open_at = 0
        self.woken = []  # blocks whose warps may go on, and when
        self.blocks, self.quarters, self.quarters_of = [], [], {}  # the numbers of quarters, by their times
        for together in ([each] for each in blocks) if launch.cluster > 1 else [blocks]:
            self.add_multiprocessor(together, launch)

    def add_multiprocessor(self, indices, launch):
        times, before = MultiprocessorTimes(), len(self.blocks)
        for index in indices:
            self.blocks.append(Block(self, index, launch, times))
        self.quarters_of[times] = range(len(self.quarters), len(self.quarters) + QUARTERS)
        self.quarters += [Quarter(self.blocks[before:], k) for k in range(QUARTERS)]

    def add_race(self, race):
        """One per instruction is enough."""
        self.races.setdefault((race.instruction.address, race.writes), race)

    def choose(self, quarter, now):
        """The warp that starts an instruction now, or when the first one can, and what that waits for."""
        chosen, soonest = None, None
        for warp in quarter.warps:
            if warp.state != "runs":
                continue
            start, cause = self.time_model.start_of(quarter.number, warp, self.code[warp.at], now)
            if start > now:
                soonest = min(soonest or (start, cause, warp), (start, cause, warp), key=lambda each: each[0])
            elif chosen is None or warp is quarter.last:
                chosen = warp
        return chosen, soonest

    def start(self, quarter, warp, now):
        instruction = self.code[warp.at]
        group, mask = warp.execute(instruction)
        self.statistics.started(warp, instruction, now)
        quarter.last, quarter.free_at = warp, self.time_model.started(quarter.number, warp, instruction, now)
        warp.go_on(group, instruction, mask, now)

    def run(self):
        """Each quarter is looked at when something can start there: the events of a queue ordered by time."""
        events = [(0, k) for k in range(len(self.quarters))]
        now = 0
        while events:
            now, k = heapq.heappop(events)
            quarter = self.quarters[k]
            if now < quarter.looks_at:
                continue  # an event that a later look replaced
            warp, soonest = self.choose(quarter, now) if now >= quarter.free_at else (None, (quarter.free_at, "", None))
            if warp:
                self.start(quarter, warp, now)
                soonest = (quarter.free_at, "", None)
            elif soonest and soonest[1]:
                self.statistics.waited(soonest[2], soonest[1], soonest[0] - now)
            quarter.looks_at = soonest[0] if soonest else 0
            if soonest:
                heapq.heappush(events, (soonest[0], k))
            self.wake(events, now)
        self.refuse_stuck()
        return now

    def wake(self, events, now):
        for index, at in ((k, max(at, now + 1)) for block, at in self.woken for k in self.quarters_of[block.times]):
            heapq.heappush(events, (at, index))
            self.quarters[index].looks_at = min(self.quarters[index].looks_at, at)
        self.woken.clear()

    def refuse_stuck(self):
        for block in self.blocks:
            for warp in block.warps:
                if warp.state != "done":
                    raise Stuck(f"Warp {warp.number} of block {block.index} waits for a {warp.state} at "
                                f"0x{warp.at * BYTES:x}, to which others do not come.")
