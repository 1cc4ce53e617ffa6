"""Model folders: what is loaded is what was saved, and mistakes are one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from shared.engine.batch import Completion, Sampler, folder_loader
from shared.engine.weights import import_gguf, load_model, load_tokenizer, smollm2_gguf
from shared.errors import BadInput
from shared.messages import Turn
from tests.shared.engine.tiny_models import job, tiny_model, tiny_tokenizer


def saved(folder: Path) -> Path:
    """A complete model folder."""
    tiny_model().save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def test_a_folder_gives_back_weights_and_ids(tmp_path: Path) -> None:
    """Weights are equal after saving and loading, and so are the ids of a text with numbers."""
    model, tokenizer = folder_loader(lambda _: saved(tmp_path))("p")
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), tiny_model().parameters(), strict=True))
    assert not model.training
    assert tokenizer("Mia has 14 pens")["input_ids"] == tiny_tokenizer()("Mia has 14 pens")["input_ids"]


def test_a_tokenizer_is_not_replaced_by_another(tmp_path: Path) -> None:
    """Whole-number tokens survive a model type for which transformers would split digits: qwen2."""
    words = ["<unk>", "Mia", "has", "pens", *map(str, range(100))]
    own = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, unk_token="<unk>"))
    own.pre_tokenizer = pre_tokenizers.Whitespace()
    own.decoder = decoders.Fuse()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=own, unk_token="<unk>")
    fast.save_pretrained(tmp_path)
    transformers.Qwen2Config(vocab_size=len(words)).save_pretrained(tmp_path)
    assert load_tokenizer(tmp_path)("Mia has 14 pens")["input_ids"] == fast("Mia has 14 pens")["input_ids"]


def remove(*patterns: str) -> Callable[[Path], None]:
    """Deletes the files of these names."""

    def change(folder: Path) -> None:
        for pattern in patterns:
            for file in folder.glob(pattern):
                file.unlink()

    return change


def cut(name: str) -> Callable[[Path], None]:
    """Keeps the first half of a file."""

    def change(folder: Path) -> None:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: len(content) // 2])

    return change


def lose_a_weight(folder: Path) -> None:
    """Takes one tensor out of the weights."""
    weights = load_file(folder / "model.safetensors")
    del weights["model.norm.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (remove("tokenizer*"), "has no tokenizer"),
        (remove("*.safetensors"), "has no weights"),
        (remove("config.json"), "has no model configuration"),
        (cut("model.safetensors"), "cannot be read"),
        (cut("tokenizer.json"), "cannot be read"),
        (cut("config.json"), "cannot be read"),
        (lose_a_weight, "1 weights are missing, such as model.norm.weight"),
        (remove("*"), "has no model configuration"),
    ],
)
def test_a_damaged_folder_is_one_line(tmp_path: Path, damage: Callable[[Path], None], line: str) -> None:
    """What is missing or broken is said with the folder's name, in one line."""
    damage(saved(tmp_path))
    with pytest.raises(BadInput, match=line) as caught:
        folder_loader(lambda _: tmp_path)("p")
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_folder_and_no_such_dtype_are_one_line(tmp_path: Path) -> None:
    """A folder that is not there and numbers that do not exist are said before anything is loaded."""
    with pytest.raises(BadInput, match="no such folder"):
        load_model(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="dtype 'float8' is not known"):
        load_model(tmp_path, dtype="float8")
    with pytest.raises(BadInput, match="no such file"):
        import_gguf(tmp_path / "model.gguf", tmp_path)


def test_a_file_that_is_no_gguf_is_one_line(tmp_path: Path) -> None:
    """A damaged GGUF file is said with its name."""
    (tmp_path / "model.gguf").write_bytes(b"not a model")
    with pytest.raises(BadInput, match=r"model\.gguf cannot be read"):
        import_gguf(tmp_path / "model.gguf", tmp_path / "out")


@pytest.mark.slow
def test_smollm2_becomes_an_ordinary_folder_and_answers(tmp_path: Path) -> None:
    """The packaged GGUF file is imported with its chat template; the folder loads and answers a question greedily."""
    import_gguf(smollm2_gguf(), tmp_path)
    request = job(max_tokens=16, temperature=0.0)._replace(turns=(Turn("user", "What is the capital of France?"),))
    done = Sampler(folder_loader(lambda _: tmp_path)).run([request])[0]
    assert isinstance(done, Completion)
    assert "Paris" in done.text
    assert "<|im_start|>" in load_tokenizer(tmp_path).decode(done.prompt_ids)
