"""Executes the machine code (SASS for sm_90) that nvcc made of a kernel of Tenon, on a machine without a GPU.

    python3 benchmarks/cuda/sass.py NETWORK --batch N --blocks-at-once K

It compiles a training of the network twice: by nvcc for its machine code, and by g++ with the tests' emulator of a GPU.
The emulator gives the memory before one launch of a kernel, on which the machine code is executed here, and the memory
after it, which must be the same in each bit. The report says whether it is, which accesses to shared memory race with
each other (--races), and how long one multiprocessor of an H100 takes, which is an estimate (sass/time_model.py): for
the group of blocks that takes longest, which are those of a cluster, or share a multiprocessor (--resident), with
phases and the trace of its first block; and for all groups, one after the other. The process ends with 1 if a word
differs or accesses race.

It needs numpy, nvcc, g++, and cuobjdump, and takes about a minute, most of it to compile."""
import argparse
import copy
import os

from sass import build, dump, machine, report, time_model

ONE_PROGRAM, OWN_PROGRAMS = ("lenet", "mlp"), ("attention", "conv", "dense")
NETWORKS = {**{name: [] for name in ONE_PROGRAM},  # flags of the compilers
            **{name: ["-DSASS_" + name.upper()] for name in OWN_PROGRAMS}}
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sass", "dump.cpp")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("network", choices=NETWORKS, help="of benchmarks/cuda/sass/dump.cpp")
    add("--batch", type=int, default=1, help="samples of a step (1)")
    add("--blocks-at-once", type=int, default=132, help="how many blocks of clusters the GPU has room for: 132 on an "
        "H100, where small batches get clusters; 1: a block per sample (132)")
    add("--kernel", default="SampleBlocks", help="a part of the name of the kernel's body (SampleBlocks)")
    add("--launch", type=int, help="which launch of such a kernel, from 0 (2 of lenet and mlp, else 0)")
    add("--resident", type=int, default=1, metavar="K", help="K neighbouring blocks, without clusters, share a "
        "multiprocessor; all of them start together, and the next K when they are done (1)")
    add("--blocks", type=int, nargs=2, metavar=("FROM", "TO"), help="executes only the blocks FROM .. TO - 1, and "
        "compares only what they change")
    add("--function", default="", help="a part of the name of the function, if a body has several")
    add("--phases", action="store_true", help="also prints the time between barriers of a block")
    add("--trace", type=int, nargs=3, metavar=("WARP", "FROM", "TO"),
        help="also prints the instructions of a warp of a block between two cycles")
    add("--races", action="store_true", help="looks for races in shared memory")
    add("--instruction-cache", action="store_true", help="models an instruction cache, which is a guess")
    add("--control", action="store_true", help="also checks that it finds an altered instruction, and a wait and a "
        "barrier that are left out")
    add("--no-build", action="store_true", help="uses what the last call has compiled")
    add("--folder", default=build.FOLDER, help="for what it makes (build/benchmarks/sass)")
    add("--cuobjdump", default=os.environ.get("CUOBJDUMP"), help="where this program of NVIDIA is")
    options = parser.parse_args()
    if options.launch is None:
        options.launch = 2 if options.network in ONE_PROGRAM else 0
    return options


def kernel_of(launch, code, part):
    """The kernel that was launched."""
    names = code.names(launch, part)
    if len(names) != 1:
        raise build.Failed(f"{len(names)} functions are kernels of {launch.body[:300]}" +
                           "".join(f"\n  {name[:300]}" for name in names) +
                           ("\nName one with --function." if names else ""))
    return code.kernel(names[0])


def execute(kernel, launch, options, traced_warp=None):
    """Executes all groups of blocks, one after the other. (how many words differ, races, the groups)"""
    memory, races, groups = launch.memory_before(), {}, report.Groups()
    for blocks in launch.groups(options.resident, *(options.blocks or ())):
        statistics = report.Statistics(traced_warp)
        model = time_model.TimeModel(options.instruction_cache)
        one = machine.Machine(kernel, launch, memory, blocks, model, statistics, options.races or options.control)
        groups.add(statistics, one.run())
        races.update(one.races)
    differing = report.print_differences(launch.memory_before(), memory, launch.memory_after(), bool(options.blocks))
    return differing, list(races.values()), groups


def altered(kernel, at, change):
    """The kernel with another instruction at one place."""
    code = list(kernel.code)
    code[at] = copy.copy(code[at])
    change(code[at])
    return kernel._replace(code=code)


def negate_factor(instruction):
    instruction.operands = list(instruction.operands)
    instruction.operands[1] = "-" + instruction.operands[1]


def remove(instruction):
    instruction.opcode, instruction.pipe = "NOP", None


def control(kernel, launch, options, executed):
    """Whether a run finds faults that are put into the code."""
    code = kernel.code

    def reached(opcode):
        return [at for at, _ in executed.most_common() if code[at].opcode == opcode and not
                (opcode == "FFMA" and code[at].operands[1][0] in "-|")]

    found = True
    if products := reached("FFMA"):
        print(f"control: {code[products[0]].text} with the opposite sign of a factor")
        found &= execute(altered(kernel, products[0], negate_factor), launch, options)[0] > 0
    if waits := sorted(reached("DEPBAR")):
        print(f"control: without the wait for copies at 0x{code[waits[0]].address:x}")
        found &= execute(altered(kernel, waits[0], remove), launch, options)[0] > 0
    if barriers := sorted(reached("BAR")):
        at = barriers[len(barriers) // 2]
        print(f"control: without the barrier at 0x{code[at].address:x}")
        races = execute(altered(kernel, at, remove), launch, options)[1]
        report.print_races(races)
        found &= len(races) > 0
    print("control: the faults are found" if found else "control: a fault is NOT found")
    return found


def main():
    options = arguments()
    flags = NETWORKS[options.network]
    code, dump_program = build.build(PROGRAM, options.folder, options.cuobjdump, flags, flags, not options.no_build)
    dumped = os.path.join(options.folder, "launch.bin")
    build.run([dump_program, options.network, str(options.batch), str(options.blocks_at_once), options.kernel,
               str(options.launch), dumped])
    launch = dump.Launch(dumped)
    kernel = kernel_of(launch, code, options.function)
    print(f"{options.network}, batch {options.batch}: {launch.blocks} blocks in clusters of {launch.cluster}, "
          f"{launch.threads} threads, {launch.shared_bytes:,} bytes of shared memory, {len(kernel.code):,} "
          "instructions")
    traced_warp = options.trace[0] if options.trace else None
    differing, races, groups = execute(kernel, launch, options, traced_warp)
    right = differing == 0
    if options.races or options.control:
        report.print_races(races)
        right &= not races
    report.print_time(groups, kernel.code)
    if options.phases:
        report.print_phases(groups.longest)
    if options.trace:
        report.print_trace(groups.longest, *options.trace[1:])
    if options.control:
        right &= control(kernel, launch, options, groups.executed)
    return 0 if right else 1


if __name__ == "__main__":
    build.end_with(main)
