# Every target sets up its own virtual environment in .venv; Python 3.11 or later.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test test-oldest test-python fuzz lint bench docs dist clean

demo: $(STAMP)
	$(BIN)/imvc demo --output demo_output

test: $(STAMP)
	@sh .ci/browser.sh
	$(BIN)/ruff check src tests benchmarks examples docs/*.py
	$(BIN)/ruff format --check src tests benchmarks examples docs/*.py
	$(BIN)/mypy
	$(BIN)/python -m pytest -n auto

# With the oldest versions that pyproject.toml allows; they have wheels for Python 3.11.
test-oldest:
	python3.11 -m venv .venv-oldest
	python3.11 .ci/oldest.py > .venv-oldest/oldest.txt
	.venv-oldest/bin/python -m pip install --quiet --constraint .venv-oldest/oldest.txt -e '.[dev]'
	.venv-oldest/bin/python -m pytest -n auto

# With another Python: make test-python PY=python3.13; uv brings one that is not there.
PY ?= python3.13
test-python:
	$(PY) -m venv .venv-$(PY) || uv venv --quiet --clear --seed --python $(PY) .venv-$(PY)
	.venv-$(PY)/bin/python -m pip install --quiet -e '.[dev]'
	.venv-$(PY)/bin/python -m pytest -n auto

# The wheel and the source archive, in dist.
dist: $(STAMP)
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*

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
	rm -rf $(VENV) .venv-* demo_output fuzz_findings build dist src/*.egg-info \
	  docs/_build docs/api docs/gallery
