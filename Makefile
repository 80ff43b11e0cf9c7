# The table of contents of this repository. Quiet by default; V=1 shows the commands.
# `make demo` and `make test` set up everything they need (see tools/setup and tools/build_micropython).

ifneq ($(words $(CURDIR)),1)
$(error The path of this checkout contains a space ($(CURDIR)), which make and virtual environments cannot handle: move it)
endif

ifneq ($(V),1)
.SILENT:
endif
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory --no-builtin-rules
# One job at a time: the parts share .venv and build.
.NOTPARALLEL:

BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest $(if $(filter 1,$(V)),-v,-q) $(PYTEST_OPTIONS)

.PHONY: help
help: ## this list
	awk -F ':.*## ' '/^[a-z0-9%-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

.PHONY: demo
demo: setup-demo ## excite, capture, identify, write back and prove, on the virtual rig
	$(BIN)/idm demo -o build/demo

.PHONY: setup setup-demo
setup: ## the virtual environment .venv with everything, tests included
	tools/setup rig,board,dev
setup-demo:
	tools/setup rig,board

.PHONY: test test-64bit test-32bit test-emulated
test: test-64bit test-32bit test-emulated ## every test, on 64-bit and 32-bit MicroPython and on emulated boards
test-64bit: setup # all but the others: needs no compiler
	$(PYTEST)
test-32bit: setup ## the firmware's tests on MicroPython with 32-bit words
	tools/build_micropython unix32
	$(PYTEST) -m words32
test-emulated: setup ## the same firmware and bits on a Cortex-M3 (QEMU) and a Pico (rp2040py)
	tools/build_micropython mps2 rp2
	$(PYTEST) -m emulated

BENCH ?= virtual
.PHONY: hil
hil: setup ## identify, write back and stop on a bench: make hil BENCH=NAME (docs/benches.md)
	$(PYTEST) hil_tests --bench $(BENCH) --junitxml=build/hil-$(notdir $(basename $(BENCH))).xml

.PHONY: fuzz fuzz-coverage
fuzz: setup emulators ## damaged frames by the million into both ends of the link: five minutes, one line of JSON
	$(BIN)/python tools/fuzz_link.py $(FUZZ_OPTIONS)
fuzz-coverage: ## bytes that reach new code in the parsers (atheris): FUZZ_OPTIONS=-max_total_time=600
	tools/setup rig,board,dev,fuzz
	$(BIN)/python tools/fuzz_coverage.py $(FUZZ_OPTIONS)

.PHONY: lint types
lint: setup ## style and likely bugs (ruff)
	$(BIN)/ruff check
types: setup ## static types (mypy --strict)
	$(BIN)/mypy

.PHONY: emulators
emulators: ## MicroPython with 32-bit words, built from source: a process, a Cortex-M3 for QEMU, a Pico
	tools/build_micropython

.PHONY: coverage
coverage: setup ## line and branch coverage of the host's tests
	$(PYTEST) --cov --cov-report=term:skip-covered --cov-report=html

# A benchmark prints one line of JSON: what was measured, how often, and ratios (to a peer, to a limit) rather than
# times of one machine. tools/bench_link.py is `make bench-link`, and so on.
bench-%: setup ## a benchmark, tools/bench_*.py: one line of JSON with ratios
	$(BIN)/python tools/bench_$*.py

.PHONY: clean
clean: ## remove .venv, build and caches
	rm -rf .venv build dist htmlcov .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
