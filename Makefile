# Every target installs what it needs into .venv on first use.

PYTHON ?= python3
UV := uv==0.13.9
INSTALLED := .venv/.installed
CHROMIUM := /usr/bin/chromium
BESIDE := tests/journeys tests/faults/test_short.py
WITH_SERVERS := .venv/bin/python -m config.launcher --

.DEFAULT_GOAL := help
.PHONY: help demo run test faults bench bench-quick test-oracles test-browser browser screenshots check lock clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(INSTALLED)  ## Start everything, send notifications and show what became of them
	@$(WITH_SERVERS) .venv/bin/python manage.py demo $(ARGS)

run: $(INSTALLED)  ## Start everything in the Procfile, with restarts, until Ctrl-C
	@$(WITH_SERVERS) .venv/bin/python manage.py run $(ARGS)

test: $(INSTALLED)  ## Run the tests; ARGS="-k retry" passes arguments to pytest
ifdef ARGS
	@$(WITH_SERVERS) .venv/bin/python -m pytest $(ARGS)
else
	@log=$$(mktemp); echo 'Journeys and faults run beside the rest, on servers of their own; what they say comes last.'; \
	$(WITH_SERVERS) .venv/bin/python -m pytest $(BESIDE) >"$$log" 2>&1 & beside=$$!; \
	trap 'kill $$beside 2>/dev/null; rm -f "$$log"; exit 130' INT TERM; \
	$(WITH_SERVERS) .venv/bin/python -m pytest $(BESIDE:%=--ignore=%); rest=$$?; \
	wait $$beside; told=$$?; cat "$$log"; rm -f "$$log"; \
	exit $$((rest ? rest : told))
endif

faults: $(INSTALLED)  ## Break everything and judge the promises, in half an hour; ARGS="--row broker" plays some
	@$(WITH_SERVERS) .venv/bin/python -m tests.faults $(ARGS)

bench: $(INSTALLED) .venv-bench/.installed  ## Measure speed and cost against ceilings and other designs, in half an hour; ARGS="--only P1,P6" measures some
	@.venv/bin/python -m tests.bench $(ARGS)

bench-quick: $(INSTALLED)  ## The same in three minutes, without the other designs
	@.venv/bin/python -m tests.bench --quick $(ARGS)

.venv-bench/.installed: requirements-bench.in
	@echo 'Installing the designs to compare with into .venv-bench …'
	@$(PYTHON) -m venv .venv-bench && echo '*' >.venv-bench/.gitignore
	@{ .venv-bench/bin/python -m pip install -qq --disable-pip-version-check -r requirements-bench.in && touch $@; } \
		|| echo 'They could not be installed, and will be missing in the table.' >&2

test-oracles: .venv-oracles/.installed  ## Hold adapters against the vendors' SDKs, and the counting of SMS against other counters
	@.venv-oracles/bin/python -m pytest -c /dev/null --rootdir=. --noconftest --import-mode=importlib \
		-p no:cacheprovider tests/oracles $(ARGS)

.venv-oracles/.installed: requirements-oracle.txt
	@echo 'Installing the SDKs and libraries to compare with into .venv-oracles …'
	@$(PYTHON) -m venv .venv-oracles && echo '*' >.venv-oracles/.gitignore
	@.venv-oracles/bin/python -m pip install -qq --disable-pip-version-check -r requirements-oracle.txt && touch $@

test-browser: $(INSTALLED) browser  ## Click through the admin, the API's page and Flower in a real browser
	@$(WITH_SERVERS) .venv/bin/python -m pytest tests/browser $(ARGS)

screenshots:  ## Take the pictures in docs/images again
	@$(MAKE) --no-print-directory test-browser ARGS="--screenshots=docs/images $(ARGS)"

browser:
	@missing=; \
	test -x $(CHROMIUM) || missing='chromium'; \
	/sbin/ldconfig -p | grep -q 'libatomic\.so\.1' || missing="$$missing libatomic1"; \
	test -z "$$missing" && exit; \
	if [ "$$(id -u)" != 0 ]; then \
		echo "The browser tests need Debian's Chromium; run: sudo apt-get update && sudo apt-get install --yes" $$missing >&2; \
		exit 1; \
	fi; \
	echo "Installing" $$missing '…'; \
	export DEBIAN_FRONTEND=noninteractive; \
	apt-get update -qq && apt-get install -qq --yes --no-install-recommends $$missing >/dev/null

check: $(INSTALLED)  ## Lint, format, types, import rules and missing migrations
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/lint-imports --no-logo
	$(WITH_SERVERS) sh -c '.venv/bin/mypy && .venv/bin/python manage.py makemigrations --check --dry-run'

lock: $(INSTALLED)  ## Pin the newest allowed versions of all requirements
	@.venv/bin/python -m pip install --quiet $(UV)
	@for name in requirements requirements-dev; do \
		UV_CUSTOM_COMPILE_COMMAND="make lock" .venv/bin/uv pip compile --quiet --upgrade --universal \
			--python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
			$$name.in --output-file $$name.txt || exit 1; \
	done

clean:  ## Remove .venv and all caches
	rm -rf .venv .venv-bench .venv-oracles .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo 'Landfall needs Python 3.11 or newer as "$(PYTHON)"; name another one with: make PYTHON=python3.12' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { \
		echo 'This Python cannot make virtual environments yet; run: apt-get install python3-venv' >&2; exit 1; }
	@echo 'Installing into .venv, about half a minute the first time …'
	@$(PYTHON) -m venv .venv
	@.venv/bin/python -m pip install -qq --disable-pip-version-check $(UV) \
		&& .venv/bin/uv pip install --quiet --python .venv/bin/python --require-hashes -r requirements-dev.txt \
		|| { echo 'uv could not install; trying pip, which takes longer …' \
			&& .venv/bin/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements-dev.txt; }
	@touch $@
