"""Tests that nothing which Planner, Solver, Critic or a prompt takes can lead to a `Key`. Checked on the types."""

from __future__ import annotations

import inspect
import typing

import msgspec
import pytest

from shared.engine.port import Engine
from shared.engine.speaker import Reply, Speaker
from shared.flow import FLOW
from shared.messages import Fact, InstanceDrawn, Key, Role, Task, TaskProposed, TaskSeeded
from shared.prompts import Prompt, Template, load_templates


def reachable(hint: object, seen: set[object] | None = None) -> set[object]:
    """Every type that a value of this type can hold, through unions, containers, records and named tuples."""
    seen = set() if seen is None else seen
    if hint in seen:
        return seen
    seen.add(hint)
    for part in typing.get_args(hint):
        reachable(part, seen)
    is_record = isinstance(hint, type) and (issubclass(hint, msgspec.Struct) or hasattr(hint, "_fields"))
    for field in typing.get_type_hints(hint).values() if is_record else ():
        reachable(field, seen)
    return seen


def parameters(function: object) -> set[object]:
    """Every type reachable from what a function takes."""
    hints = typing.get_type_hints(function)
    hints.pop("return", None)
    return set().union(*(reachable(hint) for hint in hints.values()))


@pytest.mark.parametrize("role", [Role.PLANNER, Role.SOLVER, Role.CRITIC])
def test_no_fact_that_a_role_takes_leads_to_a_key(role: Role):
    """The speaking roles besides the Challenger never see an answer key."""
    for fact in FLOW[role].takes:
        assert Key not in reachable(fact), f"{role} takes {fact.__name__}, which leads to a Key"


@pytest.mark.parametrize(
    "function", [Template.render, load_templates, Speaker.ask, Speaker.__init__, Engine.sample], ids=lambda f: f.__qualname__
)
def test_nothing_on_the_way_to_a_prompt_takes_a_key(function):
    """Every parameter is annotated, none with a type that could be or hold a key; what a cause carries is not rendered."""
    signature = inspect.signature(function)
    hints = typing.get_type_hints(function)
    assert set(signature.parameters) - {"self"} <= set(hints), "a parameter without a hint could be anything"
    types = parameters(function)
    assert Key not in types
    assert not types & {object, typing.Any}


def test_what_a_template_is_filled_with_is_public():
    """A task and plain texts, and nothing else."""
    hints = typing.get_type_hints(Template.render)
    assert hints == {"task": Task | None, "texts": str, "return": Prompt}
    assert Key not in reachable(Task)
    assert Key not in reachable(Reply)


def test_the_check_itself_finds_keys():
    """It reaches through containers, unions and records; and exactly the facts marked secret carry a key."""

    class Nested(msgspec.Struct, frozen=True):
        deep: dict[str, tuple[Key | None, ...]]

    assert Key in reachable(Nested)
    assert Key in reachable(list[Nested] | None)
    secret = {fact for port in FLOW.values() for fact in port.takes | port.gives if Key in reachable(fact)}
    assert secret == {TaskSeeded, TaskProposed, InstanceDrawn}
    assert all("Secret" in (fact.__doc__ or "") for fact in secret)


def test_only_these_roles_take_secrets():
    """Challenger and Verifier work with keys; the learner only counts proposals, and the console made the seeds."""
    takers = {role for role, port in FLOW.items() if any(Key in reachable(fact) for fact in port.takes)}
    assert takers == {Role.CHALLENGER, Role.VERIFIER, Role.LEARNER}


def test_a_fact_is_no_prompt_value():
    """`Engine.sample` takes the cause for its name alone: the base class holds no key."""
    assert Key not in reachable(Fact)
