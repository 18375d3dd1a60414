"""Tests of what compare.py computes itself: `python3 -m unittest harness.selftest` in benchmarks/."""
import math
import tempfile
import unittest

from harness import environment, figures, isa, readme, report, shapes
from harness.measure import PROBES, Result, clean, disagreement
from harness.plan import Bar, Convolution, GeometricMean, Work, convolution


def result_of(name, ours, theirs, bars=()):
    """Three rounds in which a call took these times."""
    result = Result(Work(name, name, ("pytorch",), ("pynative",), 2e6, bars=bars))
    result.times = {"pynative": [(ours, ours)] * 3, "pytorch": [(theirs, theirs)] * 3}
    result.peaks = [100.0] * 3
    return result


class Shapes(unittest.TestCase):
    def test_a_name_tells_the_shape(self):
        s = Convolution(7, 6, 31, 17, 8, (1, 7), (2, 1), (0, 3), (1, 2), 2)
        self.assertEqual(convolution(s.name("forward")), s)
        self.assertEqual((s.weight, s.result, s.flops), ((8, 3, 1, 7), (8, 16, 11), 2 * 7 * 8 * 16 * 11 * 3 * 7))

    def test_a_seed_draws_the_same_shapes(self):
        drawn = shapes.drawn(40, 1)
        self.assertEqual([s.name for s in drawn], [s.name for s in shapes.drawn(40, 1)])
        self.assertNotEqual([s.name for s in drawn], [s.name for s in shapes.drawn(40, 2)])
        self.assertEqual({s.name.split("/")[0] for s in drawn}, {"conv", "matmul", "pool", "rows", "reduce"})


class Numbers(unittest.TestCase):
    def test_disagreement(self):
        self.assertIsNone(disagreement([1.0, 2.0], [1.0, 2.0002], 1e-4)[1])
        for theirs in ([1.0], [1.0, 2.1], [1.0, math.nan]):
            self.assertIsNotNone(disagreement([1.0, 2.0], theirs, 1e-4)[1])
        self.assertIsNotNone(disagreement([1.0], [1.0 + 1e-9], 0)[1])


class Noise(unittest.TestCase):
    def round(self, waited=0.0, **slower):
        """A round in which some probes reached this share of what they can."""
        return {name: 100 * slower.get(name, 1) for name in PROBES}, {"pynative": (10, 10, waited)}

    def test_a_round_is_dropped_for_any_probe_and_for_waiting(self):
        quiet = [self.round(), self.round(fma=0.9, l2=0.8, l3=0.7, memory=0.75), self.round(waited=0.05)]
        for name, probe in PROBES.items():
            self.assertEqual(clean([*quiet, self.round(**{name: probe.least - 0.01})]), quiet)
        self.assertEqual(clean([*quiet, self.round(waited=0.2)]), quiet)
        self.assertEqual(clean([]), [])

    def test_the_speeds_are_a_sentence(self):
        result = result_of("a", 10, 10)
        result.streams = {"l2": [90.4, 110], "l3": [80, 99], "memory": [17, 20]}
        sentence = "FMA peak of one core 100-100 GFLOP/s; it read L2 at 90-110, L3 at 80-99, memory at 17-20 GB/s"
        self.assertEqual(report.speeds([result]), sentence)


class InstructionSets(unittest.TestCase):
    def test_every_library_is_bound_and_every_tree_its_own(self):
        bound = environment.variables(1, "avx2")
        for name in ("ONEDNN_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS", "OPENBLAS_CORETYPE", "ATEN_CPU_CAPABILITY"):
            self.assertIn(name, bound)
        self.assertTrue(bound["XLA_FLAGS"].startswith("--xla_cpu_max_isa=AVX2 "))  # XLA stops at a word without --
        self.assertNotIn("max_isa", environment.variables(1, "native")["XLA_FLAGS"])
        self.assertEqual([isa.suffix(name) for name in isa.MARCH], ["", "-avx2"])

    def test_what_libraries_print_is_read(self):
        lines = ["MKL_VERBOSE oneMKL 2024.0 for Intel(R) 64 architecture Intel(R) AVX2 enabled processors, Lnx",
                 "onednn_verbose,v1,info,cpu,isa:Intel AVX2"]
        self.assertEqual(isa.libraries_of(lines), ["MKL Intel(R) AVX2 enabled processors", "oneDNN Intel AVX2"])
        self.assertEqual(isa.libraries_of([]), [])


