"""What moves a replay's head, with a clock that the test turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise, takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.replay.orders import obey
from console.replay.pace import Pace, Plan
from console.replay.player import BURST, REST_S, Player
from console.replay.tape import Cue
from shared.eventlog.entry import Refused

SECOND = 1_000_000_000
TURN_S = 0.25


class Band:
    """Cues from memory: fact n at the n-th of the times, in seconds; None is a fact that is passed over."""

    def __init__(self, times_s: Sequence[float | None]) -> None:
        self.times = [None if time is None else round(time * SECOND) for time in times_s]

    def cues(self, after: int, until: int) -> Iterator[Cue]:
        """The facts of this stretch."""
        for seq in range(after + 1, min(until, len(self.times)) + 1):
            time_ns = self.times[seq - 1]
            if time_ns is not None:
                yield Cue(seq, time_ns, "StepOpened", f"s{seq}")

    def time_of(self, seq: int) -> int | None:
        """As recorded."""
        return self.times[seq - 1] if seq else None


class Clock:
    """Stands still until it is told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


class Show:
    """A player over a band, with its clock."""

    def __init__(self, times_s: Sequence[float | None], **plan: object) -> None:
        self.clock = Clock()
        self.player = Player(Band(times_s), Plan(**({"first": 1, "last": len(times_s)} | plan)), self.clock)  # type: ignore[arg-type]

    def after(self, seconds: float, *, all_read: bool = False) -> int:
        """Lets the time pass, turn by turn, and gives the head. `all_read` is how it stands in the last of the turns."""
        end = self.clock.now + seconds
        while self.clock.now < end - TURN_S:
            self.clock.now += TURN_S
            self.player.advance(False)
        self.clock.now = end
        self.player.advance(all_read)
        return self.player.position


def test_the_original_pace_keeps_the_recorded_times():
    """The first fact is there at once, each other one when so much time has passed as between the two."""
    show = Show([100.0, 101.0, 101.5, 110.0])
    assert [show.after(s) for s in (0.0, 0.9, 0.2, 0.3, 0.2, 8.0, 0.5)] == [1, 1, 2, 2, 3, 3, 4]
    assert show.player.at_end


def test_a_factor_makes_it_faster():
    """At speed 10 a recorded second takes a tenth, and a change of speed holds from then on."""
    show = Show([0.0, 10.0, 20.0, 30.0], speed=10.0)
    show.after(0.0)
    assert (show.after(0.99), show.after(0.02)) == (1, 2)
    show.player.set_speed(1.0)
    assert (show.after(9.8), show.after(0.2)) == (2, 3)


def test_long_idle_times_are_cut_when_asked():
    """`max_gap_s` is the longest wait between two facts; the clock jumps over what was cut."""
    show = Show([0.0, 3600.0, 3601.0], max_gap_s=2.0)
    show.after(0.0)
    assert (show.after(1.9), show.after(0.2)) == (1, 2)
    assert show.player.clock_ns == pytest.approx(3600.1 * SECOND)


def test_order_is_by_number_where_times_are_equal_or_go_back():
    """A fact that was journalled earlier than the one before it comes right after it, and waits for nobody."""
    show = Show([10.0, 10.0, 5.0, 6.0])
    assert (show.after(0.0), show.after(0.9), show.after(0.2)) == (3, 3, 4)
    assert [cue.seq for cue in show.player.recent] == [1, 2, 3, 4]


def test_the_clock_runs_smoothly_between_facts_and_stands_in_a_pause():
    """It shows the head's recorded time and what has passed since, at the pace, and never more than the next fact's."""
    show = Show([100.0, 104.0], speed=2.0)
    assert show.player.clock_ns == 100 * SECOND
    show.after(0.0)
    show.after(0.5)
    assert show.player.clock_ns == 101 * SECOND
    show.player.pause()
    show.after(50.0)
    assert show.player.clock_ns == 101 * SECOND
    show.player.resume()
    assert (show.after(1.4), show.after(0.2)) == (1, 2)
    assert show.player.clock_ns == 104 * SECOND


def test_a_pause_is_no_time_that_passed():
    """What was missing for the next fact is still missing afterwards."""
    show = Show([0.0, 1.0])
    show.after(0.0)
    show.after(0.5)
    show.player.pause()
    assert show.after(100.0) == 1
    show.player.resume()
    assert (show.after(0.4), show.after(0.2)) == (1, 2)


def test_a_step_shows_so_many_facts_and_pauses():
    """Also from the start with `paused`; at the end, and for less than one, it is refused."""
    show = Show([0.0, 1.0, 2.0, 3.0], paused=True)
    assert show.after(100.0) == 0
    show.player.step(1)
    assert (show.player.position, show.after(100.0)) == (1, 1)
    show.player.step(5)
    assert (show.player.position, show.player.playing) == (4, False)
    for count, reason in ((1, "no fact after 4"), (0, "at least one")):
        with pytest.raises(Refused, match=reason):
            show.player.step(count)


def test_filtered_facts_are_passed_over():
    """They cost no step; when nothing is left to show, the head goes to the end."""
    show = Show([None, 1.0, None, None, 5.0, None], paused=True)
    heads = []
    for _ in range(2):
        show.player.step(1)
        heads.append(show.player.position)
    assert heads == [2, 6]
    assert [cue.seq for cue in show.player.recent] == [2, 5]


