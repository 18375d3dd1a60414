"""An estimate of the time of a multiprocessor of an H100, cycle by cycle.

Modelled: a scheduler per quarter of the multiprocessor, which starts an instruction of one of its warps per cycle; what
the compiler wrote into the instructions (stall cycles and scoreboards); pipes that are busy; banks of registers; the
queue of shared memory with its wavefronts; latencies of memory; the first-level cache, without evictions; barriers.

Not modelled: other multiprocessors, and so contention for the second-level cache and for memory (what a kernel reads
is assumed to be in the second-level cache); the second register of a pair; how long a store to distributed shared
memory is on its way; the start and the end of a kernel; a block that starts when another one ends (those that share a
multiprocessor start together). Which warp has the next turn is a guess: the one that was last, while it can go on. The
instruction cache is a guess altogether, and off unless it is asked for. On the one kernel that was measured on an H200,
the estimate was within about 10 to 20 %, then without banks of registers.

Sources: [L] of the size that Luo et al. report, Benchmarking and Dissecting the Nvidia Hopper GPU Architecture, 2024
(arXiv 2402.13499), without claim to its digits. [H] after the rules that Huerta et al. found for earlier GPUs,
Analyzing Modern NVIDIA GPU Cores, 2025 (arXiv 2503.20481). [N] NVIDIA's programming and tuning guides. [A] an
assumption, of the size that microbenchmarks of NVIDIA's recent GPUs report."""
from .parse import NO_SCOREBOARD

CLOCK_GHZ = 1.98  # the boost clock of an H100 SXM [N]
QUARTERS = 4  # of a multiprocessor, each with a scheduler [N]

# Cycles until a result is there.
SHARED_LOAD = 29  # [L]
SHARED_STORE = 6  # until its scoreboard is free [A]
L1_LOAD = 38  # a hit in the first-level cache [L]: about 40
L2_LOAD = 270  # [L]: about 260; 10 more on the way [A]
GLOBAL_STORE = 10  # until its scoreboard is free [A]
SHUFFLE = 24  # [A]
CONSTANT_LOAD = 30  # LDC that hits [A]
SPECIAL_REGISTER = 25  # S2R, S2UR, R2UR [A]
SPECIAL_FUNCTION = 23  # MUFU [A]
CONVERSION = 14  # [A]
DOUBLE = 9  # DADD [A]
OPERANDS_READ = 6  # until the registers of an instruction with a queue may be overwritten [A]
OPERANDS_READ_LATEST = 12  # [A]
SHARED_OPERANDS_READ = 8  # after its turns in the queue [A]

# Cycles of control.
TAKEN_BRANCH = 9  # [A]
BLOCK_BARRIER = 22  # from the last warp's arrival until the first instruction [A]
CLUSTER_BARRIER = 190  # [A], from the latency between multiprocessors, about 180 [L]
FENCE_OF_DEVICE = 700  # MEMBAR of the device or the system [A]
FENCE_OF_BLOCK = 20  # MEMBAR.CTA [A]

# Cycles that an instruction of a warp occupies a pipe of a quarter: 32 lanes / lanes of the pipe [N].
PIPE_CYCLES = {"fma": 1, "fma heavy": 2, "alu": 2, "special": 8, "double": 2, "memory": 2, "uniform": 2}
MEMORY_QUEUE = 8  # wavefronts that may wait before a quarter has to wait [A]
SECTORS_PER_CYCLE = 4  # of the first-level cache, 32 bytes each [N]
L2_SECTORS_PER_CYCLE = 2  # from the second-level cache to a multiprocessor, 64 bytes [A]

# Registers of a quarter [H]. A bank gives an operand per cycle, to an instruction within some cycles after it has
# started; otherwise the quarter waits. An operand marked `reuse` stays at its place until another one of its bank is
# read there. Loops of 64 sums in registers reach 87 to 91 of 128 products per cycle on an H100 in one order, 108 to 119
# in another; by these rules it is 90 to 92 and 108 to 119, but for two of eight loops (111, 94).
REGISTER_BANKS = 2
READ_WITHIN = 2  # cycles [A]; 3 in [H]

