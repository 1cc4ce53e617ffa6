"""The paired sequential test, PACE's acceptance rule made complete; pure, and usable without a bus.

    test = PairedTest(Grid(), max_pairs=300)
    for kind, incumbent, candidate in pairs:
        if test.feed(kind, incumbent, candidate):
            break
    print(test.decision, test.reason, test.p_value)

Map: `Tally` counts pairs, `compare` turns two verdicts into one, `wins_needed` answers "how many more?", `PairedTest` decides.

Pairs on which both policies are right or both wrong say nothing about which is better and drop out; pairs without a verdict
are counted and drop out too. On the others a bettor stakes its wealth on the candidate (services/gate/bettors). The decision
falls at the first pair where one of these holds, in this order, and never changes afterwards:

* REJECT_HARM: a bettor on *losses* reached 1/alpha_harm, over all pairs or within one kind of task. The kinds are watched
  apart because a gain in one must not pay for a loss in another: such a candidate could never be committed any more.
* COMMIT: the wealth has reached 1/alpha at some moment, and every kind has had its minimum of graded pairs.
* INCONCLUSIVE: the budget is used up.
* REJECT_FUTILE: even if all pairs left in the budget were wins, 1/alpha could not be reached. This costs no power and does
  not touch the error rate.

The guarantee is per candidate: one that is not better (wins at most half of the discordant pairs) is committed with
probability at most alpha, however often one looks. Each harm process errs with probability at most alpha_harm; with k kinds a
false alarm of any of them has probability at most (k + 1) alpha_harm.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, log
from typing import NamedTuple

from services.gate.bettors import Bettor
from shared.messages import Decision, Verdict

TOLERANCE = 1e-12
"""Log-wealth this close below a threshold counts as having reached it: rounding must not decide."""


class Tally(NamedTuple):
    """Counts of pairs, from the candidate's side."""

    wins: int = 0
    losses: int = 0
    ties: int = 0
    dropped: int = 0
    """Pairs in which at least one answer got no verdict: a fault of ours, evidence of nothing."""

    @property
    def graded(self) -> int:
        """Pairs in which both answers got a verdict."""
        return self.wins + self.losses + self.ties

    def plus(self, other: Tally) -> Tally:
        """The counts of both together."""
        return Tally(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


def compare(incumbent: Verdict, candidate: Verdict) -> Tally:
    """What one pair adds to the counts."""
    if Verdict.NO_VERDICT in (incumbent, candidate):
        return Tally(dropped=1)
    if incumbent is candidate:
        return Tally(ties=1)
    return Tally(wins=1) if candidate is Verdict.CORRECT else Tally(losses=1)


def wins_needed(bettor: Bettor, log_threshold: float, losses: int, wins: int = 0) -> int:
    """How many more wins, with no further loss, would lift the wealth after `wins` and `losses` to the threshold."""
    more = 0
    while bettor.log_wealth(wins + more, losses) < log_threshold - TOLERANCE:
        more += 1
    return more


class PairedTest:
    """One candidate against one incumbent: pairs go in one by one, a decision comes out at the first that settles it."""

    def __init__(
        self,
        bettor: Bettor,
        *,
        max_pairs: int,
        alpha: float = 0.05,
        alpha_harm: float = 0.05,
        kinds: Iterable[str] = (),
        min_pairs_per_kind: int = 0,
    ) -> None:
        """A test of at most `max_pairs` pairs.

        `kinds` are those that must be looked at, `min_pairs_per_kind` graded pairs each, before a commit. A budget too small
        for any decision is judged at once.
        """
        self._bettor = bettor
        self._max_pairs = max_pairs
        self._min_pairs = min_pairs_per_kind
        self._by_kind: dict[str, Tally] = dict.fromkeys(kinds, Tally())
        self._highest = 0.0
        self._harm_threshold = -log(alpha_harm)
        self.log_threshold = -log(alpha)
        """Log-wealth at which the evidence is decisive: ln(1/alpha)."""
        self.tally = Tally()
        """Counts over all pairs fed so far."""
        self.decision: Decision | None = None
        """None while the test goes on; terminal once reached."""
        self.reason = ""
        """One sentence on why `decision` fell."""
        self._settle()

    @property
    def log_wealth(self) -> float:
        """Natural logarithm of the present wealth of the bettor on wins."""
        return self._bettor.log_wealth(self.tally.wins, self.tally.losses)

    @property
    def log_harm(self) -> float:
        """Natural logarithm of the present wealth of the bettor on losses, over all pairs."""
        return self._bettor.log_wealth(self.tally.losses, self.tally.wins)

    @property
    def log_harm_by_kind(self) -> dict[str, float]:
        """The same within each kind."""
        return {kind: self._bettor.log_wealth(tally.losses, tally.wins) for kind, tally in self._by_kind.items()}

    @property
    def p_value(self) -> float:
        """Always-valid p: min(1, 1 / highest wealth so far). At most alpha exactly when the evidence was once decisive."""
        return exp(-self._highest)

    @property
    def pairs_left(self) -> int:
        """Pairs that the budget still holds."""
        return self._max_pairs - self.tally.graded - self.tally.dropped

    def feed(self, kind: str, incumbent: Verdict, candidate: Verdict) -> Decision | None:
        """Takes the next pair and returns the decision, or None to go on. After a decision further pairs change nothing."""
        if self.decision is None:
            pair = compare(incumbent, candidate)
            self.tally = self.tally.plus(pair)
            self._by_kind[kind] = self._by_kind.get(kind, Tally()).plus(pair)
            self._highest = max(self._highest, self.log_wealth)
            self._settle()
        return self.decision

    def limit(self, max_pairs: int) -> Decision | None:
        """Lowers the budget, because there are no more instances than that; may settle the test."""
        if self.decision is None and max_pairs < self._max_pairs:
            self._max_pairs = max_pairs
            self._settle()
        return self.decision

    def _settle(self) -> None:
        verdict = self._harm() or self._commit() or self._end()
        if verdict:
            self.decision, self.reason = verdict

    def _harm(self) -> tuple[Decision, str] | None:
        if self.log_harm >= self._harm_threshold - TOLERANCE:
            return Decision.REJECT_HARM, f"worse overall: {_evidence(self.log_harm, self._harm_threshold, self.tally)}"
        for kind, log_harm in self.log_harm_by_kind.items():
            if log_harm >= self._harm_threshold - TOLERANCE:
                evidence = _evidence(log_harm, self._harm_threshold, self._by_kind[kind])
                return Decision.REJECT_HARM, f"worse in {kind}: {evidence}"
        return None

    def _commit(self) -> tuple[Decision, str] | None:
        if not self._decisive or self._unseen_kinds():
            return None
        return Decision.COMMIT, f"better: {_evidence(self._highest, self.log_threshold, self.tally)}"

    def _end(self) -> tuple[Decision, str] | None:
        if self.pairs_left <= 0:
            return Decision.INCONCLUSIVE, self._why_inconclusive()
        best = self._bettor.log_wealth(self.tally.wins + self.pairs_left, self.tally.losses)
        if not self._decisive and best < self.log_threshold - TOLERANCE:
            needed = wins_needed(self._bettor, self.log_threshold, self.tally.losses, self.tally.wins)
            return Decision.REJECT_FUTILE, f"{needed} more wins would be needed and only {self.pairs_left} pairs are left"
        return None

    def _why_inconclusive(self) -> str:
        if self._decisive:
            kinds = ", ".join(f"{kind} ({self._by_kind[kind].graded})" for kind in self._unseen_kinds())
            return f"better overall, but kinds with fewer than {self._min_pairs} graded pairs could hide a loss: {kinds}"
        return f"the budget of {self._max_pairs} pairs is used up with wealth {_amount(self.log_wealth)}"

    @property
    def _decisive(self) -> bool:
        return self._highest >= self.log_threshold - TOLERANCE

    def _unseen_kinds(self) -> list[str]:
        return [kind for kind, tally in self._by_kind.items() if tally.graded < self._min_pairs]


def _evidence(log_wealth: float, log_threshold: float, tally: Tally) -> str:
    counts = f"{tally.wins} wins, {tally.losses} losses, {tally.ties} ties"
    return f"wealth {_amount(log_wealth)} reached {_amount(log_threshold)} after {counts}"


def _amount(log_wealth: float) -> str:
    """Wealth for people; from about a million on as a power, which also keeps `exp` from overflowing."""
    return f"{exp(log_wealth):.4g}" if log_wealth < 14 else f"e^{log_wealth:.1f}"