class Report(unittest.TestCase):
    def test_a_bar_is_met_by_both_ratios(self):
        fast, slow = (result_of("a", 10, time, (Bar("1", "pytorch", 2, ours="pynative"),)) for time in (21, 19))
        self.assertEqual([report.rows_of(r, 1)[0].met for r in (fast, slow)], ["gate", "no"])
        slow.times["pytorch"] = [(21, 21), (21, 19), (21, 21)]  # the least times only
        self.assertEqual(report.rows_of(slow, 1)[0].met, "no")

    def test_without_a_gate_the_ratio_is_shown(self):
        row = report.rows_of(result_of("a", 10, 30, (Bar("1", "pytorch", ours="pynative"),)), 1)[0]
        self.assertEqual((row.ratio, row.met), (3, ""))

    def test_a_mean_and_its_least(self):
        results = {"a": result_of("a", 10, 40), "b": result_of("b", 10, 10)}
        mean = GeometricMean("9", "works", ("a", "b"), "pytorch", 1.5, ours="pynative")
        self.assertAlmostEqual(report.row_of_mean(mean, results, 1).ratio, 2)
        self.assertEqual(report.row_of_mean(mean, results, 1).met, "gate")
        strict = GeometricMean("9", "works", ("a", "b"), "pytorch", 1.5, least=1.1, ours="pynative")
        self.assertEqual(report.row_of_mean(strict, results, 1).met, "no")

    def test_shapes_below_a_half_are_counted(self):
        table = report.of_shapes([result_of("rows/softmax/2x3", 10, 4), result_of("rows/softmax/4x5", 10, 40)], 1)
        self.assertIn("| rows/softmax | 2 | 1.26 | 0.400 | 1 |", table)


class Readme(unittest.TestCase):
    def test_the_machine_has_the_instruction_set_that_was_used(self):
        sentence = readme.machine("a processor", "AVX2 with FMA", "g++ 12 -O2", {"torch": "2", "jax": "1"})
        begin = "Measured on a processor with AVX2 with FMA, g++ 12 -O2, one thread unless the row states"
        self.assertTrue(sentence.startswith(begin + " another number; jax 1, torch 2. "))

    def test_lines_are_replaced_and_others_stay(self):
        rows = report.rows_of(result_of("a", 10, 30, (Bar("1", "pytorch", 2, ours="pynative"),)), 1)
        lines = readme.lines_of(rows, [figures.Figure("18", "start", "", 4.5, "ms", 23, "start")], 1)
        with tempfile.NamedTemporaryFile("w+") as file:
            file.write(
                "\n".join(
                    [
                        "above",
                        readme.BEGIN,
                        "old machine",
                        "",
                        *readme.HEAD,
                        "| a | old | `x` |",
                        "| b | kept | `y` |",
                        readme.END,
                        "below\n",
                    ]
                )
            )
            file.flush()
            readme.update(file.name, lines, "new machine")
            readme.update(file.name, lines, "new machine")
            file.seek(0)
            text = file.read()
        for part in (
            "above\n",
            "new machine",
            "| a | pynative 10.0 µs: 3.00 x pytorch | `compare.py --only a` |",
            "| b | kept | `y` |",
            "| start | 4.50 ms | `compare.py --only start` |",
            "\nbelow\n",
        ):
            self.assertEqual(text.count(part), 1, part)
        self.assertNotIn("old", text)


if __name__ == "__main__":
    unittest.main()