# The instruction cache [A].
CACHE_LINE = 8  # instructions: 128 bytes
L0_LINES = 32  # of a quarter
L1_LINES = 1024  # of the multiprocessor: 128 KB
FETCH_NEXT = 8  # cycles for the line after one that is in the quarter
FETCH_FROM_L1 = 25
FETCH_FROM_L2 = 250
PREFETCHED_LINES = 4

PIPES = {
    "fma": "FFMA FMUL FADD",
    "fma heavy": "IMAD HFMA2",
    "alu": "IADD3 VIADD LEA LOP3 SHF SEL FSEL ISETP FSETP IABS FMNMX VIMNMX VIADDMNMX MOV PRMT P2R R2P PLOP3 I2FP POPC "
           "VOTE CS2R",
    "special": "MUFU I2F F2I F2F FCHK",
    "double": "DADD DMUL DFMA DSETP",
    "memory": "LDS STS LDL STL LDG STG ST LD LDGSTS SHFL LDC S2R",
    "uniform": "UMOV ULDC UIADD3 UIMAD ULEA ULOP3 USHF USEL UISETP UPRMT UPLOP3 VOTEU R2UR S2UR",
}
PIPE_OF = {opcode: pipe for pipe, opcodes in PIPES.items() for opcode in opcodes.split()}
QUEUE_LATENCY = {"LDS": SHARED_LOAD, "STS": SHARED_STORE, "SHFL": SHUFFLE, "LDC": CONSTANT_LOAD,
                 "S2R": SPECIAL_REGISTER}


def pipe_of(instruction):
    if instruction.pipe is None:
        instruction.pipe = PIPE_OF.get(instruction.opcode, "")
    return instruction.pipe


class MultiprocessorTimes:
    """When the parts of a multiprocessor, which all its blocks share, are free again."""

    def __init__(self):
        self.pipes = [dict.fromkeys(PIPE_CYCLES, 0) for _ in range(QUARTERS)]
        self.memory_queue = self.l2_path = 0
        self.l1_sectors = set()
        self.l0_lines = [{} for _ in range(QUARTERS)]  # line -> when it is there
        self.l1_lines = {}
        self.banks_free = [[0] * REGISTER_BANKS for _ in range(QUARTERS)]
        self.kept_operands = [{} for _ in range(QUARTERS)]  # (bank, place) -> (warp, register)

    def read_registers(self, quarter, warp, instruction, now):
        """Notes the operands that an instruction reads. For how many cycles the quarter has to wait for them."""
        free, kept, needed = self.banks_free[quarter], self.kept_operands[quarter], [0] * REGISTER_BANKS
        for place, register, is_kept in instruction.reads:
            bank = register % REGISTER_BANKS
            needed[bank] += kept.pop((bank, place), None) != (warp, register)
            if is_kept:
                kept[bank, place] = warp, register
        waits = 0
        for bank, count in enumerate(needed):
            if count:
                free[bank] = max(free[bank], now + 1) + count
                waits = max(waits, free[bank] - 1 - now - READ_WITHIN)
        return waits

    def fetched(self, quarter, at, now):
        """When the line of an instruction is in the cache of its quarter."""
        line, l0, l1 = at // CACHE_LINE, self.l0_lines[quarter], self.l1_lines
        if line in l0:
            return l0[line]
        if line in l1:
            there = max(now, l1[line])
        else:
            there = now + FETCH_FROM_L2
            for k in range(PREFETCHED_LINES):
                l1.setdefault(line + k, there + 2 * k)
        l0[line] = there + (FETCH_NEXT if line - 1 in l0 else FETCH_FROM_L1)
        for cache, most in ((l0, L0_LINES), (l1, L1_LINES)):
            while len(cache) > most:
                del cache[next(iter(cache))]
        return l0[line]


class WarpTimes:
    """When a warp's next instruction may start as far as the compiler said, and when its scoreboards are free."""

    def __init__(self):
        self.ready = 0
        self.scoreboards, self.causes = [0] * 6, [""] * 6
        self.copies = 0  # when all copies so far are done
        self.groups_of_copies = []

    def hold(self, scoreboard, until, cause):
        if scoreboard != NO_SCOREBOARD and until >= self.scoreboards[scoreboard]:
            self.scoreboards[scoreboard], self.causes[scoreboard] = until, cause


