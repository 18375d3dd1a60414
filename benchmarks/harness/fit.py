"""Fits one constant at a time of what chooses between plans of a kernel: which value loses the least time over a set of
works, and how sure that is. It knows nothing of kernels: refit.py measures."""
import math
import random
import statistics
from dataclasses import dataclass, field

CLEAR = 0.95  # of the resamples must prefer another value,
GAIN = 0.01   # it must save this part of the time,
WORKS = 8     # and so many works must depend on it, before it is worth a change


@dataclass
class Work:
    """What was measured of one work: `plans` is {(constant, value): plan}, with the plan of the present constants as
    `now`, `times` {plan: [microseconds of each round, ...]}; all rounds have all plans."""
    name: str
    now: str
    plans: dict = field(default_factory=dict)
    times: dict = field(default_factory=dict)

    def plan(self, constant, value):
        return self.plans.get((constant, value), self.now)

    def lost(self, plan, rounds):
        """log of the time of a plan / that of the best one, by the least times of some rounds."""
        least = {p: min(times[r] for r in rounds) for p, times in self.times.items()}
        return math.log(least[plan] / min(least.values()))


@dataclass
class Fit:
    """What a constant loses, as a part of the time of the best plans: 0.02 is 2 % longer."""
    constant: str
    now: float
    best: float
    lost_now: float
    lost_best: float
    works: int    # whose plan depends on the constant
    sure: float   # the share of resamples in which `best` takes less time than `now`

    @property
    def clear(self):
        gain = self.lost_now - self.lost_best
        return self.best != self.now and self.works >= WORKS and self.sure >= CLEAR and gain >= GAIN


def rounds_of(works):
    return range(min((len(times) for work in works for times in work.times.values()), default=0))


def mean_lost(works, constant, value, rounds):
    """Geometric mean over works, less 1."""
    losses = [work.lost(work.plan(constant, value), rounds) for work in works]
    return math.exp(statistics.fmean(losses)) - 1 if losses else 0.0


def fit(works, constant, now, values, resamples=200, seed=1):
    """The value of `values` or `now` that loses the least, over the works whose plan depends on it."""
    own = [work for work in works if any(work.plan(constant, value) != work.now for value in values)]
    rounds = rounds_of(own)
    lost = {value: mean_lost(own, constant, value, rounds) for value in {now, *values}}
    # of values that lose the same, the one that is nearest to the present one
    best = min(lost, key=lambda value: (round(lost[value], 9), abs(math.log(value / now))))
    draw, better = random.Random(seed), 0
    for _ in range(resamples if best != now else 0):
        some = [draw.choice(own) for _ in own]
        halves = [draw.choice(rounds) for _ in rounds]
        better += mean_lost(some, constant, best, halves) < mean_lost(some, constant, now, halves)
    sure = better / resamples if best != now else 0.0
    return Fit(constant, now, best, lost[now], lost[best], len(own), sure)


def total_lost(works):
    """What the present constants lose against always choosing the best plan that was measured. The best plan is found
    in every other round, and compared in the rest: the least of several noisy times would seem better than it is."""
    rounds, losses = rounds_of(works), []
    for work in works:
        for found, compared in ((rounds[::2], rounds[1::2]), (rounds[1::2], rounds[::2])):
            best = min(work.times, key=lambda plan: min(work.times[plan][r] for r in found))
            losses.append(work.lost(work.now, compared) - work.lost(best, compared))
    return math.exp(statistics.fmean(losses)) - 1 if losses else 0.0


def around(now):
    """Values to try in place of `now`."""
    return sorted({max(1, round(now * factor)) for factor in (1 / 4, 1 / 2, 3 / 4, 4 / 3, 2, 4)} - {now})


def table(fits, works):
    """Markdown."""
    lines = ["| constant | now | fitted | loses now | loses fitted | works | sure | |",
             "|---|---|---|---|---|---|---|---|"]
    for f in fits:
        if not f.works:
            lines.append(f"| {f.constant} | {f.now} | | | | 0 | | no plan depends on it |")
            continue
        verdict = "change" if f.clear else ""
        lines.append(f"| {f.constant} | {f.now} | {f.best} | {f.lost_now:.2%} | {f.lost_best:.2%} | {f.works} "
                     f"| {f.sure:.0%} | {verdict} |")
    lines.append(f"\nOver all {len(works)} works the present constants take {total_lost(works):.2%} longer than the "
                 "best plans that were measured.")
    return "\n".join(lines)
