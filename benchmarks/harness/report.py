"""From times to ratios, bars, a Markdown table, and results.json."""
import dataclasses
import math
import statistics

from harness.plan import Bar


@dataclasses.dataclass
class Row:
    """One line of the table. ratio and least are how many times as fast as the rival ours is, or the share of the
    peak."""
    row: str
    what: str
    ours: str = ""
    microseconds: float = math.nan
    rivals: dict = dataclasses.field(default_factory=dict)
    against: str = ""
    ratio: float = math.nan
    least: float = math.nan
    gate: float = math.nan
    goal: float = math.nan
    met: str = ""
    share: float = math.nan
    arena: float = math.nan  # KB
    allocations: float = math.nan
    note: str = ""
    title: str = ""  # of its line in docs/figures.md
    only: str = ""   # what measures it again: compare.py --only ...


def share_of_peak(result, side, threads):
    """Median over the rounds, and of the least time and the highest peak."""
    flops = result.work.flops
    per_round = [flops / median / 1e3 / (peak * threads) for (median, _), peak in zip(result.times[side], result.peaks)]
    return statistics.median(per_round), flops / result.least(side) / 1e3 / (max(result.peaks) * threads)


def ratio(result, ours, rival):
    """Median of the ratios of the rounds, ratio of the least times, and the rival (for "best": which was it mostly)."""
    names = [name for name in result.work.rivals if name in result.times] if rival == "best" else [rival]
    if not names or any(name not in result.times for name in (ours, *names)):
        return None
    mine, theirs = result.times[ours], [result.times[name] for name in names]
    per_round = [min(times[k][0] for times in theirs) / mine[k][0] for k in range(len(mine))]
    fastest = min(names, key=result.median)
    return statistics.median(per_round), min(map(result.least, names)) / result.least(ours), fastest


def met(bar, *values, extra=True):
    """Both ways of taking the ratio must clear a bar."""
    if not extra or not min(values) >= bar.gate:
        return "no"
    return "goal" if min(values) >= bar.goal else "gate"


def row_of(result, bar, threads):
    ours = bar.ours
    row = Row(bar.row, result.work.what, ours, against=bar.rival, title=result.work.what, only=result.work.name)
    row.note = ", ".join([f"{side} differs" for side in result.differs] + ["noisy"] * result.noisy)
    if math.isfinite(bar.gate):
        row.gate, row.goal = bar.gate, bar.goal
    if ours not in result.times:
        row.met = "differs" if ours in result.differs else "missing"
        return row
    row.microseconds = result.median(ours)
    if result.facts.get(ours):
        row.arena, row.allocations = result.facts[ours][0] / 1024, result.facts[ours][1]
    row.rivals = {
        name: result.median(name) for name in result.times if name not in result.work.ours or name == bar.rival
    }
    if result.work.flops:
        row.share = share_of_peak(result, ours, threads)[0]
    if bar.rival == "peak":
        row.ratio, row.least = share_of_peak(result, ours, threads)
    else:
        found = ratio(result, ours, bar.rival)
        if not found:
            row.met = "differs" if bar.rival in result.differs else "missing"
            return row
        row.ratio, row.least, row.against = (
            found[0],
            found[1],
            f"best: {found[2]}" if bar.rival == "best" else bar.rival,
        )
    row.met = met(bar, row.ratio, row.least) if math.isfinite(bar.gate) else ""
    return row


def bars_of(work, threads):
    return [bar for bar in work.bars if bar.threads in (None, threads)]


def rows_without(work, threads):
    """The bars of a work that was not measured."""
    what = f"{work.what} (skipped: {work.lacks})"
    return [
        Row(bar.row, what, bar.ours, against=bar.rival, gate=bar.gate, goal=bar.goal, met="missing")
        for bar in bars_of(work, threads)
    ]


def rows_of(result, threads):
    bars = bars_of(result.work, threads)
    # A work without a bar of its own for these threads is shown all the same.
    return [row_of(result, bar, threads) for bar in bars or [Bar("", "best", math.nan, math.nan, result.work.ours[0])]]


def row_of_mean(mean, results, threads):
    found = {
        name: ratio(results[name], mean.ours or results[name].work.ours[0], mean.rival)
        for name in mean.works
        if name in results
    }
    found = {name: value for name, value in found.items() if value}
    row = Row(
        mean.row,
        f"{mean.what}: {mean.middle} of {len(found)}",
        mean.ours or "ours",
        against=mean.rival,
        gate=mean.gate,
        goal=mean.goal,
    )
    row.title, row.only = row.what, mean.row
    if len(found) < len(mean.works):
        row.met = "missing"
        return row
    middle = statistics.median if mean.middle == "median" else statistics.geometric_mean
    row.ratio, row.least = (middle([value[k] for value in found.values()]) for k in (0, 1))
    slowest = min(found, key=lambda name: found[name][0])
    row.note = f"least {found[slowest][0]:.2f} at {slowest}" + (f", must be {mean.least}" if mean.least else "")
    row.met = (
        met(mean, row.ratio, row.least, extra=found[slowest][0] >= mean.least)
        if mean.threads in (None, threads) and math.isfinite(mean.gate)
        else ""
    )
    return row


