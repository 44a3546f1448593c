# Every target sets up what it needs: with uv if it is there, else with any Python from 3.11.

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.NOTPARALLEL:

PYTHON := .venv/bin/python
ARGS ?=
PLANS ?= ../shared/data/plans-dev
RATE ?= 0.25
SEED ?= 1
WIRE ?= direct
FORM ?= json_schema
STRANGERS ?=
BYSTANDERS ?=
OFFER_TOKENS ?=
ACTION ?=

UV := $(shell uv --version >/dev/null 2>&1 && echo uv)
PYTHON_3_11 = $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)

# An environment knows the directory it was made for: in a copied or moved tree it is made anew.
RENEW := $(shell test -x $(PYTHON) && test "$$(cat .make/place 2>/dev/null)" = '$(CURDIR)' || echo renew)

# Else it asks the network for its newest version.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

# The tests start hundreds of processes, and each would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

# One worker more than there are cores, since tests wait for processes too; a few chosen ones run sooner without any.
WORKERS ?= $(if $(ARGS),0,$(shell python3 -c 'import os; print((os.cpu_count() or 1) + 1)' 2>/dev/null || echo auto))
pytest = $(PYTHON) -m pytest -n $(WORKERS) --dist worksteal

# By strace the crash proof kills and errs at system calls. Where it does not work, the tests go without, and say so.
define run_tests
if strace -o /dev/null true >/dev/null 2>&1; then $(pytest) $(ARGS); else \
	echo "strace does not work here: the crash proof's samples of system calls and I/O errors are skipped" >&2; \
	ALLOW_SKIP=1 $(pytest) $(ARGS); fi
endef

# Each test has a namespace of its own on a real server.
run_nats = SOORMA_TEST_BUS=nats $(pytest) $(1) $(ARGS)
NATS_SAMPLE := tests/flow/test_decisions.py tests/flow/test_joins.py

run_worst = SOORMA_WORST=1 $(pytest) $(or $(1),tests/flow) $(ARGS)
# Half of the files, for the gate; `make test` and `make worst` take all.
WORST_SAMPLE := tests/flow/test_[a-m]*.py

.PHONY: help demo test check surfaces record oracle oracle-actions oracle-all oracle-strangers schema machine fanin worst everywhere nats soak traces neighbours crash crash-remote bench bench-processes bench-plans bench-worst-data grown clients fresh screenshots docs clean renew mcp resume forks pushes

help: ## what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .make/run ## the order example, offline: a planner, its tools, an approval that you give
	@$(PYTHON) examples/02_order_approval/main.py $(ARGS)

test: .make/dev ## all tests; ARGS="-k words" for some
	@$(run_tests)
	@$(if $(ARGS),,$(run_worst))

check: .make/dev ## the gate: lint, format, types, walls, documents, tests
	$(PYTHON) -m ruff check
	$(PYTHON) -m ruff format --check
	$(PYTHON) -m pyright
	.venv/bin/lint-imports --no-logo
	@$(MAKE) docs
	@$(run_tests)
	@$(call run_worst,$(WORST_SAMPLE))
	@$(call run_nats,$(NATS_SAMPLE))

surfaces: .make/dev ## operations, commands, public names and settings, compared with those of a commit: BASE
	@$(PYTHON) tests/surfaces/surfaces.py $(if $(BASE),$(BASE),HEAD)

record: .make/dev ## cassettes anew from the real models, whose key is in the environment
	$(PYTHON) examples/record.py --live $(ARGS)

oracle: .make/dev ## plans with known decisions, with faults planted: PLANS, RATE, SEED, WIRE, FORM, STRANGERS, OFFER_TOKENS
	@PLANS="$(PLANS)" RATE="$(RATE)" SEED="$(SEED)" WIRE="$(WIRE)" FORM="$(FORM)" STRANGERS="$(STRANGERS)" \
		BYSTANDERS="$(BYSTANDERS)" OFFER_TOKENS="$(OFFER_TOKENS)" ACTION="$(ACTION)" $(PYTHON) tests/oracle/run.py $(ARGS)

