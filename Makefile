.PHONY: help env serve test bench lint deploy docs clean
PYTHON ?= python3
PORT ?= 8787
STAGE ?= default
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

# SAM holds older versions of what the tests need, so it lives apart.
.venv-sam/.ready: requirements-sam.txt
	$(PYTHON) -m venv .venv-sam
	.venv-sam/bin/pip install --quiet --disable-pip-version-check -r requirements-sam.txt
	@touch $@

serve: env ## builds the index of the sample knowledge base and serves the API on 127.0.0.1:8787 (PORT=N for another)
	$(BIN)/lamina serve --port $(PORT)

test: env ## runs every test
	$(BIN)/python -m pytest -n auto

# B506 and B608 are judged line by line by ruff (S506, S608), which knows the reasons given there.
lint: env .venv-sam/.ready ## ruff, mypy, import layers, bandit, template checks, known vulnerabilities
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/bandit --quiet --recursive --severity-level medium --skip B506,B608 shared functions
	$(BIN)/cfn-lint template.yaml
	AWS_DEFAULT_REGION=us-east-1 SAM_CLI_TELEMETRY=0 .venv-sam/bin/sam validate --lint
	$(BIN)/pip-audit --requirement shared/requirements.txt --disable-pip --require-hashes --progress-spinner off

docs: env ## writes the generated tables of docs/ anew
	$(BIN)/python -m lamina.local.reference docs README.md

bench: env ## benchmarks, as a table and as JSON
	$(BIN)/python -m tests.bench

deploy: .venv-sam/.ready ## builds and deploys with SAM (STAGE=staging or production for a stack of its own)
	.venv-sam/bin/sam build && .venv-sam/bin/sam deploy --guided --config-env $(STAGE)

clean:
	rm -rf .venv .venv-sam .lamina .aws-sam build
