"""A log as JSON lines or MCAP and back: byte for byte, or refused."""

from __future__ import annotations

import json
import math
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pandas
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcap.reader import make_reader

from console.recording import LOG_NAME
from shared.codec import encode
from shared.eventlog.entry import Entry, Row, entry_of
from shared.eventlog.fresh import write_log
from shared.eventlog.reader import LogReader
from shared.messages import ExperienceRecorded, Role, StepClosed, named
from tests.console.inspect.recordings import HISTORIES, REAL, complaint, opened, record, sagepace, started

FORMATS = ("jsonl", "mcap")
each_format = pytest.mark.parametrize("form", FORMATS)


def all_of(directory: Path) -> tuple[list[Row], dict[str, int], int, object]:
    """Everything a log holds."""
    with closing(LogReader(directory / LOG_NAME)) as reader:
        return list(reader.rows()), reader.cursors(), reader.handled_from(), reader.origin()


def there_and_back(source: Path, tmp_path: Path, form: str) -> Path:
    """The log that an export of another becomes."""
    file = tmp_path / f"out.{form}"
    sagepace("log", "export", source, file)
    sagepace("log", "import", file, tmp_path / "back")
    return tmp_path / "back"


@each_format
@pytest.mark.parametrize("name", ["commit", "slice"])
def test_a_log_comes_back_byte_for_byte(name: str, form: str, tmp_path: Path) -> None:
    """Payloads, numbers, times, checksums, marks, and of a slice what it is."""
    back = there_and_back(HISTORIES / name, tmp_path, form)
    assert all_of(back) == all_of(HISTORIES / name)
    assert sagepace("log", "verify", back).stdout.startswith("the log is whole")
    assert sagepace("log", "diff", HISTORIES / name, back).stdout.startswith("identical")