oracle-actions: .make/dev ## plans played by each action (publish_all, need, delegate, see_result, from, give_up), at two rates: PLANS
	@PLANS="$(PLANS)" $(PYTHON) tests/oracle/grid.py --actions $(ARGS)

oracle-all: .make/dev ## the same by every wire, in every form, at two rates and three seeds: PLANS
	@PLANS="$(PLANS)" $(PYTHON) tests/oracle/grid.py $(ARGS)

oracle-strangers: .make/dev ## the same among 2,000 events of others, and where nothing is hidden among 300: PLANS, RATE, SEED
	@$(MAKE) oracle STRANGERS=2000 OFFER_TOKENS=4000
	@$(MAKE) oracle STRANGERS=300 OFFER_TOKENS=12000 ARGS=--nothing-hidden

schema: .make/dev ## all that can be asked over HTTP, and what cannot: ARGS="--examples 20 --seed 7"
	@$(PYTHON) tests/acceptance/schema_run.py $(ARGS)

machine: .make/dev ## histories after each step of which all invariants hold: EXAMPLES of them, by default 1000
	@SOORMA_MACHINE_EXAMPLES=$(if $(EXAMPLES),$(EXAMPLES),1000) $(PYTHON) -m pytest tests/machine/test_invariants.py $(ARGS)

fanin: .make/dev ## a hundred results at once are joined once: ARGS="ORDERS", by default 1000 for plans and workers each
	@$(PYTHON) tests/flow/fanin.py $(ARGS)

worst: .make/dev ## the flow tests where every event comes twice and nothing is remembered
	@$(run_worst)

everywhere: .make/dev ## flow, contract, server, console, commands and examples, embedded, on PostgreSQL, and with NATS; PLACES="postgresql"
	@$(PYTHON) tests/everywhere.py $(PLACES) -- -n $(WORKERS) --dist worksteal $(ARGS)

nats: .make/dev ## the flow tests over a NATS server, which the test group brings
	@$(call run_nats,tests/flow)

soak: .make/dev ## 60 s of kills of every process and server under 1,000 plans; ARGS="--bus nats --seed 7", "--plans 100", "--planted"
	@PYTHONPATH=tests:tests/crash:tests/soak $(PYTHON) tests/soak/soak.py $(ARGS)

traces: .make/dev ## 10,000 traced plans with waits and 300 kills; ARGS="--plans 2000 --kills 60 --seed 7", "--planted"
	@PYTHONPATH=.:tests:tests/crash:tests/soak $(PYTHON) tests/soak/trace_storm.py $(ARGS)

followers: .make/dev ## followers of the log on PostgreSQL see each event once, under kills; ARGS="--events 2000 --planted"
	@PYTHONPATH=tests:tests/contract $(PYTHON) tests/contract/followers.py $(ARGS)

neighbours: .make/dev ## two stores, 500 requests, NATS killed with its data 20 times; ARGS="--requests 100 --kills 5 --seed 7"
	@PYTHONPATH=tests:tests/flow $(PYTHON) tests/flow/neighbour_storm.py $(ARGS)

crash: .make/dev ## kill and err at every point of a program; ARGS="--sample 40 --seed 7", "--store postgresql --bus nats"
	@PYTHONPATH=tests $(PYTHON) tests/crash/proof.py $(ARGS)

crash-remote: .make/dev ## kill the process of the store or that of its agents, 300 times; ARGS="--kills 40 --seed 7"
	@PYTHONPATH=tests $(PYTHON) tests/crash/remote_proof.py $(ARGS)

mcp: .make/dev ## kill an MCP server, or the platform beside it, before each message of a call
	@SOORMA_MCP_KILLS=all $(PYTHON) -m pytest tests/server/test_mcp_kills.py tests/server/test_mcp_events_kills.py tests/server/test_mcp_subscriptions.py $(ARGS)

pushes: .make/dev ## fail or kill a platform at each call of the store for a push notification
	@SOORMA_PUSH_FAULTS=all $(PYTHON) -m pytest tests/server/test_a2a_push_faults.py $(ARGS)

