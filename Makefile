# One command per task; each does its own set-up (tools/setup.sh, a fraction of a second when there is nothing to do).
#
#   make faults SHORT=1              a sample of it: less data, fewer cases; so bench, compare, demo
#   make faults OF=workers           one of several; `make help` lists them
#   make faults ARGS="--seed 7"      more for the program or for pytest
#   PYTHON=python3.12 make test      with another Python (VENV=.venv-3.12 keeps the environments apart)
#   make setup MQ_CLIENT=/opt/mqm    pymqi built against IBM's own client library
#   make test SPARK=4.0 ARGS=tests/spark    with another PySpark, in front of that of the environment; so faults OF=spark

PYTHON ?= python3
VENV   ?= .venv
RUN    := $(VENV)/bin/python
PYTEST  = $(abspath $(RUN)) -m pytest
ON_ALL_CORES = --numprocesses auto --dist worksteal
A_SAMPLE = $(if $(SHORT),--short)
# IBM's client library for a run of tests, where MQ_CLIENT names one.
WITH_MQ_CLIENT = $(if $(MQ_CLIENT),LD_LIBRARY_PATH=$(MQ_CLIENT)/lib64$(if $(LD_LIBRARY_PATH),:$(LD_LIBRARY_PATH)))
# The program of a target that is one of several: $(call one_of,demo) is demo_ for none that is named, demo_cluster for OF=cluster.
one_of = $(or $($1_$(OF)),$(error make $1 OF=$(OF): there is only $(sort $(patsubst $1_%,%,$(filter $1_%,$(.VARIABLES))))))

export PYTHON VENV MQ_CLIENT
# Tests and demos start thousands of processes. Without bytecode each one compiles the package.
unexport PYTHONDONTWRITEBYTECODE
ifdef SPARK
export PYTHONPATH := $(abspath build/spark-$(SPARK))
endif

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-embedded test-mqgroups test-bindings first-contact fuzz faults mutations bench compare \
        lint types docs distributions clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Python environment, C library, pymqi and ibmmq
	@bash tools/setup.sh
	@$(if $(SPARK),test -d $(PYTHONPATH) || $(RUN) -m pip install -q --target $(PYTHONPATH) "pyspark==$(SPARK).*")

demo_ = mqgroups demo $(if $(SHORT),--days 3)
demo_cluster = examples.cluster $(A_SAMPLE)
demo_pipeline = examples.pipeline $(A_SAMPLE)
demo_pipeline-cluster = examples.pipeline --cluster $(A_SAMPLE)
demo: ## a week of flights through message groups, with everything killed on the way (OF=cluster|pipeline|pipeline-cluster, SHORT=1)
	@bash tools/setup.sh flights
	@$(RUN) -m $(call one_of,demo) $(ARGS)

test: setup ## all tests, in random order, on all cores; says at the end what it has left out (MQ=container|url: the contract tests on IBM MQ)
	@$(if $(MQ),$(WITH_MQ_CLIENT) $(PYTEST) -m contract --mq=$(MQ) --findings=build/findings.json,$(PYTEST) $(ON_ALL_CORES)) $(ARGS)

test-embedded: setup ## the tests of the embedded queue manager alone
	@cd embedded && $(PYTEST) $(ON_ALL_CORES) $(ARGS)

test-mqgroups: setup ## the tests of the library alone
	@$(PYTEST) $(ON_ALL_CORES) tests $(ARGS)

test-bindings_ = tools/test-ibmmq.sh
test-bindings_node = tools/test-node.sh
test-bindings: setup ## ibmmq's own test suite, unmodified, on the embedded queue manager (OF=node: Node.js programs; needs node and npm)
	@bash $(call one_of,test-bindings) $(ARGS)

first-contact: setup ## everything about a queue manager that nobody has seen: contract tests, open questions, faults (ARGS=--mq=container, SHORT=1)
	@$(WITH_MQ_CLIENT) $(RUN) -m tests.first_contact $(A_SAMPLE) $(ARGS)

fuzz_replies = $(RUN) -m embedded_tests.fuzz --seconds 600
fuzz_messages = $(RUN) -m tests.fuzz.messages --seconds 600
fuzz_calls = cd embedded && MQEMBEDDED_EXAMPLES=$(if $(SHORT),100,10000) $(PYTEST) embedded_tests/test_stateful.py --durations=2
fuzz_ = $(fuzz_replies) $(ARGS) && $(fuzz_messages)
fuzz: setup ## the C library against a server that answers anything; hostile messages (OF=replies|messages|calls: random calls, and a model)
	@$(call one_of,fuzz) $(ARGS)

faults_ = tests.faults.campaign
faults_workers = tests.faults.workers
faults_spark = tests.faults.spark.campaign
faults: setup ## faults at every MQI call, and pairs of them: nothing lost, nothing doubled (OF=workers|spark, SHORT=1)
	@$(RUN) -m $(call one_of,faults) $(A_SAMPLE) $(ARGS)
	@$(if $(SHORT),,$(if $(filter spark,$(OF)),$(PYTEST) tests/spark/test_pipeline_crash.py))

mutations: setup ## each safety of the library taken away in turn: the tests have to notice
	@$(RUN) -m tests.mutations $(ARGS)

bench: setup ## figures with their goals, written to docs/reference/measurements.md (OF=client|starting|latency|growth|tracing|spark, SHORT=1)
	@$(RUN) -m tests.bench $(OF) $(A_SAMPLE) $(ARGS)

compare: ## the same job and the same faults with pymqi, ibmmq, faststream-mq and mqgroups; writes docs/explanation/why.md (SHORT=1)
	@bash tools/setup.sh compare
	@$(RUN) -m recipes.compare $(A_SAMPLE) $(ARGS)

lint: setup ## ruff: rules and format; compose and workflow files against their schemas (FIX=1: ruff puts the code in order)
	@$(RUN) -m ruff check $(if $(FIX),--fix) .
	@$(RUN) -m ruff format $(if $(FIX),,--check) .
	@$(RUN) -m check_jsonschema --builtin-schema vendor.compose-spec docker/compose.yaml docker/*/compose.yaml
	@$(RUN) -m check_jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(RUN) -m check_jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml

types: setup ## mypy: strict for the package, the examples and the recipes
	@$(RUN) -m mypy

docs: ## the documentation site, in build/docs/site; a broken link fails
	@bash tools/docs.sh

distributions: ## source distribution and wheels in dist/ (ARCHS="x86_64 aarch64"), checked with auditwheel (CHECK=1: installed and run)
	@bash tools/distributions.sh
	@$(if $(CHECK),bash tools/release_check.sh)

clean: ## remove the environment and everything that was built
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
