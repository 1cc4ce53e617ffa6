"""The live page and the plain lines, drawn from views."""

from io import StringIO

from rich.console import Console

from console.screen import Health, LineScreen, LiveScreen, Pace, clock, page, screen_for, spark
from console.view import RunView
from shared.messages import (
    CandidateJudged,
    CandidateNominated,
    Decision,
    ExperienceRecorded,
    Role,
    RunStarted,
    StepClosed,
    StepOpened,
    TrainingEnded,
    WealthUpdated,
    WorkFailed,
)

HEALTH = [Health("bus", True, 0), Health("solver", False, 2)]


def a_view() -> RunView:
    """A run in its second step, with a gate test under way, one decision and one fault."""
    view = RunView()
    view.take(RunStarted(seed=3, config={"run": {"name": "tiny", "steps": 60}}, base_policy="p0", store=""))
    for step in (1, 2):
        view.take(StepOpened(step=step, policy="p0", num_challenges=2, num_assignments=2))
        view.take(ExperienceRecorded(step=step, role=Role.SOLVER, sample="", reward=0.25 * step, parts={}))
        view.take(StepClosed(step=step, recorded={}, dropped={}, rewards={}), 10.0 * step)
    judged = CandidateJudged(
        step=1, candidate="c1", incumbent="p0", decision=Decision.INCONCLUSIVE, reason="budget spent", wins=12, losses=9,
        ties=79, dropped=0, p_value=0.3, log_wealth=0.2, log_harm=-0.9,
    )  # fmt: skip
    view.take(judged)
    view.take(CandidateNominated(step=2, candidate="c2", incumbent="p0"))
    view.take(WealthUpdated(step=2, index=7, log_wealth=1.5, log_harm=-0.4, log_threshold=3.0, wins=5, losses=1, ties=2))
    view.take(WorkFailed(role=Role.CRITIC, work="w", work_type="PlanProposed", reason="boom", lineage="s2.a1"))
    return view


def drawn(view: RunView, *, width: int = 110) -> str:
    """The page as plain text."""
    out = StringIO()
    Console(file=out, width=width).print(page(view, HEALTH, elapsed_s=75, facts=1234, per_second=56.7))
    return out.getvalue()


def test_the_page_tells_everything_at_one_glance() -> None:
    """Progress, time, services, rewards, the gate and faults are on the page."""
    text = drawn(a_view())
    for part in (
        "sagepace · tiny", "step 2/60", "1:15", "about 9:40 left", "reward solver", "0.50", "▁█", "● bus",
        "○ solver (restarted 2x)", "gate, step 2", "+1.50 of 3.00", "5W 1L 2T", "inconclusive", "12W 9L 79T",
        "1234 facts, 57/s", "1 faults", "boom", "committed p0",
    ):  # fmt: skip
        assert part in text, part


def test_the_page_can_be_drawn_before_the_first_fact() -> None:
    """An empty view has a page too."""
    assert "starting" in drawn(RunView())


def test_the_page_fits_a_narrow_terminal() -> None:
    """On 60 columns no line is longer."""
    assert max(map(len, drawn(a_view(), width=60).splitlines())) <= 60


def test_plain_lines_say_each_thing_once() -> None:
    """One line a closed step and one a decision, however often they are shown, and one when training ends."""
    out = StringIO()
    view = a_view()
    with LineScreen(Console(file=out, width=40)) as screen:
        screen.show(view, HEALTH, 10)
        screen.show(view, HEALTH, 11)
        view.take(TrainingEnded(step=60, policy="c", committed="p0", reason="all 60 steps are done"))
        screen.show(view, HEALTH, 12)
        screen.show(view, HEALTH, 13)
    lines = out.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("step 2/60  reward solver 0.50") and "faults 1" in lines[0]
    assert lines[1] == "gate: step 1: inconclusive after 12 wins, 9 losses, 79 ties; budget spent"
    assert lines[2].startswith("training ended: all 60 steps are done")


def test_a_terminal_gets_the_live_page_and_anything_else_plain_lines() -> None:
    """Only a terminal without --quiet gets the live page, which wipes itself and keeps what was said."""
    terminal = Console(file=StringIO(), force_terminal=True, width=100)
    assert isinstance(screen_for(terminal, quiet=False), LiveScreen)
    assert isinstance(screen_for(terminal, quiet=True), LineScreen)
    assert isinstance(screen_for(Console(file=StringIO()), quiet=False), LineScreen)


def test_the_live_page_is_redrawn_and_says_things_above() -> None:
    """What is said stays on the terminal, with brackets as they are."""
    out = StringIO()
    with LiveScreen(Console(file=out, force_terminal=True, width=100, height=50)) as screen:
        screen.show(a_view(), HEALTH, 10)
        screen.say("solver died [again]")
    assert "solver died [again]" in out.getvalue()
    assert "sagepace · tiny" in out.getvalue()


def test_sparklines_run_from_low_to_high() -> None:
    """The lowest value is the lowest bar; equal values are a level line; none is none."""
    assert (spark([0, 1, 2]), spark([5, 5]), spark([])) == ("▁▅█", "▄▄", "")


def test_clock_and_pace() -> None:
    """Seconds read as a clock, and the pace is facts over time."""
    assert (clock(59), clock(3661)) == ("0:59", "1:01:01")
    pace = Pace()
    assert (pace.per_second(0.0, 100), pace.per_second(2.0, 150)) == (0.0, 25.0)