def speeds(results):
    """FMA peak of one core 115-117 GFLOP/s; it read L2 at 95-118, L3 at 80-100, memory at 17-19 GB/s."""
    def span(values):
        return f"{min(values):.0f}-{max(values):.0f}"

    streams = {}
    for result in results:
        for name, values in result.streams.items():
            streams.setdefault(name, []).extend(values)
    read = ", ".join(f"{name.upper() if name != 'memory' else name} at {span(v)}" for name, v in streams.items())
    peaks = [peak for result in results for peak in result.peaks]
    return f"FMA peak of one core {span(peaks)} GFLOP/s" + (f"; it read {read} GB/s" if read else "")


def number(value, digits=3):
    """So many digits that count, without an exponent."""
    if not math.isfinite(value):
        return ""
    if value >= 10 ** (digits - 1) or value == 0:
        return f"{value:.0f}"
    return f"{value:.{digits - 1 - math.floor(math.log10(value))}f}"


def plain(value):
    return f"{value:g}" if math.isfinite(value) else ""


COLUMNS = (
    "row",
    "work",
    "ours, us",
    "rivals, us",
    "against",
    "median ratio",
    "min/min",
    "gate",
    "goal",
    "met",
    "share of peak",
    "arena, KB",
    "allocations",
)


def cells(row):
    times = ", ".join(f"{name} {number(value, 4)}" for name, value in row.rivals.items())
    ours = f"{number(row.microseconds, 4)} {row.ours}".strip()
    share = f"{100 * row.share:.0f} %" if math.isfinite(row.share) else ""
    what = row.what + (f" ({row.note})" if row.note else "")
    return (
        row.row,
        what,
        ours,
        times,
        row.against,
        number(row.ratio),
        number(row.least),
        plain(row.gate),
        plain(row.goal),
        row.met,
        share,
        number(row.arena) if row.arena else "",
        plain(row.allocations),
    )


def table(columns, lines):
    return "\n".join("| " + " | ".join(line) + " |" for line in (columns, ["---"] * len(columns), *lines))


def markdown(rows, figures):
    tables = [table(COLUMNS, map(cells, rows))] if rows else []
    if figures:
        bounds = [f"{plain(f.gate)} {f.unit}".strip() if math.isfinite(f.gate) else "" for f in figures]
        lines = [
            (f.row, f.what, f"{number(f.value)} {f.unit}".strip(), bound, f.met) for f, bound in zip(figures, bounds)
        ]
        tables.append(table(("row", "figure", "value", "at most", "met"), lines))
    return "\n\n".join(tables)


WORST = 40  # shapes in the table of --random


def of_shapes(results, threads):
    """Random shapes: what each kind of kernel reached, and the worst ones."""
    both = [result for result in results if {"pynative", "pytorch"} <= set(result.times)]
    found = sorted(((*ratio(result, "pynative", "pytorch")[:2], result) for result in both), key=lambda entry: entry[0])
    kinds = {}
    for median, _, result in found:
        kinds.setdefault(result.work.name.rsplit("/", 1)[0], []).append(median)
    kinds["all"] = [entry[0] for entry in found]
    summary = [
        (
            kind,
            str(len(values)),
            number(math.exp(statistics.fmean(map(math.log, values)))),
            number(min(values)),
            str(sum(value < 0.5 for value in values)),
        )
        for kind, values in kinds.items()
    ]
    worst = []
    for median, least, result in found[:WORST]:
        share = f"{100 * share_of_peak(result, 'pynative', threads)[0]:.0f} %" if result.work.flops else ""
        times = (number(result.median(side), 4) for side in ("pynative", "pytorch"))
        worst.append(
            (result.work.name + (" (noisy)" if result.noisy else ""), *times, number(median), number(least), share)
        )
    return (table(("kind", "shapes", "geometric mean", "worst", "below 0.5"), sorted(summary)) + "\n\n" +
            table(("worst shapes", "ours, us", "pytorch, us", "median ratio", "min/min", "share of peak"), worst))


def as_json(results, rows, figures, facts):
    def clean(value):
        if isinstance(value, dict):
            return {key: clean(v) for key, v in value.items()}
        return None if isinstance(value, float) and not math.isfinite(value) else value

    works = [
        {
            "name": r.work.name,
            "flops": r.work.flops,
            "tolerance": r.work.tolerance,
            "rounds_us": r.times,
            "peak_gflops": r.peaks,
            "streams_gb_s": r.streams,
            "dropped_rounds": r.dropped,
            "noisy": r.noisy,
            "largest_difference": r.largest,
            "differs": r.differs,
            "arena_bytes_and_allocations": r.facts,
        }
        for r in results
    ]
    return {"facts": facts, "rows": [clean(dataclasses.asdict(row)) for row in rows],
            "figures": [clean(dataclasses.asdict(figure)) for figure in figures], "works": works}