class TimeModel:
    def __init__(self, instruction_cache):
        self.instruction_cache = instruction_cache

    def start_of(self, quarter, warp, instruction, now):
        """When an instruction can start, and what it waits for last."""
        times, shared, start, cause = warp.times, warp.block.times, warp.times.ready, "stall"
        for k in range(6):
            if instruction.wait_mask >> k & 1 and times.scoreboards[k] > start:
                start, cause = times.scoreboards[k], times.causes[k]
        if instruction.opcode == "DEPBAR":
            older = len(times.groups_of_copies) - 1 - int(instruction.operands[1], 16)
            if older >= 0 and times.groups_of_copies[older] > start:
                start, cause = times.groups_of_copies[older], "copies"
        pipe = pipe_of(instruction)
        if pipe:
            if shared.pipes[quarter][pipe] > start:
                start, cause = shared.pipes[quarter][pipe], "pipe " + pipe
            if pipe == "memory" and shared.memory_queue - MEMORY_QUEUE > start:
                start, cause = shared.memory_queue - MEMORY_QUEUE, "memory queue"
        if self.instruction_cache and start <= now:
            there = shared.fetched(quarter, warp.at, now)
            if there > start:
                start, cause = there, "instructions"
        return start, cause

    def latency(self, warp, instruction, now):
        """Cycles until the result of an instruction is there, for those with a scoreboard."""
        times, opcode, pipe = warp.block.times, instruction.opcode, instruction.pipe
        if opcode in QUEUE_LATENCY:
            times.memory_queue = max(now, times.memory_queue) + warp.wavefronts
            return times.memory_queue - now - 1 + QUEUE_LATENCY[opcode]
        if opcode in ("LDG", "LD", "LDGSTS"):
            return self.device_load(times, warp, instruction, now)
        if opcode in ("STG", "ST"):
            turns = max(warp.wavefronts, -(-len(warp.sectors) // SECTORS_PER_CYCLE))
            times.memory_queue = max(now, times.memory_queue) + turns
            return times.memory_queue - now + GLOBAL_STORE
        if pipe == "special":
            return SPECIAL_FUNCTION if opcode == "MUFU" else CONVERSION
        if pipe == "double":
            return DOUBLE
        return SPECIAL_REGISTER if opcode in ("S2UR", "R2UR") else 0

    def device_load(self, times, warp, instruction, now):
        cached = instruction.opcode != "LDGSTS"  # copies pass by the first-level cache
        start = max(now, times.memory_queue)
        times.memory_queue = start + max(1, -(-len(warp.sectors) // SECTORS_PER_CYCLE))
        missing = warp.sectors - times.l1_sectors if cached else warp.sectors
        if cached and not missing and "STRONG" not in instruction.modifiers:
            return times.memory_queue - now + L1_LOAD
        times.l2_path = max(times.l2_path, start) + max(1, len(missing) / L2_SECTORS_PER_CYCLE)
        if cached:
            times.l1_sectors |= warp.sectors
        return int(times.l2_path - now) + L2_LOAD

    def started(self, quarter, warp, instruction, now):
        """Notes what an instruction that starts now, and was executed, occupies. When the quarter can go on."""
        times, shared, opcode = warp.times, warp.block.times, instruction.opcode
        pipe = pipe_of(instruction)
        if pipe:
            shared.pipes[quarter][pipe] = now + PIPE_CYCLES[pipe]
        latency = self.latency(warp, instruction, now)
        times.hold(instruction.write_scoreboard, now + latency, opcode)
        of_read = latency - SHARED_LOAD + SHARED_OPERANDS_READ if opcode in ("LDS", "STS") else OPERANDS_READ_LATEST
        times.hold(instruction.read_scoreboard, now + max(OPERANDS_READ, min(latency, of_read)), opcode + "'s operands")
        if opcode == "LDGSTS":
            times.copies = max(times.copies, now + latency)
        elif opcode == "LDGDEPBAR":
            times.groups_of_copies.append(max(times.copies, now))
        elif opcode == "CCTL":
            shared.l1_sectors.clear()
        waits = shared.read_registers(quarter, warp, instruction, now)
        times.ready = now + max(1, instruction.stall) + waits
        if opcode == "MEMBAR":
            of_block = "CTA" in instruction.modifiers
            times.ready = max([now + FENCE_OF_BLOCK, *times.scoreboards]) if of_block else now + FENCE_OF_DEVICE
        return now + 1 + waits
