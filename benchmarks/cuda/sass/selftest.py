"""Tests of the parts that execute machine code: `python3 -m unittest sass.selftest` in benchmarks/cuda."""
import fractions
import types
import unittest

import numpy as np

from . import control, dump, memory, parse, time_model
from . import uniform_operations  # noqa: F401  adds to OPERATIONS
from .double_operations import fused as fused_doubles
from .float_operations import fused
from .operands import FLOAT, LONG, UINT
from .operations import OPERATIONS

LOAD = """\t\tFunction : some_kernel
        /*0010*/              @!P3 LDS.128 R4, [R2.reuse+UR5+0x40] ;    /* 0x000040050204b984 */
                                                                        /* 0x003e480008000c00 */
"""


class Parse(unittest.TestCase):
    def test_an_instruction_and_what_it_waits_for(self):
        (load,) = parse.instructions(parse.functions(LOAD)["some_kernel"])
        self.assertEqual((load.address, load.opcode, load.modifiers, load.predicate), (16, "LDS", ["128"], "!P3"))
        self.assertEqual(load.operands, ["R4", "[R2+UR5+0x40]"])
        self.assertEqual((load.stall, load.write_scoreboard, load.read_scoreboard, load.wait_mask), (4, 1, 7, 3))

    def test_a_type_and_its_function_number_their_parts_differently(self):
        body = "N5tenon3abi6kernel4cuda4BodyINS2_3KeyENS0_4CallEE"
        names = ["_ZN5tenon3abi6kernel4cuda10run_blocksINS2_4BodyINS3_3KeyENS0_4CallEEEEvv", "_Zother"]
        self.assertEqual(parse.functions_of(body, names), names[:1])


class Registers(unittest.TestCase):
    def waits(self, *texts):
        """For how many cycles a quarter waits for registers of instructions that start one after the other."""
        times, all_waits, now = time_model.MultiprocessorTimes(), [], 0
        for text in texts:
            all_waits.append(times.read_registers(0, "a warp", parse.Instruction(0, text, 0), now))
            now += 1 + all_waits[-1]
        return all_waits

    def test_what_an_instruction_reads(self):
        reads = parse.Instruction(0, "FFMA.FTZ R1, R2.reuse, -R4, c[0x0][0x210]", 0).reads
        self.assertEqual(reads, [(1, 2, True), (2, 4, False)])
        reads = parse.Instruction(0, "STS.128 [R9+UR4], R16", 0).reads
        self.assertEqual(reads, [(0, 9, False), (1, 16, False)])

    def test_a_bank_gives_one_operand_per_cycle(self):
        self.assertEqual(self.waits(*["FFMA R0, R1, R2, R4"] * 6)[2:], [1, 1, 1, 1])
        self.assertEqual(self.waits(*["FFMA R0, R1, R2, RZ"] * 6), [0] * 6)

    def test_a_reused_operand_is_not_read_again(self):
        self.assertEqual(self.waits(*["FFMA R0, R1, R2.reuse, R4"] * 6), [0] * 6)
        self.assertEqual(self.waits(*["FFMA R0, R1, R2.reuse, R4", "FFMA R0, R1, R6.reuse, R4"] * 3)[2:], [1, 1, 1, 1])


class Floats(unittest.TestCase):
    def test_a_fused_multiply_add_rounds_once(self):
        generator = np.random.default_rng(1)
        x, y = (generator.normal(size=20000).astype(FLOAT) for _ in range(2))
        # sums that end half a digit of a float away from one, but for a little
        z = (generator.choice([1, 2.0**20, 2.0**-20, 2.0**-40], 20000) * generator.normal(size=20000)).astype(FLOAT)
        x[:3], y[:3] = 1 + 2.0**-12, [1 + 2.0**-12, 1 + 2.0**-12, -1 - 2.0**-12]
        z[:3] = [2.0**-60, -(2.0**-60), 2.0**-60]
        computed = fused(x, y, z)
        for a, b, c, got in zip(x, y, z, computed):
            exact = fractions.Fraction(float(a)) * fractions.Fraction(float(b)) + fractions.Fraction(float(c))
            nearest = min((np.nextafter(got, FLOAT(-np.inf)), got, np.nextafter(got, FLOAT(np.inf))),
                          key=lambda each: abs(fractions.Fraction(float(each)) - exact))
            self.assertEqual(nearest, got, (a, b, c))

    def test_this_differs_from_two_roundings(self):
        x, y, z = (np.full(32, each, FLOAT) for each in (1 + 2.0**-12, 1 + 2.0**-12, 2.0**-60))
        twice = (x.astype(float) * y.astype(float) + z.astype(float)).astype(FLOAT)
        self.assertTrue((fused(x, y, z) > twice).all())


    def test_doubles(self):
        self.assertEqual(fused_doubles(1 + 2.0**-30, 1 + 2.0**-30, -1 - 2.0**-29), 2.0**-60)
        self.assertEqual(fused_doubles(2.0**1023, 2.0, 1.0), np.inf)