def test_seek_goes_both_ways_and_only_back_begins_a_new_epoch():
    """After it the recorded times count from the fact sought; beyond the end it is refused."""
    show = Show([0.0, 10.0, 11.0, 12.0])
    show.player.seek(3)
    assert (show.player.position, show.player.epoch, show.player.clock_ns) == (3, 0, 11 * SECOND)
    assert (show.after(0.9), show.after(0.2)) == (3, 4)
    show.player.seek(2)
    assert (show.player.position, show.player.epoch, show.player.at_end) == (2, 1, False)
    assert (show.after(0.9), show.after(0.2)) == (2, 3)
    show.player.seek(3)
    assert show.player.epoch == 1
    for seq in (5, -1):
        with pytest.raises(Refused, match="facts 1 to 4"):
            show.player.seek(seq)


def test_a_loop_begins_anew_after_a_rest():
    """The end is shown for a while, then the replay is back before its first fact, in a new epoch."""
    show = Show([0.0, 1.0, 2.0], first=2, loop=True)
    assert show.player.position == 1
    assert (show.after(0.0), show.after(1.1)) == (2, 3)
    assert (show.after(0.0), show.after(REST_S * 0.9)) == (3, 3)
    assert show.after(REST_S * 0.2) == 1
    assert show.player.epoch == 1
    assert show.after(0.0) == 2


def test_lockstep_waits_for_all_to_have_read():
    """So many facts as the window has are shown each time that everybody is up to date."""
    show = Show([0.0] * 5, pace=Pace.LOCKSTEP, window=2)
    assert [show.after(1.0, all_read=read) for read in (False, True, False, True, True)] == [0, 2, 2, 4, 5]


def test_a_lockstep_loop_waits_for_the_last_fact_to_be_read():
    """It does not begin anew over somebody's head."""
    show = Show([0.0], pace=Pace.LOCKSTEP, loop=True)
    show.after(0.0, all_read=True)
    assert show.after(0.0) == 1
    assert show.after(10 * REST_S, all_read=False) == 1
    assert show.after(0.0, all_read=True) == 0


def test_instant_needs_no_time_but_lets_others_have_their_turn():
    """Everything is shown without the clock moving, in bursts."""
    show = Show([0.0] * (BURST + 1), pace=Pace.INSTANT)
    assert [show.after(0.0), show.after(0.0)] == [BURST, BURST + 1]


def test_what_is_due_and_cannot_be_shown_at_once_is_caught_up_with():
    """A burst has its bound; afterwards the recorded times hold again."""
    show = Show([n / 4000 for n in range(3 * BURST)])
    show.after(0.0)
    assert [show.after(0.2501 - TURN_S), show.after(0.0)] == [1, 1]
    show.clock.now += TURN_S
    assert [show.after(0.0), show.after(0.0), show.after(0.0)] == [BURST + 1, 2 * BURST + 1, 2 * BURST + 1]


def test_a_process_that_stood_still_goes_on_where_it_was():
    """Hours between two turns are not hours of the recording."""
    show = Show([float(n) for n in range(5000)])
    show.after(0.0)
    show.clock.now += 3600.0
    show.player.advance(False)
    assert show.player.position == 2
    assert (show.after(0.9), show.after(0.2)) == (2, 3)


@given(
    times=st.lists(st.one_of(st.none(), st.integers(0, 50).map(float)), min_size=1, max_size=30),
    waits=st.lists(st.integers(0, 80).map(lambda quarters: quarters / 4), max_size=40),
    speed=st.sampled_from([0.5, 1.0, 2.0, 4.0]),
)
def test_the_head_only_goes_forward_and_shows_what_is_due(times: list[float | None], waits: list[float], speed: float):
    """Whatever the times: by number, and exactly the facts whose gaps have passed at this speed."""
    show = Show(times, speed=speed)
    heads = [show.after(wait) for wait in (0.0, *waits)]
    assert heads == sorted(heads)
    cues = list(Band(times).cues(0, len(times)))
    gaps = [max(0, after.time_ns - before.time_ns) / SECOND for before, after in pairwise(cues)]
    due = sum(1 for _ in takewhile(lambda at: at <= sum(waits) * speed, accumulate(gaps, initial=0.0)))
    assert sum(1 for cue in cues if cue.seq <= heads[-1]) == min(due, len(cues))


@pytest.mark.parametrize(
    ("command", "value", "reason"),
    [
        ("speed", 0.0, "to stand still, pause"),
        ("speed", float("nan"), "give a factor"),
        ("speed", float("inf"), "give a factor"),
        ("step", 1.5, "whole number"),
        ("seek", float("inf"), "whole number"),
        ("seek", float("nan"), "whole number"),
        ("paus", 0.0, "no such order; .*pause"),
    ],
)
def test_orders_that_make_no_sense_are_refused(command: str, value: float, reason: str):
    """One line that says what to say instead, and nothing changes."""
    show = Show([0.0, 1.0])
    with pytest.raises(Refused, match=reason):
        obey(show.player, command, value)
    assert (show.player.position, show.player.speed, show.player.playing) == (0, 1.0, True)


def test_orders_say_what_they_did():
    """Each word that a message or a key can give, in a sentence for the screen."""
    show = Show([0.0, 1.0, 2.0])
    said = [obey(show.player, *order) for order in (("step", 2), ("toggle", 0), ("pause", 0), ("seek", 1), ("loop", 1),
                                                    ("loop", 0), ("speed", 4), ("faster", 0), ("slower", 0))]  # fmt: skip
    assert said == [
        "stepped to fact 2", "goes on from fact 2", "paused at fact 2", "moved back to fact 1", "begins anew at the end",
        "stays at the end", "speed 4", "speed 8", "speed 4",
    ]  # fmt: skip
