"""Executes the machine code of the kernels that tests of the emulator launch, on a machine without a GPU.

    python3 benchmarks/cuda/sass_tests.py elementwise norm pool

For each test of tests/backend/cuda/ that is named, nvcc and g++ compile it, the test runs on the emulator, and the
first launch of each of its kernels is executed as in sass.py: memory must be the same in each bit (a NaN may be another
NaN), and no two warps may access a byte of shared memory without a barrier between them, of which one writes. Large
launches are left out. Prints a line for each kernel that differs, or whose code this tool does not know, and a summary;
ends with 1 if one differs, or none was compared."""
import argparse
import glob
import os
import shutil
import time

from sass import build, dump, machine, parse, report, time_model

MOST_SECONDS = 60  # of a kernel
SHOWN = 100  # characters of a kernel's name


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="+", metavar="TEST", help="a file of tests/backend/cuda/ without .cpp")
    parser.add_argument("--folder", default=build.FOLDER, help="for what it makes (build/benchmarks/sass)")
    parser.add_argument("--cuobjdump", default=os.environ.get("CUOBJDUMP"), help="where this program of NVIDIA is")
    return parser.parse_args()


def compiled(test, folder, options):
    tests = os.path.join(build.SOURCE, "tests")
    flags = ["-DDOCTEST_CONFIG_IMPLEMENT_WITH_MAIN=", f"-I{tests}", f"-I{tests}/support/targets"]
    launches = os.path.join(build.SOURCE, "benchmarks", "cuda", "sass", "launches.hpp")
    code, emulated = build.build(f"{tests}/backend/cuda/{test}.cpp", folder, options.cuobjdump, flags,
                                 [*flags, "-include", launches])
    build.run([emulated], env={**os.environ, "SASS_FOLDER": folder, "TENON_SOURCE": build.SOURCE})
    return code


def executed(kernel, launch):
    """(how many words differ, races)"""
    memory, races, begin = launch.memory_before(), {}, time.monotonic()
    for blocks in launch.groups():
        one = machine.Machine(kernel, launch, memory, blocks, time_model.TimeModel(False), report.Statistics(None),
                              finds_races=True)
        one.run()
        races.update(one.races)
        if time.monotonic() - begin > MOST_SECONDS:
            raise TimeoutError(f"it takes more than {MOST_SECONDS} s")
    return report.differing_numbers(memory, launch.memory_after()), list(races.values())


def compared(launch, code):
    """What to say of a launch: None, if it is right; and whether it was compared. Functions that differ in a number
    alone have the same body: one of them is the kernel."""
    text, was_compared = "no function is its kernel", False
    for name in code.names(launch):
        try:
            differing, races = executed(code.kernel(name), launch)
        except (machine.Stuck, parse.NotKnown, TimeoutError) as error:
            text, was_compared = str(error), False
            break
        if not differing and not races:
            return None, True
        if races:
            report.print_races(races)
        text, was_compared = f"{differing} words differ, {len(races)} races", True
    return text, was_compared


def check(test, options):
    """(kernels that are right, that are wrong, that were not compared)"""
    folder = os.path.join(options.folder, test)
    shutil.rmtree(folder, ignore_errors=True)
    code = compiled(test, folder, options)
    right = wrong = unknown = 0
    for path in sorted(glob.glob(f"{folder}/*.bin"), key=lambda each: int(os.path.basename(each)[:-4])):
        launch = dump.Launch(path)
        os.remove(path)
        text, was_compared = compared(launch, code)
        right, wrong, unknown = right + (not text), wrong + bool(text and was_compared), unknown + (not was_compared)
        if text:
            print(f"  {launch.body.partition('6kernel4cuda')[2][:SHOWN]}: {text}", flush=True)
    print(f"{test}: {right} kernels right, {wrong} wrong, {unknown} not compared", flush=True)
    return right, wrong, unknown


def main():
    options = arguments()
    sums = [sum(each) for each in zip(*(check(test, options) for test in options.tests))]
    print(f"all: {sums[0]} kernels right, {sums[1]} wrong, {sums[2]} not compared")
    return 0 if sums[0] and not sums[1] else 1


if __name__ == "__main__":
    build.end_with(main)