class Integers(unittest.TestCase):
    def run_on(self, text, **registers):
        warp = types.SimpleNamespace(registers=np.zeros((256, 32), UINT), predicates=np.zeros((8, 32), bool))
        warp.predicates[7] = True
        for name, value in registers.items():
            warp.registers[int(name[1:])] = value
        instruction = parse.Instruction(0, text, 0)
        OPERATIONS[instruction.opcode](warp, instruction, np.ones(32, bool))
        return warp

    def test_carries(self):
        warp = self.run_on("IADD3 R1, P0, R2, -R3, RZ", R2=5, R3=5)
        self.assertEqual((warp.registers[1, 0], warp.predicates[0, 0]), (0, True))
        warp = self.run_on("IADD3 R1, P0, R2, -R3, RZ", R2=4, R3=5)
        self.assertEqual((warp.registers[1, 0], warp.predicates[0, 0]), (0xFFFFFFFF, False))

    def test_a_negated_and_shifted_number_has_the_carry_of_a_subtraction(self):
        self.assertEqual(self.run_on("LEA R1, P0, -R2, RZ, 0x2", R2=0).predicates[0, 0], True)
        warp = self.run_on("LEA R1, P0, -R2, RZ, 0x2", R2=3)
        self.assertEqual((warp.registers[1, 0], warp.predicates[0, 0]), (2**32 - 12, False))

    def test_wide_products_and_shifts(self):
        warp = self.run_on("IMAD.WIDE R4, R2, -0x3, RZ", R2=0x70000000)
        self.assertEqual(int(warp.registers[4, 0]) | int(warp.registers[5, 0]) << 32, -3 * 0x70000000 % 2**64)
        self.assertEqual(self.run_on("SHF.R.S32.HI R1, RZ, 0x1f, R2", R2=1 << 31).registers[1, 0], 0xFFFFFFFF)
        self.assertEqual(self.run_on("LOP3.LUT R1, R2, R3, RZ, 0x3c, !PT", R2=12, R3=10).registers[1, 0], 6)


class Control(unittest.TestCase):
    def test_two_groups_use_one_name_of_a_meeting(self):
        """The first half takes a branch; both halves part once more, and each meets again under the name B1."""
        warp = types.SimpleNamespace(groups=[], meetings={}, ended=np.zeros(32, bool))
        lanes = np.arange(32)

        def do(text, group, mask=None):
            i = parse.Instruction(group.at * parse.BYTES, text, 0)
            control.CONTROL[i.opcode](warp, group, i, group.threads if mask is None else mask, 0)

        first, second = control.Group(1, lanes < 16), control.Group(10, lanes >= 16)
        warp.groups = [first, second]
        do("BSSY B1, 0x50", first)
        do("BSSY B1, 0xe0", second)
        for half in (first, second):
            away = control.Group(half.at, half.threads & (lanes % 2 == 0))
            warp.groups.append(away)
            half.threads = half.threads & ~away.threads
            do("BSYNC B1", half)
            do("BSYNC B1", away)
        self.assertEqual(sorted((group.at, int(group.threads.sum())) for group in warp.groups), [(3, 16), (12, 16)])


