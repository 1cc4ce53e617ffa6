"""Where a run may write, and which folders can be models."""

import os
from pathlib import Path

import pytest

from console.place import check_model, claim
from console.recording import LOG_NAME
from shared.errors import BadInput


def model(folder: Path) -> Path:
    """A folder with the files of a model, empty of meaning."""
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"")
    return folder


def test_a_claim_makes_nothing_and_make_makes_the_folders(tmp_path: Path) -> None:
    """A directory that is not there yet is fine; only `make` makes it."""
    place = claim(tmp_path / "a" / "b", resume=False, min_free_mb=0)
    assert not (tmp_path / "a").exists()
    place.make()
    assert place.output.is_dir()


def test_a_taken_directory_is_refused(tmp_path: Path) -> None:
    """A directory with a log is refused without --resume, and accepted with it."""
    (tmp_path / LOG_NAME).write_bytes(b"")
    with pytest.raises(BadInput, match="already holds a run; go on with it by --resume"):
        claim(tmp_path, resume=False, min_free_mb=0)
    assert claim(tmp_path, resume=True, min_free_mb=0).root == tmp_path


def test_nothing_to_resume_is_refused(tmp_path: Path) -> None:
    """--resume needs a log."""
    with pytest.raises(BadInput, match="there is no run to go on with"):
        claim(tmp_path, resume=True, min_free_mb=0)


def test_foreign_files_are_not_mixed_with_a_run(tmp_path: Path) -> None:
    """A directory with somebody's files is refused and named; what a run that never began left behind is not foreign."""
    (tmp_path / "policies").mkdir()
    claim(tmp_path, resume=False, min_free_mb=0)
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(BadInput, match=r"holds other files, such as thesis\.tex"):
        claim(tmp_path, resume=False, min_free_mb=0)


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    """A file where a directory should be is named."""
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="is a file"):
        claim(tmp_path / "file" / "run", resume=False, min_free_mb=0)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_no_permission_is_refused(tmp_path: Path) -> None:
    """A parent that may not be written to is named before anything is made."""
    tmp_path.chmod(0o500)
    with pytest.raises(BadInput, match="no permission to write"):
        claim(tmp_path / "run", resume=False, min_free_mb=0)


def test_where_nothing_can_be_made_the_reason_is_told() -> None:
    """The system's own refusal, here of the process table's file system, becomes the line."""
    with pytest.raises(BadInput, match=r"cannot be made|no permission"):
        claim(Path("/proc/sagepace"), resume=False, min_free_mb=0).make()


def test_too_little_disk_space_is_refused(tmp_path: Path) -> None:
    """The free space and the wish are both told."""
    with pytest.raises(BadInput, match=r"only \d+ MB free on its disk, run.min_free_mb asks for 1000000000000"):
        claim(tmp_path, resume=False, min_free_mb=10**12)


def test_a_model_folder_needs_config_tokenizer_and_weights(tmp_path: Path) -> None:
    """A missing folder and each missing part are named."""
    folder = model(tmp_path / "model")
    check_model(folder)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(BadInput, match="has no tokenizer"):
        check_model(folder)
    with pytest.raises(BadInput, match="no model folder at"):
        check_model(tmp_path / "none")


def test_a_damaged_model_config_is_refused(tmp_path: Path) -> None:
    """A config.json that is no JSON is named with the reason."""
    folder = model(tmp_path / "model")
    (folder / "config.json").write_text("{")
    with pytest.raises(BadInput, match=r"config\.json cannot be read"):
        check_model(folder)
