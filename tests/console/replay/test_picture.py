"""How a replay looks."""

from __future__ import annotations

import io

from rich.console import Console

from console.replay.consumers import Standing
from console.replay.picture import Picture, line, panel
from console.replay.screen import LINE_EVERY_S, ReplayScreen
from console.replay.tape import Cue
from tests.console.replay.recordings import BEGAN_NS


def picture(**changes: object) -> Picture:
    """A replay in the middle, with a consumer that is behind."""
    plain = Picture(
        name="demo",
        address="ipc:///tmp/x/bus",
        position=120,
        last=400,
        clock_ns=BEGAN_NS,
        state="playing",
        pace="speed 2",
        waiting="",
        consumers=[Standing("solver", 100), Standing("consumer 2", 120)],
        recent=[Cue(119, BEGAN_NS, "TaskProposed", "s3.c7"), Cue(120, BEGAN_NS, "RunEnded", "")],
        given="given again 5: 5 the same",
    )
    return plain._replace(**changes)  # type: ignore[arg-type]


def drawn(shown: Picture, width: int = 100) -> str:
    """The panel as text."""
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    console.print(panel(shown))
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_the_panel_says_that_this_is_a_replay_and_where_it_stands():
    """In large letters, with position, recorded time, pace, consumers and the last facts."""
    text = drawn(picture(keys=True))
    parts = [
        "█▀█ █▀▀ █▀█",
        "REPLAY of demo",
        "demo",
        "fact 120 of 400",
        "2027-01-15 08:00:00.000 UTC",
        "playing",
        "speed 2",
        "solver",
        "20 behind",
    ]
    parts += ["up to date", "s3.c7", "TaskProposed", "ipc:///tmp/x/bus", "5 the same", "space pause"]
    assert [part for part in parts if part not in text] == []


def test_a_question_on_the_keyboard_takes_the_place_of_the_help():
    """What is being typed is shown."""
    text = drawn(picture(keys=True, prompt="go to fact: 12_"))
    assert "go to fact: 12_" in text
    assert "space pause" not in text


def test_without_consumers_or_with_many_it_says_so():
    """A long list is cut, with a count of the rest."""
    assert "no consumer is attached" in drawn(picture(consumers=[]))
    assert "and 4 more" in drawn(picture(consumers=[Standing(f"consumer {n}", n) for n in range(12)]))


def test_one_line_has_it_all():
    """For output that is no terminal."""
    assert line(picture()) == (
        "REPLAY demo: fact 120 of 400  2027-01-15 08:00:00.000 UTC  playing, speed 2  solver 20 behind, consumer 2 up to date  "
        "given again 5: 5 the same"
    )
    assert line(picture(waiting="waits for solver", given="")).endswith("playing, speed 2  waits for solver")


def test_lines_come_every_few_seconds_and_only_when_something_is_new():
    """A replay that stands still does not fill anybody's log; what is said comes at once, and with `quiet` not at all."""
    output, clock = io.StringIO(), [0.0]
    screen = ReplayScreen(Console(file=output, width=400), lambda: clock[0], quiet=False)
    for position in (1, 2, 2, 3):
        clock[0] += LINE_EVERY_S
        screen.show(lambda position=position: picture(position=position))  # type: ignore[misc]
        screen.show(lambda: picture(position=99))
    screen.say("paused at fact 3")
    lines = output.getvalue().splitlines()
    assert [each.split("  ")[0] for each in lines[:-1]] == [f"REPLAY demo: fact {n} of 400" for n in (1, 2, 3)]
    assert lines[-1] == "paused at fact 3"
    quiet = ReplayScreen(Console(file=output), lambda: clock[0] + 100, quiet=True)
    quiet.show(picture)
    quiet.say("nothing")
    assert output.getvalue().splitlines() == lines