class Groups(unittest.TestCase):
    def groups_of(self, blocks, cluster, *arguments):
        launch = types.SimpleNamespace(blocks=blocks, cluster=cluster)
        return [list(each) for each in dump.Launch.groups(launch, *arguments)]

    def test_blocks_of_a_cluster_or_of_a_multiprocessor_run_at_the_same_time(self):
        self.assertEqual(self.groups_of(6, 3), [[0, 1, 2], [3, 4, 5]])
        self.assertEqual(self.groups_of(5, 1, 2), [[0, 1], [2, 3], [4]])
        self.assertEqual(self.groups_of(5, 1, 2, 1, 4), [[1, 2], [3]])
        for resident, first, last in ((2, 0, 6), (1, 1, 6), (1, 6, 9)):
            self.assertRaises(parse.Failed, self.groups_of, 6, 3, resident, first, last)


class SharedMemory(unittest.TestCase):
    lanes, all = np.arange(32, dtype=LONG), np.ones(32, bool)

    def test_wavefronts(self):
        self.assertEqual(memory.wavefronts(4 * self.lanes, 4, self.all), 1)
        self.assertEqual(memory.wavefronts(8 * self.lanes, 4, self.all), 2)
        self.assertEqual(memory.wavefronts(128 * self.lanes, 4, self.all), 32)
        self.assertEqual(memory.wavefronts(0 * self.lanes, 16, self.all), 2)
        self.assertEqual(memory.wavefronts(16 * self.lanes, 16, self.all), 4)

    def test_wide_accesses_share_turns_if_pairs_of_lanes_access_the_same(self):
        neighbours, second = self.lanes // 2, self.lanes // 4 * 2 + self.lanes % 2  # T and T ^ 1, T and T ^ 2
        for pairs in (neighbours, second):
            self.assertEqual(memory.wavefronts(16 * pairs, 16, self.all), 2)
            self.assertEqual(memory.wavefronts(32 * pairs, 16, self.all), 4)  # and half of the banks
            self.assertEqual(memory.wavefronts(8 * pairs, 8, self.all), 1)
        mixed = np.where(self.lanes < 16, neighbours, second)
        self.assertEqual(memory.wavefronts(16 * mixed, 16, self.all), 4)
        self.assertEqual(memory.wavefronts(16 * mixed, 16, self.lanes < 16), 1)
        self.assertEqual(memory.wavefronts(16 * (self.lanes // 8 * 4 + self.lanes % 4), 16, self.all), 4)  # T and T ^ 4

    def races_of(self, *accesses):
        """Each access: block, warp, barriers, barriers of the cluster reached and passed, whether it writes."""
        found = []
        machine = types.SimpleNamespace(add_race=found.append)
        shared = memory.Shared(0, 1024, True)
        for rank, number, barriers, reached, passed, writes in accesses:
            warp = types.SimpleNamespace(number=number, barriers=barriers, cluster_barriers_reached=reached,
                                         cluster_barriers_passed=passed,
                                         block=types.SimpleNamespace(rank=rank, machine=machine))
            shared.note(warp, None, 4 * self.lanes, 4, self.all, writes)
        return len(found)

    def test_races(self):
        self.assertEqual(self.races_of((0, 0, 0, 0, 0, True), (0, 1, 0, 0, 0, False)), 1)
        self.assertEqual(self.races_of((0, 0, 0, 0, 0, True), (0, 1, 1, 0, 0, False)), 0)
        self.assertEqual(self.races_of((0, 0, 0, 0, 0, False), (0, 1, 0, 0, 0, False), (0, 1, 0, 0, 0, True)), 1)
        self.assertEqual(self.races_of((0, 0, 0, 0, 0, True), (0, 0, 0, 0, 0, False)), 0)

    def test_a_barrier_of_a_block_does_not_order_another_block(self):
        self.assertEqual(self.races_of((1, 0, 0, 0, 0, True), (0, 1, 5, 0, 0, False)), 1)
        self.assertEqual(self.races_of((1, 0, 0, 0, 0, True), (0, 1, 5, 1, 1, False)), 0)
        self.assertEqual(self.races_of((1, 0, 0, 1, 0, True), (0, 1, 5, 1, 1, False)), 1)  # it had arrived before


if __name__ == "__main__":
    unittest.main()
