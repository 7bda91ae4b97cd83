# Everything a fresh machine needs is Python 3.11 or newer and make: each target sets up what it uses in .venv.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test browser docs signatures vscode clean

## demo: lint an example chat service that defeats its prompt cache, then the same service put right
demo: .venv/core
	@echo '== examples/chat_service: a service that pays for its prompt again on every call (promptlint check)'
	@$(BIN)/promptlint check examples/chat_service --exit-zero
	@echo
	@echo '== examples/chat_service_fixed: the same service with its constant text in front (promptlint check)'
	@$(BIN)/promptlint check examples/chat_service_fixed

## test: what continuous integration runs
test: .venv/dev
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/python -m pytest -q

## browser: the HTML pages of 200 requests in a headless Chromium, which has to be installed
browser: .venv/dev
	@$(BIN)/python tests/integration/browser.py

## signatures: read the signatures that the rows of frameworks are compared with anew, out of wheels
signatures: .venv/dev
	@rm -rf build/wheels
	@$(BIN)/python -m pip download --quiet --no-deps --only-binary=:all: --python-version 3.13 --dest build/wheels --requirement tests/knowledge/frameworks.txt
	@$(BIN)/python tests/knowledge/signatures.py build/wheels

## docs: the site, as build/site/index.html
docs: .venv/dev
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

## vscode: the extension for Visual Studio Code, as editors/vscode/promptlint-VERSION.vsix; needs npm
vscode:
	@cd editors/vscode && npm install --ignore-scripts --no-audit --no-fund --silent && npm run --silent package

clean:
	rm -rf editors/vscode/node_modules editors/vscode/dist editors/vscode/*.vsix
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .promptlint_cache build dist

.venv/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "promptlint needs Python 3.11 or newer, and $(PYTHON) is " + sys.version.split()[0] + "; run make PYTHON=/path/to/python3.11")'
	@echo 'setting up .venv (once)'
	@$(PYTHON) -m venv .venv
	@touch $@

.venv/core: .venv/created pyproject.toml constraints.txt
	@$(PIP) --editable .
	@touch $@

.venv/dev: .venv/created pyproject.toml constraints.txt
	@$(PIP) --editable '.[dev]'
	@touch $@ .venv/core
