"""Sums of a formula, seen as one thing each: which nodes are only a part of the sum that uses them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from idmkit.fixedpoint.formula import Formula, Op

_LINEAR = (Op.ADD, Op.SUB, Op.NEG)


@dataclass(frozen=True)
class Term:
    """+1 or -1 times a node; `inside`: a product that only this sum uses."""

    sign: int
    place: int
    inside: bool


def uses(formula: Formula) -> list[int]:
    """How often each node is an operand or output."""
    counts = [0] * len(formula.nodes)
    for node in formula.nodes:
        for arg in node.args:
            counts[arg] += 1
    for place in formula.outputs:
        counts[place] += 1
    return counts


def single_terms(formula: Formula, counts: Sequence[int]) -> tuple[dict[int, list[Term]], set[int]]:
    """Terms of every sum that stands by itself, and the nodes that are inside one."""
    angle = angles(formula)
    inside: set[int] = set()
    terms: dict[int, list[Term]] = {}
    for place in range(len(formula.nodes) - 1, -1, -1):
        node = formula.nodes[place]
        if node.op in (Op.ADD, Op.SUB) and place not in inside and place not in angle:
            terms[place] = found = []
            stack = [(1, arg) for arg in node.args]
            if node.op is Op.SUB:
                stack[1] = (-1, node.args[1])
            while stack:
                sign, arg = stack.pop(0)
                child = formula.nodes[arg]
                alone = counts[arg] == 1
                if alone and child.op in _LINEAR:
                    inside.add(arg)
                    signs = (sign, -sign) if child.op is Op.SUB else (-sign,) if child.op is Op.NEG else (sign, sign)
                    stack[:0] = list(zip(signs, child.args, strict=True))
                else:
                    if alone and child.op is Op.MUL:
                        inside.add(arg)
                    found.append(Term(sign, arg, alone and child.op is Op.MUL))
    return terms, inside


def angles(formula: Formula) -> set[int]:
    """Nodes that only sines and cosines use: they are computed in turns, not as real values."""
    users: dict[int, set[int]] = {place: set() for place in range(len(formula.nodes))}
    for place, node in enumerate(formula.nodes):
        for arg in node.args:
            users[arg].add(place)
    result: set[int] = set()
    for place in range(len(formula.nodes) - 1, -1, -1):
        if place in formula.outputs:
            continue
        if all(user in result or formula.nodes[user].op in (Op.SIN, Op.COS) for user in users[place]):
            result.add(place)
    return result
