# One door for people and CI. Needs Python 3.11 or newer and make; all else goes into .venv.
PYTHON  ?= $(shell command -v python3.11 || command -v python3)
WORKERS ?= auto
BIN     := .venv/bin
READY   := .venv/.ready

.DEFAULT_GOAL := all
.PHONY: all venv lint types test crash effects fuzz demo bench format clean
.SILENT:

all: lint types test

venv: $(READY)

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -qq --upgrade pip
	$(BIN)/python -m pip install -qq -e '.[dev]' -c constraints.txt --build-constraint constraints.txt
	touch $@

lint: $(READY)
	$(BIN)/ruff format --quiet --check .
	$(BIN)/ruff check --quiet .
	$(BIN)/codespell
	said=$$($(BIN)/deptry . 2>&1) || { echo "$$said"; exit 1; }

types: $(READY)
	$(BIN)/mypy --no-error-summary

test: $(READY)
	$(BIN)/pytest -q -n $(WORKERS) --cov --cov-fail-under=95

# They are made from a seed: the same SEED crashes at the same places, and tries the same inputs.
SEED ?= 1

crash: $(READY)
	$(BIN)/python -m tests.crash --seed $(SEED)

effects: $(READY)
	$(BIN)/python -m tests.authority --seed $(SEED)

fuzz: $(READY)
	$(BIN)/python -m pip install -qq --only-binary :all: atheris -c constraints.txt || echo "no atheris for this Python"
	$(BIN)/python -m tests.fuzz --seed $(SEED)

# Switches each guarantee of the controls off in turn; WORDS="approval lease" takes those that have one of these words.
mutations: $(READY)
	$(BIN)/python -m tests.mutations $(WORDS)

demo: $(READY)
	$(BIN)/redrive demo

bench: $(READY)
	$(BIN)/python -m benchmarks

format: $(READY)
	$(BIN)/ruff check --quiet --fix-only .
	$(BIN)/ruff format --quiet .

# What the targets above leave behind; .venv stays.
clean:
	rm -rf build dist htmlcov .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
