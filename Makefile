# Every command of the project. Each does its own set-up; nothing has to be installed before but Python 3.10 or
# newer, a Rust toolchain and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.built
SOURCES := Cargo.toml Cargo.lock pyproject.toml $(wildcard src/*.rs)

.PHONY: help demo test build format lint types bench fuzz docs clean

help: ## list the commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## */  make \1\t/' | expand -t 16

demo: $(CORE) ## build, train on the standard library's source files, show some encodings
	$(BIN)/python docs/demo.py

test: $(CORE) ## build and run every test
	cargo test --quiet
	$(BIN)/python -m pytest

build: $(CORE) ## build the package into .venv

format: $(CORE) ## format all code
	cargo fmt
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(CORE) ## check the code's form: rustfmt, clippy, ruff
	cargo fmt --check
	cargo clippy --quiet --all-targets -- -D warnings
	cargo clippy --quiet --features python -- -D warnings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(CORE) ## check the types: mypy, and the core against its stub
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest exactbpe._core

bench: $(CORE) ## measure; see benchmarks/README.md
	$(BIN)/python -m benchmarks

fuzz: $(CORE) ## look for differences to the reference, for SECONDS (60) seconds
	$(BIN)/python -m fuzz --seconds $(or $(SECONDS),60)

docs: $(CORE) ## run every example in the documents
	$(BIN)/python -m pytest tests/test_docs.py

clean: ## remove all that was built
	rm -rf $(VENV) target dist python/exactbpe/_core*.so

$(VENV)/.made: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "Python 3.10 or newer is needed: make PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "maturin>=1.7,<2"
	@touch $@

$(CORE): $(SOURCES) $(VENV)/.made
	$(BIN)/maturin develop --release --extras test,dev --quiet
	@touch $@