@each_format
def test_what_json_cannot_say_survives(form: str, tmp_path: Path) -> None:
    """No number, both infinities, minus zero, long numbers, odd keys, bytes, unknown facts and unknown fields."""
    run = started(config={"run": {"name": "demo", "a.b": {}, "": [1, {"x": 2**63 - 1}]}, "empty": {}})
    numbers = {"nan": math.nan, "inf": math.inf, "minus": -math.inf, "zero": -0.0, "small": 5e-324, "a.b": 0.1}
    closed = named(StepClosed(step=1, recorded={}, dropped={"x.y.z": 1}, rewards=numbers), run)
    fields = {
        "type": "DreamRecorded",
        "blob": b"\xff\x00",
        "deep": {"a": {"b": [None, True, 1.0, 1]}},
        "id": "d",
        "cause": run.id,
    }
    dream = Entry("d", "DreamRecorded", "dreamer", run.id, "s1", msgspec.msgpack.encode(fields | {"lineage": "s1"}))
    turned = Entry(
        "e",
        "DreamRecorded",
        "dreamer",
        "",
        "",
        msgspec.msgpack.encode({"id": "e", "cause": "", "lineage": "", "type": "DreamRecorded"}),
    )
    (tmp_path / "log").mkdir()
    entries = [entry_of(encode(run)), entry_of(encode(closed)), dream, turned]
    write_log(tmp_path / "log" / LOG_NAME, ((n * 7 + 1, entry) for n, entry in enumerate(entries)))
    assert all_of(there_and_back(tmp_path / "log", tmp_path, form)) == all_of(tmp_path / "log")


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
maps = st.dictionaries(st.text(max_size=6), plain, max_size=5)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(payloads=st.lists(maps, min_size=1, max_size=4))
def test_whatever_a_payload_says_comes_back(payloads: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Any MessagePack map under any name, through both formats, in this process."""
    from console.inspect.exporting import export_log, import_log
    from console.inspect.selected import Options

    home = tmp_path_factory.mktemp("any")
    entries = []
    for number, payload in enumerate(payloads):
        fields = {"type": "Any", **payload, "id": f"i{number}", "cause": "", "lineage": "x"} | {"type": "Any"}
        entries.append(Entry(f"i{number}", "Any", "any", "", "x", msgspec.msgpack.encode(fields)))
    (home / "log").mkdir()
    write_log(home / "log" / LOG_NAME, ((n + 1, entry) for n, entry in enumerate(entries)))
    for form in FORMATS:
        export_log(home / "log", home / f"x.{form}", Options(), chosen_format=None, as_json=True)
        import_log(home / f"x.{form}", home / form, chosen_format=None, as_json=True)
        assert all_of(home / form) == all_of(home / "log")


def test_pandas_loads_the_lines_as_they_are(tmp_path: Path) -> None:
    """One row a fact; fields are columns, and those one level down too."""
    sagepace("log", "export", REAL, tmp_path / "log.jsonl")
    frame = pandas.read_json(tmp_path / "log.jsonl", lines=True)
    rows, *_ = all_of(REAL)
    assert list(frame["seq"]) == [row.seq for row in rows]
    assert list(frame["fact"]) == [row.type for row in rows]
    assert list(frame["id"]) == [row.id for row in rows]
    graded = frame[frame["fact"] == "AnswerGraded"]
    assert set(graded["payload.verdict"]) <= {"correct", "wrong", "no_verdict"}
    assert set(graded["payload.task.kind"]) <= {"words", "code"}
    rewards = frame[frame["fact"] == "ExperienceRecorded"].groupby("role")["payload.reward"].mean()
    assert rewards.between(0, 1).all()
    assert pandas.to_datetime(frame["time"]).is_monotonic_increasing


def test_mcap_has_a_channel_for_each_role_and_fact_with_a_schema(tmp_path: Path) -> None:
    """Any MCAP reader finds the payloads as MessagePack, the journal's times and numbers, and a JSON Schema."""
    sagepace("log", "export", REAL, tmp_path / "log.mcap")
    rows, *_ = all_of(REAL)
    with (tmp_path / "log.mcap").open("rb") as file:
        found = list(make_reader(file, validate_crcs=True).iter_messages(log_time_order=False))
    assert [message.data for _, _, message in found] == [row.payload for row in rows]
    assert [(message.sequence, message.log_time) for _, _, message in found] == [(row.seq, row.time_ns) for row in rows]
    assert {channel.topic for _, channel, _ in found} == {f"/{row.role}/{row.type}" for row in rows}
    schema, channel, _ = next(each for each in found if each[0] and each[0].name == "AnswerGraded")
    assert schema is not None
    assert (schema.encoding, channel.message_encoding) == ("jsonschema", "msgpack")
    described = json.loads(schema.data)
    assert "verdict" in described["$defs"]["AnswerGraded"]["properties"]


@each_format
def test_a_part_is_marked_as_one(form: str, tmp_path: Path) -> None:
    """Numbered anew, causes may lie outside, and what was selected is told; each fact is still held to its checksum."""
    words = ("--only", "AnswerGraded", "--from", "2")
    assert "of" in sagepace("log", "export", REAL, tmp_path / f"p.{form}", *words).stdout
    told = sagepace("log", "import", tmp_path / f"p.{form}", tmp_path / "part").stdout
    assert "a part, numbered anew, to look at and not to re-run" in told
    original, *_ = all_of(REAL)
    part, marks, handled_from, origin = all_of(tmp_path / "part")
    graded = [row for row in original if row.type == "AnswerGraded"]
    assert [(row.payload, row.time_ns) for row in part] == [(row.payload, row.time_ns) for row in graded]
    assert [row.seq for row in part] == list(range(1, len(graded) + 1))
    assert (marks, handled_from) == ({}, 0)
    assert getattr(origin, "kind", "") == "partial"
    assert sagepace("log", "verify", tmp_path / "part").stdout.startswith("the log is whole")
    assert sagepace("log", "info", tmp_path / "part").stdout.splitlines()[0].endswith("to look at and not to re-run")
    assert "and can only be looked at" in complaint("rerun", tmp_path / "part", "--service", "solver")
    assert "is not there" in complaint("log", "slice", tmp_path / "part", tmp_path / "s", "--step", "1")


@pytest.fixture
def lines(tmp_path: Path) -> list[str]:
    """The export of a small run, as lines."""
    run = started()
    facts = [run, *(opened(run, step) for step in range(1, 6))]
    parts = {"quality": 0.5}
    facts.append(named(ExperienceRecorded(step=1, role=Role.SOLVER, sample="x", reward=0.5, parts=parts), run))
    sagepace("log", "export", record(tmp_path / "log", facts, cursors={"solver": 2}), tmp_path / "log.jsonl")
    return (tmp_path / "log.jsonl").read_text().splitlines(keepends=True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: lines[3].replace('"payload.step":3', '"payload.step":4'), ":4: fact 4 was changed"),
        (lambda lines: lines[3].replace('"seq":4', '"seq":5'), ":4: fact 5 follows fact 3: facts in between were taken out"),
        (lambda lines: lines[3].replace('"seq":4', '"seq":2'), ":4: fact 2 stands after fact 3"),
        (lambda lines: lines[3].replace(":03.0", ":03.1"), ":4: fact 4 was changed"),
        (lambda lines: lines[3].replace('"role":"learner"', '"role":"gate"'), ":4: fact 4 was changed: its role"),
        (lambda lines: lines[3].replace('"lineage":"s3"', '"lineage":"s4"'), ":4: fact 4 was changed"),
        (lambda lines: lines[3][:-20] + "\n", ":4: no line of JSON"),
        (lambda lines: "\n", ":4: no line of JSON"),
        (lambda lines: "[]\n", ":4: not an object"),
        (lambda lines: '{"seq":4}\n', ":4: not a line that `sagepace log export` wrote"),
        (lambda lines: lines[3].replace('"checksum":"', '"checksum":"zz'), ":4: not a line"),
        (lambda lines: lines[3].replace("Z", "+00:00"), ":4: not a line"),
        (lambda lines: "", ":4: fact 5 follows fact 3"),
        (lambda lines: lines[3] + lines[3], ":5: fact 4 stands after fact 4"),
    ],
)
def test_a_changed_line_is_refused_with_its_number(change: Any, said: str, lines: list[str], tmp_path: Path) -> None:
    """Whatever was changed, taken out, repeated or cut; and nothing is left behind."""
    lines[3] = change(lines)
    (tmp_path / "bad.jsonl").write_text("".join(lines))
    assert said in complaint("log", "import", tmp_path / "bad.jsonl", tmp_path / "back")
    assert not (tmp_path / "back").exists()


