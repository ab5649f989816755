.PHONY: help env serve test bench lint deploy docs clean
PYTHON ?= python3
BIN := .venv/bin

help:
	@grep -E '^[a-z]+:.*##' Makefile | sed 's/:.*##/\t/'

.venv/.ready: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Lamina needs Python 3.11 or newer; this is %s. Set PYTHON=/path/to/python3.11." % sys.version.split()[0])'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

env: .venv/.ready ## makes the environment in .venv/

serve: env ## builds the index of the sample knowledge base and serves the API on 127.0.0.1:8787
	$(BIN)/lamina serve

test: env ## runs every test
	$(BIN)/python -m pytest -n auto

lint: env ## ruff, mypy, import layers, template checks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/cfn-lint template.yaml

docs: env ## writes the generated tables of docs/ anew
	$(BIN)/python -m lamina.local.reference docs README.md

bench: env ## benchmarks, as a table and as JSON
	$(BIN)/python -m tests.bench

deploy: env ## builds and deploys with SAM
	sam build && sam deploy --guided

clean:
	rm -rf .venv .lamina .aws-sam build
