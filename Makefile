# SPDX-License-Identifier: Apache-2.0
# The two that matter: `make run` measures this machine, `make test` tests Steelyard. `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STEELYARD := $(BIN)/steelyard
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help run test test-all check build wheel golden fuzz docs site notes figure clean always

help: ## list the targets
	@echo 'make run     measure this machine: a first session, its answers on one screen, report.html'
	@echo 'make test    test Steelyard: minutes; TESTS=tests/unit tests only that'
	@echo
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | grep -vE '^(run|test):' | sed -E 's/^([^:]*):.*## /make \1\t/' | expand -t 16

# What was skipped because a compiler was missing is built once there is one: where each is that the build looks for.
FOUND = $(shell PATH="$$PATH:$$HOME/.cargo/bin"; for tool in cc c++ \
	$$(sed -n 's/^ *find_program.[A-Z_]* \(.*\)./\1/p' probes/support/*/*.cmake); do command -v "$$tool"; done; :)
$(VENV)/.compilers: always
	@mkdir -p $(VENV); echo '$(FOUND)' | cmp -s - $@ || echo '$(FOUND)' >$@

# Probes and launcher are built and installed again when any of their sources is newer; Python code is used in place.
NATIVE := $(shell find probes engines -type f -not -path 'engines/wheat/*' -not -path '*/build/*' -not -path '*/__pycache__/*') src/steelyard/measure/launch.c CMakeLists.txt
$(VENV)/.built: pyproject.toml $(NATIVE) $(VENV)/.compilers
	@command -v cc >/dev/null || { echo "make: no C compiler found: install gcc or clang (Debian: apt-get install gcc)"; exit 69; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "make: $(PYTHON) cannot make a virtual environment: \
	install Python 3.11 or later with venv (Debian: apt-get install python3-venv)"; exit 69; }
	$(BIN)/pip install --quiet --upgrade "pip>=23" scikit-build-core ninja cmake nlohmann-json
	@echo 'make: building the probes; the first time this takes minutes'
	@# The servers and what else is measured are fetched while the probes are compiled. One by one where they can't be had
	@# together: some are built from source, with libraries that may be missing.
	@others=$$($(BIN)/python -c "import tomllib; \
	extras = tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']; \
	print(*extras['mechanisms'], *extras['servers'])"); \
	test -e $@ || $(BIN)/pip wheel --quiet --wheel-dir build/wheels $$others >/dev/null 2>&1 & \
	$(BIN)/pip install --quiet --no-build-isolation --editable '.[report,sql,statistics]' || exit; wait; \
	$(BIN)/pip install --quiet --find-links build/wheels $$others 2>/dev/null || for other in $$others; do \
		$(BIN)/pip install --quiet --find-links build/wheels "$$other" 2>/dev/null || \
		echo "make: $$other cannot be installed for this Python; what needs it is skipped"; done
	@touch $@

# The server wheat has its own wheel, built where cargo is. What fails there is one line, and all else goes on.
WHEAT := $(shell find engines/wheat -type f \( -name '*.rs' -o -name '*.py' -o -name '*.toml' -o -name 'Cargo.lock' \) \
	-not -path '*/target/*' -not -path '*/build/*' -not -path '*/tests/*' -not -path '*/fuzz/*')
$(VENV)/.wheat: $(WHEAT) | $(VENV)/.built
	@export PATH="$$PATH:$$HOME/.cargo/bin"; mkdir -p build; \
	if ! command -v cargo >/dev/null; then echo "make: no cargo found: wheat is left out (install Rust 1.85 or later)"; \
	elif $(BIN)/pip install --quiet "setuptools>=77" "setuptools-rust>=1.11" >build/wheat.log 2>&1 && \
	$(BIN)/pip install --quiet --no-build-isolation --no-deps --force-reinstall ./engines/wheat >>build/wheat.log 2>&1; \
	then touch $@; else echo "make: wheat can't be built (it needs Rust 1.85 or later) and is left out: see build/wheat.log"; fi

# What only tests and checks need.
$(VENV)/.dev: pyproject.toml $(VENV)/.built
	$(BIN)/pip install --quiet --no-build-isolation --editable '.[dev]'
	@touch $@

build: $(VENV)/.built $(VENV)/.wheat ## set up .venv, build the probes; then the command is .venv/bin/steelyard

run: build ## weigh this machine: a first session of a few minutes, ending in one screen of answers and a report
	$(STEELYARD) run
	@$(STEELYARD) report -o report.html

# Java's classes need a JDK of 22 or later, Rust's probes `rustup target add` for the architecture that is not this one.
ARCHITECTURES ?= x86_64 aarch64
$(VENV)/.wheel: pyproject.toml $(VENV)/.built
	$(BIN)/pip install --quiet $$($(BIN)/python -c "import tomllib; \
	print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['wheel'])")
	@touch $@

wheel: $(VENV)/.wheel ## wheels that need no compiler, in dist: of all ARCHITECTURES; needs Go, Rust, a JDK and Node
	$(BIN)/python packaging/wheel.py dist $(ARCHITECTURES)

TESTS ?=
# Four at a time keep two CPUs busy: about half of what a test takes it waits, for daemons, deadlines and moments.
PYTEST := $(BIN)/python -m pytest --numprocesses 4 --no-loadscope-reorder --durations 10
test: $(VENV)/.dev $(VENV)/.wheat ## the test suite
	$(PYTEST) $(TESTS)

test-all: $(VENV)/.dev $(VENV)/.wheat ## the test suite with long fuzzing, every compiler and sanitizer, many kills
	STEELYARD_LONG=1 $(PYTEST) $(TESTS)
	$(BIN)/python -m pytest tests/fuzz --hypothesis-profile=fuzz

check: $(VENV)/.dev ## formats, types and lint: seconds
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

golden: $(VENV)/.dev ## accept what the golden tests got, after reading the differences that this prints
	-$(BIN)/python -m tests.golden.translations
	$(STEELYARD) docs build/docs
	cp build/docs/steelyard.1 packaging/share/man/man1/
	-$(BIN)/python -m pytest tests/golden
	$(BIN)/python -m tests.golden.accept

fuzz: $(VENV)/.dev ## throw broken input at every decoder, for about a minute
	$(BIN)/python -m pytest tests/fuzz --hypothesis-profile=fuzz

docs: $(VENV)/.dev ## man page and reference, into build/docs
	$(STEELYARD) docs build/docs

site: $(VENV)/.dev ## the documentation as a site, into build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

VERSION ?= Unreleased
notes: ## the release notes of VERSION, which are its part of the changelog
	@awk '/^## / { on = $$2 == "$(VERSION)"; found += on; next } on; END { exit !found }' CHANGELOG.md || \
	{ echo "make: CHANGELOG.md has no part \"## $(VERSION)\"" >&2; exit 1; }

figure: build ## the figure of the README, from the newest session or SESSION=FILE
	@mkdir -p docs/figures
	$(STEELYARD) report $(SESSION) -o build/report.html --figures build/figures
	cp build/figures/prices-0.svg docs/figures/price-list.svg

clean: ## remove what was built
	rm -rf build $(VENV)
