# SPDX-License-Identifier: Apache-2.0
"""What became of the loops of timed functions: writes them, from a program's machine code, beside the program.

`python3 loops.py OBJDUMP PROGRAM OUTPUT`. The output is JSON: by symbol of each function of variants.h, a list of its
innermost loops, each a list of instructions. A loop is found in the flow of control, and not by its place: compilers
put parts of one far away. Jumps are written as distances from the loop's first instruction, so that equal loops read
equal.
"""

import json
import re
import subprocess
import sys

_FUNCTION = re.compile(r"[0-9a-f]+ <(?P<name>\w+__(?:gcc|clang)_O\w+?)(?P<part>(?:\.\w+)*)>:$")
_INSTRUCTION = re.compile(r" *(?P<address>[0-9a-f]+):\t(?P<text>.*)$")
_TARGET = re.compile(r"\b(?P<address>[0-9a-f]+) <(?P<symbol>[^>]+)>")
#: What leaves a function or comes back to the next instruction; all else with a target within is a jump.
_CALL = re.compile(r"(?:call|bl)\b")
_END = re.compile(r"(?:ret|jmp|b|br|ud2|hlt)\b")


def functions(listing):
    """Of each timed function, with the parts that the compiler put elsewhere: (address, text) of its instructions."""
    found = {}
    for block in re.split(r"\n(?=[0-9a-f]+ <)", listing):
        head, *lines = block.splitlines() or [""]
        name = _FUNCTION.match(head)
        if name:
            matches = (_INSTRUCTION.match(line) for line in lines)
            code = [(int(match["address"], 16), match["text"].strip()) for match in matches if match]
            found.setdefault(name["name"], []).extend(code)
    return found


def _successors(code):
    """By address: the addresses that may follow within the function."""
    there = {address for address, _ in code}
    after = {}
    for (address, text), (following, _) in zip(code, [*code[1:], (None, "")]):
        target = _TARGET.search(text)
        jumps = {int(target["address"], 16)} & there if target and not _CALL.match(text) else set()
        falls = set() if _END.match(text) or following is None else {following}
        after[address] = jumps | falls
    return after


def _components(nodes, after):
    """Sets of nodes that can all reach each other, of more than one node or with an edge to itself (Tarjan, 1972)."""
    number, low, stack, found = {}, {}, [], []

    def visit(start):
        work = [(start, iter(sorted(after[start] & nodes)))]
        number[start] = low[start] = len(number)
        stack.append(start)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in number:
                    number[other] = low[other] = len(number)
                    stack.append(other)
                    work.append((other, iter(sorted(after[other] & nodes))))
                    break
                if other in stack:
                    low[node] = min(low[node], number[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    at = stack.index(node)
                    component = set(stack[at:])
                    del stack[at:]
                    if len(component) > 1 or node in after[node]:
                        found.append(component)

    for node in sorted(nodes):
        if node not in number:
            visit(node)
    return found


def innermost(code):
    """The innermost loops of a function, in the order of their first instructions, as lists of (address, text)."""
    after = _successors(code)
    loops = []
    waiting = _components(set(after), after)
    while waiting:
        loop = waiting.pop()
        # Without the instructions that are jumped to from outside, what still goes round lies within.
        heads = {node for other in set(after) - loop for node in after[other] & loop} or {min(loop)}
        inner = _components(loop - heads, after)
        if inner:
            waiting += inner
        else:
            loops.append([(address, text) for address, text in code if address in loop])
    return sorted(loops)


def readable(loop):
    """The instructions of a loop without what differs between equal ones: addresses, and blanks for columns."""
    first = loop[0][0]

    def place(target):
        address = int(target["address"], 16)
        inside = any(address == at for at, _ in loop)
        symbol = target["symbol"].partition("+")[0]
        return f"<{address - first:+#x}>" if inside else f"<{symbol}>" if "__" not in symbol else "<out>"

    def one(text):
        text = re.sub(r"\s+#.*", "", text) if not _TARGET.search(text.partition("#")[2]) else text
        return " ".join(_TARGET.sub(place, text).split())

    return [one(text) for _, text in loop]


def main(objdump, program, output):
    """Write the loops of a program."""
    listing = subprocess.run(
        [objdump, "--disassemble", "--no-show-raw-insn", "--section=.text", "--section=.text.unlikely", program],
        stdout=subprocess.PIPE, text=True, check=True,
    ).stdout  # fmt: skip
    found = {name: [readable(loop) for loop in innermost(code)] for name, code in functions(listing).items()}
    with open(output, "w") as file:
        json.dump(found, file, indent=1, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