def test_an_export_that_lost_its_end_is_refused(lines: list[str], tmp_path: Path) -> None:
    """The last line says how many there are."""
    (tmp_path / "cut.jsonl").write_text("".join(lines[:-1]))
    assert "the export was cut" in complaint("log", "import", tmp_path / "cut.jsonl", tmp_path / "back")
    (tmp_path / "cut.jsonl").write_text("")
    assert "holds no fact" in complaint("log", "import", tmp_path / "cut.jsonl", tmp_path / "back")


def test_damaged_mcap_files_are_refused(tmp_path: Path) -> None:
    """Cut anywhere, or a byte changed anywhere: one line, or the very same log."""
    run = started()
    source = record(tmp_path / "log", [run, *(opened(run, step) for step in range(1, 40))])
    sagepace("log", "export", source, tmp_path / "log.mcap")
    from console.inspect.exporting import import_log
    from shared.errors import BadInput

    data = (tmp_path / "log.mcap").read_bytes()
    bad = tmp_path / "bad.mcap"
    for number, at in enumerate(range(0, len(data), max(1, len(data) // 120))):
        flipped = bytearray(data)
        flipped[at] ^= 1 << number % 8
        for damaged in (data[:at], bytes(flipped)):
            bad.write_bytes(damaged)
            target = tmp_path / f"back{number}"
            try:
                import_log(bad, target, chosen_format=None, as_json=True)
            except BadInput as error:
                assert "\n" not in str(error)
                assert not target.exists()
                continue
            assert all_of(target)[0] == all_of(source)[0]
            (target / LOG_NAME).unlink()
            target.rmdir()


def test_places_and_formats_are_checked(lines: list[str], tmp_path: Path) -> None:
    """Nothing is overwritten, and an unknown ending asks for the format."""
    out = tmp_path / "log.jsonl"
    before = out.read_bytes()
    assert "exists" in complaint("log", "export", tmp_path / "log", out)
    assert out.read_bytes() == before
    assert ".jsonl or .mcap" in complaint("log", "export", tmp_path / "log", tmp_path / "log.csv")
    assert "there is no directory" in complaint("log", "export", tmp_path / "log", tmp_path / "no" / "log.jsonl")
    assert "exists" in complaint("log", "import", out, tmp_path / "log")
    assert "there is no such file" in complaint("log", "import", tmp_path / "none.jsonl", tmp_path / "x")
    assert "is a directory" in complaint("log", "import", tmp_path / "log", tmp_path / "x", "--format", "jsonl")
    assert "not an MCAP file" in complaint("log", "import", out, tmp_path / "x", "--format", "mcap")
    assert "nothing to export" in complaint("log", "export", tmp_path / "log", tmp_path / "n.jsonl", "--only", "RunEnded")
    sagepace("log", "export", tmp_path / "log", tmp_path / "log.csv", "--format", "jsonl")
    assert (tmp_path / "log.csv").read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["log", "log.csv", "log.jsonl"]
