# SPDX-License-Identifier: Apache-2.0
# The two that matter: `make run` measures this machine, `make test` runs every test. `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STEELYARD := $(BIN)/steelyard
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help run test check build golden fuzz docs clean

help: ## list the targets
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# Probes and launcher are built and installed again when any of their sources is newer; Python code is used in place.
NATIVE := $(shell find probes -type f) src/steelyard/measure/launch.c CMakeLists.txt
$(VENV)/.built: pyproject.toml $(NATIVE)
	@command -v cc >/dev/null || { echo "make: no C compiler found: install gcc or clang (Debian: apt-get install gcc)"; exit 69; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "make: $(PYTHON) cannot make a virtual environment: \
	install Python 3.11 or later with venv (Debian: apt-get install python3-venv)"; exit 69; }
	$(BIN)/pip install --quiet --upgrade "pip>=23" scikit-build-core ninja cmake
	$(BIN)/pip install --quiet --no-build-isolation --editable .
	@touch $@

# What only tests and checks need.
$(VENV)/.dev: pyproject.toml $(VENV)/.built
	$(BIN)/pip install --quiet --no-build-isolation --editable '.[dev]'
	@touch $@

build: $(VENV)/.built ## set up .venv, build the probes; then the command is .venv/bin/steelyard

run: build ## weigh this machine: a first session of a few minutes, ending in tables and verdicts
	$(STEELYARD) run --budget 3m
	$(STEELYARD) claims --short

test: $(VENV)/.dev ## the whole test suite
	$(BIN)/python -m pytest

check: $(VENV)/.dev ## formats, types and lint: seconds
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/mypy

golden: $(VENV)/.dev ## accept what the golden tests got, after reading the differences that this prints
	-$(BIN)/python -m pytest tests/golden
	$(BIN)/python -m tests.golden.accept

fuzz: $(VENV)/.dev ## throw broken input at every decoder, for about a minute
	$(BIN)/python -m pytest tests/fuzz --hypothesis-profile=fuzz

docs: $(VENV)/.dev ## man page, reference of commands and table of probes, into build/docs
	$(STEELYARD) docs build/docs

clean: ## remove what was built
	rm -rf build $(VENV)