bench: .make/dev $(if $(findstring --plots,$(ARGS)),.make/bench) ## what it costs, beside rivals; ARGS="--ours", "--rows step,parked", "--rounds 3", "--plots"
	@$(PYTHON) -m bench.run $(ARGS)

bench-processes: .make/dev ## events a second over PostgreSQL, by workers and processes: ARGS="--events 300 --grid 1x1,16x4"
	@$(PYTHON) -m bench.many_processes $(ARGS)

bench-plans: .make/dev ## steps a second of plans in several processes over PostgreSQL, beside DBOS: ARGS="--plans 160 --processes 1,2,4 --ours"
	@$(PYTHON) -m bench.plan_processes $(ARGS)

resume: .make/dev ## six duties of resumed work, asked of ours over both stores and of rivals; ARGS="--ours", "--systems DBOS"
	@$(PYTHON) -m bench.resume.table $(ARGS)

bench-worst-data: .make/dev ## how long a check of the worst data keeps others waiting
	@PYTHONPATH=tests $(PYTHON) -m bench.worst_data

grown: .make/dev ## what work costs in a PostgreSQL database with 100,000 plans; ARGS="--plans 10000 --rounds 9"
	@PYTHONPATH=tests $(PYTHON) -m bench.grown_database $(ARGS)

forks: .make/dev ## plans forked at every decision, with kills between: FORKED=200
	@FORKED_PLANS="$(or $(FORKED),200)" $(PYTHON) -m pytest -q tests/flow/test_forks_everywhere.py

clients: .make/dev ## the clients over HTTP, written from the rows of services
	@$(PYTHON) tests/architecture/client_files.py

fresh: .make/dev ## a fresh wheel in an empty environment, with each Python from 3.11 that is here; ARGS="--python 3.12", "--offline"
	@$(PYTHON) tests/fresh.py $(ARGS)

screenshots: .make/dev ## the pictures of the console in docs/screenshots, by Chromium
	@$(PYTHON) tests/console/screenshots.py $(ARGS)

docs: .make/dev ## the site of the documents, in .make/site; warnings are errors, and every link within it is checked
	@$(PYTHON) tests/docs/pages.py >/dev/null
	@$(PYTHON) tests/docs/commands.py
	@.venv/bin/zensical build --strict --clean
	@cp -R docs/. .make/site/
	@grep -q doc-heading .make/site/reference/api.html || { echo "the names were not written: is mkdocstrings there?" >&2; exit 1; }
	@$(PYTHON) tests/docs/site_links.py .make/site
	@echo "open .make/site/index.html"

clean: ## everything that was made
	rm -rf .venv .make dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis bench/.rivals bench/.runs bench/plots
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.make/run: pyproject.toml uv.lock $(RENEW)
	@$(call set_up,--no-dev,)

.make/dev: pyproject.toml uv.lock $(RENEW)
	@$(call set_up,--group dev,--group dev)

.make/bench: .make/dev
	@$(call set_up,--group dev --group bench,--group dev --group bench)

renew:
	@test ! -e .make/place || rm -rf .venv
	@rm -rf .make

# $(call set_up,what uv is told,what pip is told). Groups of dependencies need pip 25.1.
define set_up
echo "setting up .venv" && $(if $(UV),$(call by_uv,$(1)),$(call by_pip,$(2))) \
	&& mkdir -p .make && echo '$(CURDIR)' >.make/place && touch $@
endef

by_uv = uv sync --quiet --locked --inexact --compile-bytecode --all-extras $(1)

define by_pip
test -n "$(PYTHON_3_11)" || { echo "no Python from 3.11 on the PATH, and no uv that could fetch one" >&2; exit 2; } \
	&& $(PYTHON_3_11) -m venv .venv \
	&& $(PYTHON) -m pip install --quiet --upgrade 'pip>=25.1' \
	&& $(PYTHON) -m pip install --quiet --editable '.[all]' $(1)
endef
