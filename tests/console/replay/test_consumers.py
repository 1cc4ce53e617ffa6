"""Who reads a replay, and how far everybody is."""

from __future__ import annotations

from console.replay.consumers import Consumers, Standing


def test_all_have_read_only_when_there_is_somebody_and_nobody_is_behind():
    """The one that is furthest behind comes first; reading something older again takes nothing back."""
    consumers = Consumers([].append)
    assert not consumers.all_read(0)
    consumers.reads(b"a", 0, 0.0)
    assert consumers.all_read(0)
    consumers.reads(b"b", 7, 0.0)
    consumers.reads(b"a", 5, 0.0)
    consumers.reads(b"a", 2, 0.0)
    assert consumers.standings() == [Standing("consumer 1", 5), Standing("consumer 2", 7)]
    assert (consumers.all_read(5), consumers.all_read(6)) == (True, False)


def test_a_consumer_gets_the_name_under_which_it_keeps_its_cursor():
    """The cursor lives as long as the connection: the same service on a new one begins at 0."""
    said: list[str] = []
    consumers = Consumers(said.append)
    consumers.reads(b"a", 0, 0.0)
    consumers.is_called(b"a", "solver")
    consumers.is_called(b"a", "solver")
    consumers.handled(b"a", 9)
    consumers.handled(b"a", 8)
    assert said == ["consumer 1 reads", "consumer 1 is the solver"]
    assert (consumers.cursor(b"a"), consumers.cursor(b"b")) == (9, 0)


def test_a_silent_consumer_is_dropped_and_one_that_beats_is_not():
    """Any request counts as a sign of life, and so does a beat of its role; who comes back counts again."""
    said: list[str] = []
    consumers = Consumers(said.append, patience_s=5.0)
    for peer, name in ((b"a", "solver"), (b"b", "critic"), (b"c", "gate")):
        consumers.reads(peer, 3, 0.0)
        consumers.is_called(peer, name)
    consumers.heard(b"a", 4.0)
    consumers.beats("critic-2", "critic", 4.0)
    consumers.heard(b"unknown", 4.0)
    consumers.drop_silent(6.0)
    assert {one.name for one in consumers.standings()} == {"solver", "critic"}
    assert said[-1] == "gate was not heard of for 5 s: it is not waited for any more"
    consumers.reads(b"c", 1, 7.0)
    assert not consumers.all_read(3)


def test_when_time_moves_back_nobody_has_read_anything():
    """Everybody counts again from its next read on."""
    consumers = Consumers([].append)
    consumers.reads(b"a", 9, 0.0)
    consumers.forget()
    assert consumers.standings() == []
    consumers.reads(b"a", 2, 0.0)
    assert not consumers.all_read(3)
