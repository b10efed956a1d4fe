# Every target sets up what it needs: `make report` and `make test` work on a fresh clone.
.DEFAULT_GOAL := help
SHELL := /bin/bash

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOGS ?= data_samples
OUT ?= report.html

.PHONY: help install report test doctest check lint types wheel docs pages screenshots bench build lock soak soak-runs fuzz test-cluster clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r constraints.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(READY)

install: $(READY) ## make .venv with trajtab and everything it is tested with

report: $(READY) ## land, score and show data_samples/, or LOGS=path; writes report.html (OUT=file)
	@$(BIN)/trajtab report $(LOGS) -o $(OUT)

test: $(READY) ## run all tests, doctests included
	$(BIN)/python -m pytest -q -n 2

test-cluster: $(READY) ## kill parts of a Spark cluster on loopback (Java 17); TRAJTAB_CLUSTER_RUNS=200000
	TRAJTAB_CLUSTER=1 $(BIN)/python -m pytest -q -p no:randomly tests/cluster

doctest: $(READY) ## run the doctests alone
	$(BIN)/python -m pytest -q pipeline

check: lint types wheel docs ## lint, types, wheel against tree, documented commands

lint: $(READY) ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## mypy, strict
	$(BIN)/mypy

wheel: $(READY) ## build the wheel and compare it with the tree
	$(BIN)/python -m pytest -q tests/packaging

docs: $(READY) ## run the commands of README and docs
	$(BIN)/python -m pytest -q tests/docs

pages: $(READY) ## write what is made from code in the documentation: pages, outputs
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/console.py

screenshots: $(READY) ## pictures of the pages, in build/screenshots/; needs chromium
	$(BIN)/python tests/screenshots.py build/screenshots

bench: $(READY) ## measure; prints ratios, machine and versions; writes bench.json
	$(BIN)/python -m tests.bench $(BENCH)

soak: $(READY) ## property tests, many more examples
	HYPOTHESIS_PROFILE=soak $(BIN)/python -m pytest -q -n 2 tests

soak-runs: $(READY) ## land, score, aggregate RUNS=10000000 runs; CPU and peak memory as JSON
	$(BIN)/python -m tests.bench.soak --runs $(or $(RUNS),10000000)

fuzz: $(READY) ## damage every log at hand and land it, for FOR=300 seconds
	$(BIN)/python -m tests.fuzz $(or $(FOR),300)

build: $(READY) ## build wheel and sdist into dist/
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .

lock: ## pin every dependency anew, with hashes
	$(PYTHON) -m venv .lock
	.lock/bin/pip install --quiet uv
	.lock/bin/uv pip compile pyproject.toml $(addprefix --extra ,dev judge objects report schema spark stats text) --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --quiet \
	  --output-file constraints.txt --upgrade
	rm -rf .lock

clean: ## remove everything made here
	rm -rf $(VENV) .trajtab dist build report.html .mypy_cache .ruff_cache .pytest_cache .hypothesis
