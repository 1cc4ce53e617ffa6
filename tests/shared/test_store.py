"""The policy store on a real directory, with real processes that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.errors import BadInput
from shared.store import PolicyStore, content_name


def filler(text: str) -> Callable[[Path], None]:
    """A writer of two files, one of them in a folder."""

    def fill(folder: Path) -> None:
        (folder / "config.json").write_text(text)
        (folder / "deep").mkdir()
        (folder / "deep" / "weights").write_bytes(text.encode() * 3)

    return fill


def test_same_content_has_the_same_name_and_is_not_rewritten(tmp_path: Path) -> None:
    """Writing a policy twice gives one folder, the first one."""
    store = PolicyStore(tmp_path / "new" / "store")
    name = store.write(filler("a"))
    inode = (store.path(name) / "config.json").stat().st_ino
    assert store.write(filler("a")) == name
    assert (store.path(name) / "config.json").stat().st_ino == inode
    assert store.names() == {name}
    assert content_name(store.path(name)) == name


def test_names_tell_contents_apart(tmp_path: Path) -> None:
    """Other bytes, other file names, or the same bytes cut otherwise make another policy."""
    store = PolicyStore(tmp_path)
    writers: list[Callable[[Path], object]] = [
        filler("a"),
        filler("b"),
        lambda folder: [(folder / "x").write_text("12"), (folder / "y").write_text("3")],
        lambda folder: [(folder / "x").write_text("1"), (folder / "y").write_text("23")],
        lambda folder: [(folder / "x").write_text("12"), (folder / "z").write_text("3")],
    ]
    assert len({store.write(writer) for writer in writers}) == len(writers)


def test_folder_is_added_without_its_hidden_files(tmp_path: Path) -> None:
    """A model folder is copied, links followed; caches and version control stay behind."""
    source = tmp_path / "model"
    source.mkdir()
    (tmp_path / "blob").write_text("weights")
    (source / "model.safetensors").symlink_to(tmp_path / "blob")
    (source / ".cache").mkdir()
    (source / ".cache" / "junk").write_text("junk")
    store = PolicyStore(tmp_path / "store")
    folder = store.path(store.add_folder(source))
    assert [file.name for file in folder.iterdir()] == ["model.safetensors"]
    assert (folder / "model.safetensors").read_text() == "weights"
    assert not (folder / "model.safetensors").is_symlink()


def test_mistakes_have_one_clear_line(tmp_path: Path) -> None:
    """A missing or empty model folder, an unknown policy, a path instead of a name, and a file in the way are bad input."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    store = PolicyStore(tmp_path / "store")
    with pytest.raises(BadInput, match="no such folder"):
        store.add_folder(tmp_path / "none")
    with pytest.raises(BadInput, match="empty"):
        store.add_folder(tmp_path / "empty")
    for name in ("p0123456789abcdef", "../empty", ""):
        with pytest.raises(BadInput, match="is not in the store"):
            store.path(name)
    with pytest.raises(BadInput, match="policy store"):
        PolicyStore(tmp_path / "file" / "store")


def test_failing_writer_leaves_nothing(tmp_path: Path) -> None:
    """What the writer raises passes through, and no folder stays, not even a hidden one."""
    store = PolicyStore(tmp_path)

    def fail(folder: Path) -> None:
        filler("half")(folder)
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        store.write(fail)
    with pytest.raises(ValueError, match="no file"):
        store.write(lambda folder: None)
    assert [entry.name for entry in tmp_path.iterdir()] == [".lock"]


def test_killed_writer_leaves_nothing_visible(tmp_path: Path) -> None:
    """A writer killed half-way leaves no policy; the next write removes its leftover."""
    program = (
        "import sys, time; from pathlib import Path; from shared.store import PolicyStore\n"
        "def slow(folder):\n"
        "    (folder / 'half').write_text('half'); print('writing', flush=True); time.sleep(60)\n"
        "PolicyStore(Path(sys.argv[1])).write(slow)"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        store = PolicyStore(tmp_path)
        assert store.names() == set()
        os.kill(writer.pid, signal.SIGKILL)
    assert len(list(tmp_path.glob(".unfinished-*"))) == 1
    name = store.write(filler("a"))
    assert {entry.name for entry in tmp_path.iterdir()} == {name, ".lock"}


def test_prune_keeps_what_it_is_told(tmp_path: Path) -> None:
    """All policies but those to keep are removed; a name to keep that is not there does no harm."""
    store = PolicyStore(tmp_path)
    a, b, c = (store.write(filler(text)) for text in "abc")
    assert store.prune({b, "p0000000000000000"}) == {a, c}
    assert store.names() == {b}
    assert {entry.name for entry in tmp_path.iterdir()} == {b, ".lock"}


def test_prune_can_be_held_to_known_policies(tmp_path: Path) -> None:
    """A policy that is neither to be kept nor known stays: somebody else has just made it."""
    store = PolicyStore(tmp_path)
    a, b, new = (store.write(filler(text)) for text in "abn")
    assert store.prune({b}, among={a, b}) == {a}
    assert store.names() == {b, new}
