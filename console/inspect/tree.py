"""Facts ordered by causes: each hangs from the fact that caused it, samples go with what was made from them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from console.inspect.cat import Found
from shared.messages import SampleCompleted, SampleRequested


@dataclass
class Node:
    """A fact, what was sampled for it, and what it led to, in the order of the log."""

    found: Found
    request: SampleRequested | None = None
    sample: SampleCompleted | None = None
    children: list[Node] = field(default_factory=list)


def grown(facts: Sequence[Found]) -> list[Node]:
    """The trees that the facts form. A fact whose cause is not among them is a root.

    Requests and completions that a fact names as its sample go with the first such fact; others stand for themselves.
    """
    requests = {found.fact.id: found.fact for found in facts if isinstance(found.fact, SampleRequested)}
    samples = {found.fact.id: found.fact for found in facts if isinstance(found.fact, SampleCompleted)}
    nodes: dict[str, Node] = {}
    folded: set[str] = set()
    for found in facts:
        node = nodes[found.fact.id] = Node(found)
        sample = samples.get(getattr(found.fact, "sample", ""))
        if sample is not None and sample.id not in folded:
            node.sample, node.request = sample, requests.get(sample.request)
            folded |= {sample.id, sample.request}
    roots = []
    for fact_id, node in nodes.items():
        if fact_id in folded:
            continue
        parent = nodes.get(node.found.fact.cause)
        if parent is None or parent is node or parent.found.fact.id in folded:
            roots.append(node)
        else:
            parent.children.append(node)
    return roots
