"""Instructions that change which instruction comes next: branches, convergence of threads, barriers.

The threads of a warp that run together are a group. A branch that only some of them take makes two groups, of which one
runs until it ends or waits for the other one, at the instruction where the compiler lets them meet."""
import numpy as np

from .operands import predicate, register, signed
from .parse import BYTES, NotKnown
from .time_model import BLOCK_BARRIER, CLUSTER_BARRIER, TAKEN_BRANCH

CONTROL = {}
ALL_OF_WARP = "the warp"  # what a group waits for at WARPSYNC; else it is a Meeting


class Meeting:
    """The threads that meet at a BSYNC: those that were together at the BSSY before it, but for those that have left
    it. Groups that have parted may use the same name at the same time, each for its own threads."""
    __slots__ = ("threads",)

    def __init__(self, threads):
        self.threads = threads


class Group:
    __slots__ = ("at", "threads", "waits_for")

    def __init__(self, at, threads, waits_for=None):
        self.at, self.threads, self.waits_for = at, threads, waits_for


def control(*opcodes):
    def add(function):
        for opcode in opcodes:
            CONTROL[opcode] = function
        return function

    return add


def joined(warp, waits_for, wanted, at):
    """Makes one group of those that wait for the same, once all wanted threads do."""
    waiting = [group for group in warp.groups if group.waits_for is waits_for and group.at == at]
    if not waiting:
        return
    threads = np.logical_or.reduce([group.threads for group in waiting])
    if (threads == wanted).all():
        warp.groups = [Group(at + 1, threads)] + [group for group in warp.groups if group not in waiting]


def leave(warp, meeting, threads):
    meeting.threads = meeting.threads & ~threads
    look_at(warp, meeting)


def look_at(warp, meeting):
    waiting = [group.at for group in warp.groups if group.waits_for is meeting]
    if waiting:
        joined(warp, meeting, meeting.threads, waiting[0])


@control("BRA")
def bra(warp, group, i, mask, now):
    if "DIV" in i.modifiers:  # for threads that are not together; the others of a group follow each other anyway
        group.at += 1
        return
    if len(i.operands) > 1:
        mask = mask & predicate(warp, i.operands[0])
    if not mask.any():
        group.at += 1
        return
    warp.times.ready = max(warp.times.ready, now + TAKEN_BRANCH)
    if (mask == group.threads).all():
        group.at = i.target
        return
    warp.groups.append(Group(i.target, mask.copy()))
    group.threads = group.threads & ~mask
    group.at += 1


@control("BSSY")
def bssy(warp, group, i, mask, now):
    meeting = Meeting(group.threads.copy())
    meetings = warp.meetings.setdefault(i.operands[0], [None] * len(group.threads))
    for lane in np.flatnonzero(group.threads):
        meetings[lane] = meeting
    group.at += 1


@control("BSYNC")
def bsync(warp, group, i, mask, now):
    if not (mask == group.threads).all():
        raise NotKnown(i, "threads that wait alone at")
    group.waits_for = warp.meetings[i.operands[0]][np.argmax(group.threads)]
    look_at(warp, group.waits_for)


@control("BREAK")
def break_(warp, group, i, mask, now):
    if len(i.operands) > 1:
        mask = mask & predicate(warp, i.operands[0])
    group.at += 1
    if mask.any():
        leave(warp, warp.meetings[i.operands[-1]][np.argmax(mask)], mask)


@control("WARPSYNC")
def warpsync(warp, group, i, mask, now):
    if "COLLECTIVE" in i.modifiers:  # only after BRA.DIV
        raise NotKnown(i)
    group.waits_for = ALL_OF_WARP
    joined(warp, ALL_OF_WARP, ~warp.ended, group.at)


@control("BRX")
def brx(warp, group, i, mask, now):
    """To an address in a register, relative to the next instruction."""
    if not (mask == group.threads).all() or len(i.operands) != 1:
        raise NotKnown(i)
    text, _, offset = i.operands[0].partition(" ")
    targets = signed(warp.registers[register(text)]).astype(int) + int(offset or "0", 0) + i.address + BYTES
    different = sorted(set(targets[mask]))
    warp.times.ready = max(warp.times.ready, now + TAKEN_BRANCH)
    for target in different[1:]:
        warp.groups.append(Group(int(target) // BYTES, mask & (targets == target)))
    group.at, group.threads = int(different[0]) // BYTES, mask & (targets == different[0])


@control("CALL")
def call(warp, group, i, mask, now):
    group.at = i.target


@control("RET")
def ret(warp, group, i, mask, now):
    targets = warp.registers[register(i.operands[0].split()[0])][group.threads]
    if (targets != targets[0]).any():
        raise NotKnown(i, "threads that return to different places at")
    group.at = int(targets[0]) // BYTES


@control("EXIT")
def exit_(warp, group, i, mask, now):
    warp.ended |= mask
    group.threads = group.threads & ~mask
    group.at += 1
    if not group.threads.any():
        warp.groups.remove(group)
    for meeting in {each for meetings in warp.meetings.values() for each in meetings if each}:
        leave(warp, meeting, mask)
    if not warp.groups:
        warp.state = "done"
        open_block_barrier(warp.block, now)


def open_block_barrier(block, now):
    """Lets the warps of a block go on if all that have not ended wait."""
    waiting = [warp for warp in block.warps if warp.state == "block barrier"]
    if not waiting or any(warp.state not in ("block barrier", "done") for warp in block.warps):
        return
    block.machine.statistics.barrier(block, waiting[0].at, now)
    for warp in waiting:
        warp.state, warp.times.ready = "runs", now + BLOCK_BARRIER
        warp.barriers += 1
    block.machine.woken.append((block, now + BLOCK_BARRIER))


@control("BAR")
def bar(warp, group, i, mask, now):
    if "SYNC" not in i.modifiers or i.operands != ["0x0"]:
        raise NotKnown(i)
    if not (mask == ~warp.ended).all():
        raise NotKnown(i, "some threads of a warp without the others at")
    group.at += 1
    warp.state = "block barrier"
    open_block_barrier(warp.block, now)


@control("UCGABAR_ARV")
def cluster_arrive(warp, group, i, mask, now):
    group.at += 1
    machine = warp.block.machine
    warp.cluster_barriers_reached += 1
    warps = [each for block in machine.blocks for each in block.warps]
    if any(each.cluster_barriers_reached <= machine.cluster_barriers for each in warps):
        return
    machine.cluster_barriers += 1
    machine.cluster_open_at = now + CLUSTER_BARRIER
    for each in warps:
        if each.state == "cluster barrier":
            each.state, each.times.ready = "runs", machine.cluster_open_at
            each.cluster_barriers_passed = machine.cluster_barriers
    machine.woken += [(block, machine.cluster_open_at) for block in machine.blocks]


@control("UCGABAR_WAIT")
def cluster_wait(warp, group, i, mask, now):
    group.at += 1
    machine = warp.block.machine
    if warp.cluster_barriers_reached > machine.cluster_barriers:
        warp.state = "cluster barrier"
    else:
        warp.cluster_barriers_passed = warp.cluster_barriers_reached
        warp.times.ready = max(warp.times.ready, machine.cluster_open_at)
