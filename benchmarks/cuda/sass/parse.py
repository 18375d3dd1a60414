"""SASS, as `cuobjdump -sass` writes it, to instructions."""
import collections
import re

LINE = re.compile(r"\s+/\*([0-9a-f]{4,6})\*/\s+(.*?)\s*;?\s+/\* (0x[0-9a-f]{16}) \*/")
SECOND_LINE = re.compile(r"\s+/\* (0x[0-9a-f]{16}) \*/")
PREDICATE = re.compile(r"@(!?U?P(?:\d|T))\s+(.*)")
BYTES = 16  # of an instruction
REGISTER = re.compile(r"(?<!U)R(\d+)(?:\.64)?(\.reuse)?")
JUMPS = {"BRA", "CALL"}
STORES = {"ST", "STG", "STS", "STL", "LDGSTS", "RED"}  # whose first operand is read, too
NO_SCOREBOARD = 7


Kernel = collections.namedtuple("Kernel", "code jump_table")


class Failed(Exception):
    """Ends a program with a sentence and a status."""

    def __init__(self, text, status=1):
        super().__init__(text)
        self.status = status


class NotKnown(Failed):
    """The code does something that this tool has no rule for."""

    def __init__(self, instruction, what="the instruction"):
        super().__init__(f"This tool does not know {what} `{instruction.text}` at 0x{instruction.address:x}: add it to "
                         "benchmarks/cuda/sass/, or look at another kernel.")


class Instruction:
    """One instruction. The compiler puts what the hardware must wait for into its upper bits, from bit 105 on:

    4 bits   stall: cycles until the warp's next instruction may start
    1 bit    whether another warp should have the next turn; not used here
    3 bits   write_scoreboard: the one of six that is busy until the result is there; 7: none
    3 bits   read_scoreboard: busy until the operands were read
    6 bits   wait_mask: the scoreboards that must be free before the instruction starts
    """

    __slots__ = ("address", "text", "name", "opcode", "modifiers", "operands", "predicate", "stall",
                 "write_scoreboard", "read_scoreboard", "wait_mask", "target", "pipe", "reads")

    def __init__(self, address, text, upper_bits):
        self.address, self.text = address, text.rstrip(" ;")
        control = upper_bits >> 41
        self.stall = control & 15
        self.write_scoreboard = control >> 5 & 7
        self.read_scoreboard = control >> 8 & 7
        self.wait_mask = control >> 11 & 63
        match = PREDICATE.match(self.text)
        self.predicate = match.group(1) if match else None
        name, _, operands = (match.group(2) if match else self.text).partition(" ")
        self.name = name
        self.opcode, *self.modifiers = name.split(".")
        texts = [each.strip() for each in operands.split(",")] if operands.strip() else []
        self.operands = [each.replace(".reuse", "") for each in texts]
        # the registers that it reads: (place of the operand, number, whether it is marked as reused)
        self.reads = [(k, int(found.group(1)), bool(found.group(2))) for k, each in enumerate(texts)
                      if (found := REGISTER.search(each)) and (k > 0 or self.opcode in STORES)]
        addresses = [each for each in self.operands if re.fullmatch(r"0x[0-9a-f]+", each)]
        self.target = int(addresses[0], 16) // BYTES if self.opcode in JUMPS and addresses else None
        self.pipe = None  # the time model sets it


def functions(text):
    """The code of each function of the text: {mangled name: lines}."""
    found = {}
    for line in text.splitlines():
        match = re.search(r"Function : (\S+)", line)
        if match:
            found[match.group(1)] = lines = []
        elif found:
            lines.append(line)
    return found


def instructions(lines):
    """Each instruction is two lines: its text with the lower 64 bits, and the upper 64 bits."""
    found, first = [], None
    for line in lines:
        match = LINE.match(line)
        if match:
            first = int(match.group(1), 16), match.group(2)
            continue
        match = SECOND_LINE.match(line)
        if match and first:
            found.append(Instruction(*first, int(match.group(1), 16)))
            first = None
    return found


def jump_tables(text):
    """The words of the constants c[0x2] of each function: {mangled name: words}. The text is that of cuobjdump -elf."""
    found = re.findall(r"^\.nv\.constant2\.(\S+)\n((?:\s*0x[0-9a-f]{8}.*\n)+)", text, re.MULTILINE)
    return {name: [int(word, 16) for word in re.findall(r"0x[0-9a-f]{8}", words)] for name, words in found}


def without_numbers(name):
    """A mangled name refers to its parts by numbers, which differ between a type and a function that has it."""
    return re.sub(r"S[0-9A-Z]*_", "S_", name)


def functions_of(body, names):
    """Those names of functions that are kernels of a body, whose mangled type is given."""
    own = without_numbers(body).partition("6kernel4cuda")[2].removesuffix("E")
    return [name for name in names if "I" + "NS_" + own + "E" in without_numbers(name)]
