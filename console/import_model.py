"""`python -m console.import_model FOLDER`: writes the packaged SmolLM2 as a model folder.

A process of its own, so that the console never holds torch and a model in memory while it watches a run.
"""

from __future__ import annotations

import sys
from pathlib import Path

from shared.engine.weights import import_gguf, smollm2_gguf
from shared.errors import BadInput

if __name__ == "__main__":
    try:
        import_gguf(smollm2_gguf(), Path(sys.argv[1]))
    except BadInput as error:
        sys.exit(str(error))
