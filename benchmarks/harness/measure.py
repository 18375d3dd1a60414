"""Checks and times one work: all sides take turns in every round."""
import dataclasses
import math
import statistics


@dataclasses.dataclass(frozen=True)
class Probe:
    """A work of run/peak.cpp: every round begins with so many blocks of calls, some milliseconds together, and counts
    if it reaches the share `least` of the best round."""
    blocks: int
    calls: int
    least: float


# Multiply-adds in registers need nothing but the core: 98 % of the best in nine of ten rounds of a quiet machine.
# Streams depend on the pages that the probe got (L2) and on what all others do, outside of a virtual machine too (L3,
# memory): quiet, nine of ten rounds reach 82 %, 75 %, and 80 %. Each bound leaves a tenth of what is usual.
PROBES = {
    "fma": Probe(5, 10, 0.85),
    "l2": Probe(5, 100, 0.74),
    "l3": Probe(5, 8, 0.67),
    "memory": Probe(2, 1, 0.72),
}


@dataclasses.dataclass
class Result:
    """What was measured: per side the median and least times of its rounds in microseconds, and what one core could do
    in each round."""
    work: object
    times: dict = dataclasses.field(default_factory=dict)   # side: [(median, least), ...]
    peaks: list = dataclasses.field(default_factory=list)   # GFLOP/s
    streams: dict = dataclasses.field(default_factory=dict)  # "l2", "l3", "memory": [GB/s, ...]
    differs: dict = dataclasses.field(default_factory=dict)  # side: what is wrong with its numbers
    largest: dict = dataclasses.field(default_factory=dict)  # side: its largest difference from ours
    facts: dict = dataclasses.field(default_factory=dict)   # of ours: arena bytes and heap allocations of a call
    dropped: int = 0    # rounds in which another program took a processor
    noisy: bool = False  # too few other rounds: all are kept

    def median(self, side):
        return statistics.median(median for median, _ in self.times[side])

    def least(self, side):
        return min(least for _, least in self.times[side])


def disagreement(ours, theirs, tolerance):
    """The largest difference, and a sentence if it is too large."""
    if len(ours) != len(theirs):
        return 0, f"{len(theirs)} numbers instead of {len(ours)}"
    differences = [
        abs(a - b) if a == a and b == b else math.inf for a, b in zip(ours, theirs)
    ]  # max() passes over what is no number
    largest, bound = max(differences), tolerance * (1 + max(map(abs, ours)))
    if not largest <= bound:
        k = differences.index(largest)
        return largest, f"number {k} is {theirs[k]:.9g}, ours is {ours[k]:.9g}; allowed is a difference of {bound:.2g}"
    return largest, None


def counts(side, work, variant, turn):
    """Blocks and calls per block that fill a turn of so many microseconds."""
    one = min(side.time(work, variant, 1, 1)[1] for _ in range(3))
    one = side.time(work, variant, 3, max(1, int(turn / 20 / one)))[1]
    calls = max(1, round(turn / 5 / one))
    return max(1, min(5, round(turn / (calls * one)))), calls


def clean(taken):
    """The rounds in which no side lost its processors, caches, or memory to another program. What a side waits for its
    own threads is in its best round too."""
    if not taken:
        return []
    bounds = {name: PROBES[name].least * max(speeds[name] for speeds, _ in taken) for name in taken[0][0]}
    least = {name: min(turns[name][2] for _, turns in taken) for name in taken[0][1]}
    return [
        (speeds, turns)
        for speeds, turns in taken
        if all(speeds[name] >= bound for name, bound in bounds.items())
        and all(turns[name][2] <= least[name] + 0.1 for name in least)
    ]


def speeds_of(peak, events):
    """GFLOP/s or GB/s of each probe; `events` are its operations or bytes."""
    return {
        name: events[name] / peak.time(name, "-", probe.blocks, probe.calls)[0] / 1e3 for name, probe in PROBES.items()
    }


def measure(work, sides, peak, rounds, turn):
    """`sides` is {name: (process, variant)}, ours first; `peak` the process of run/peak.cpp; a turn takes so many
    microseconds."""
    result = Result(work)
    expected = None
    for name, (side, variant) in sides.items():
        values = side.check(work.name, variant)
        if name in work.ours:
            result.facts[name] = side.facts(work.name, variant)
        if expected is None:
            expected = values
            if any(v != v for v in values):
                result.differs[name] = "not a number"
        else:
            tolerance, compared = (0, None) if name in work.ours else (work.tolerance, work.compared)
            result.largest[name], wrong = disagreement(expected[:compared], values[:compared], tolerance)
            if wrong:
                result.differs[name] = wrong
    sides = {name: side for name, side in sides.items() if name not in result.differs}
    filling = {name: counts(side, work.name, variant, turn) for name, (side, variant) in sides.items()}
    events = {name: peak.check(name)[0] for name in PROBES}
    taken, order = [], list(sides)
    while len(taken) < 2 * rounds and len(clean(taken)) < rounds:
        turns = {}
        speeds = speeds_of(peak, events)
        for name in order:
            side, variant = sides[name]
            bearable = 0.1 + min((turns[name][2] for _, turns in taken), default=0)
            tries = []
            while len(tries) < 4 and not (tries and tries[-1][2] <= bearable):
                tries.append((*side.time(work.name, variant, *filling[name]), side.waited))
            turns[name] = min(tries, key=lambda turn: turn[2])
        taken.append((speeds, turns))
        order = order[1:] + order[:1]  # nobody always follows the same side
    kept = clean(taken)
    if len(kept) < (rounds + 1) // 2:
        result.noisy, kept = True, taken
    result.dropped = len(taken) - len(kept)
    result.peaks = [speeds["fma"] for speeds, _ in kept]
    result.streams = {name: [speeds[name] for speeds, _ in kept] for name in PROBES if name != "fma"}
    result.times = {name: [turns[name][:2] for _, turns in kept] for name in sides}
    return result
