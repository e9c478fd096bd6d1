# Every target sets up its own virtual environment in .venv; Python 3.11 or later.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test fuzz lint bench docs clean

demo: $(STAMP)
	$(BIN)/imvc demo --output demo_output

test: $(STAMP)
	@sh .ci/browser.sh
	$(BIN)/ruff check src tests benchmarks examples docs/*.py
	$(BIN)/ruff format --check src tests benchmarks examples docs/*.py
	$(BIN)/mypy
	$(BIN)/python -m pytest -n auto

# Damaged files of every format; findings go to fuzz_findings.
MINUTES ?= 60
fuzz: $(STAMP)
	$(BIN)/python tests/fuzz/fuzz_run.py --minutes $(MINUTES)

lint: $(STAMP)
	$(BIN)/ruff format src tests benchmarks examples docs/*.py
	$(BIN)/ruff check --fix src tests benchmarks examples docs/*.py

bench: $(STAMP)
	$(BIN)/python benchmarks/bench_rise.py

docs: $(STAMP)
	$(BIN)/python -m sphinx -q -W --keep-going -j auto -d docs/_build/doctrees -c docs . docs/_build/html
	@echo docs/_build/html/index.html

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "imvc needs Python 3.11 or later; try make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) demo_output fuzz_findings build dist src/*.egg-info docs/_build docs/api docs/gallery
