# `make` shows what there is. PYTHON is the Python 3.11 that environments are made with.
PYTHON ?= python3.11
PROFILE ?= local
CONTROL := .venvs/control/bin/python
QUALITY := .venvs/quality/bin/python
export DVC_NO_ANALYTICS := 1
export PATH := $(CURDIR)/.venvs/control/bin:$(PATH)

.DEFAULT_GOAL := help
.PHONY: help setup control repro test test-fast bench judge-quality check use evidence ui lock

help: ## show this
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: control ## make the environments of the active profile that are missing or out of date
	@$(PYTHON) -m pipelines.setup.environments $$($(CONTROL) -m pipelines.profiles environments)

control:
	@$(PYTHON) -m pipelines.setup.environments control

repro: setup ## run the whole pipeline for the active profile, then show what was decided
	@# A run writes its own dvc.lock; git is told to leave it out of sight until `make evidence` publishes a run.
	@git ls-files --error-unmatch dvc.lock >/dev/null 2>&1 && git update-index --skip-worktree dvc.lock || true
	@# A variant that fails stops alone; the others go on, and the exit code says so.
	@dvc repro --keep-going
	@$(CONTROL) -m pipelines.report --summary

# Tests run on the stand-in's environments, whatever profile is active.
test: control ## all tests, with real llm-compressor, AutoAWQ, vLLM, MLflow and LiteLLM
	@$(PYTHON) -m pipelines.setup.environments llmcompressor vllm autoawq litellm
	@$(CONTROL) -m pytest -m "not heavy" -n 2 --dist worksteal
	@$(CONTROL) -m pytest -m heavy

test-fast: control ## the tests that need no quantizer and no engine
	@$(PYTHON) -m pipelines.setup.environments llmcompressor vllm
	@$(CONTROL) -m pytest -m "not heavy" -n 2 --dist worksteal

.PHONY: test-system
test-system: ## tests that need a browser or a server (Debian's chromium, chromium-driver and postgresql)
	@$(PYTHON) -m pipelines.setup.environments system
	@.venvs/system/bin/python -m pytest tests/system

bench: control ## measure speed as ratios within one run
	@$(PYTHON) -m pipelines.setup.environments llmcompressor clients
	@$(CONTROL) -m tests.bench.judge_bench
	@$(CONTROL) -m tests.bench.quantize_bench
	@$(CONTROL) -m tests.bench.client_bench

judge-quality: ## branch coverage and mutation tests of the judge
	@$(PYTHON) -m pipelines.setup.environments quality
	@$(QUALITY) -m coverage run -m pytest tests/judges
	@$(QUALITY) -m coverage report
	@$(QUALITY) -m tests.judges.mutants

check: control ## formatting, lint, types, suites
	@$(CONTROL) -m ruff format --check .
	@$(CONTROL) -m ruff check .
	@$(CONTROL) -m mypy
	@$(CONTROL) -m evalsets.lint
	@$(CONTROL) -m pipelines.lint_suites
	@$(CONTROL) -m pipelines.lint_policy

.PHONY: plan
plan: control ## what a run takes and whether it can work, before GPU time: make plan PROFILE=a100 (default: the active one)
	@$(CONTROL) -m pipelines.plan $(if $(filter-out file,$(origin PROFILE)),--profile $(PROFILE))

use: control ## switch the profile: make use PROFILE=a100
	@$(CONTROL) -m pipelines.profiles use $(PROFILE)

evidence: ## copy the run's small records to evidence/<profile>/, to be committed
	@$(CONTROL) -m pipelines.evidence
	@git ls-files --error-unmatch dvc.lock >/dev/null 2>&1 && git update-index --no-skip-worktree dvc.lock || true

ui: ## open the MLflow UI on the registry
	@MLFLOW_DISABLE_TELEMETRY=true $(CONTROL) -m mlflow ui --backend-store-uri sqlite:///mlflow.db --port 5000

.PHONY: side-by-side
side-by-side: ## this judge and bfcl-eval on the same answers: the tables of docs/side-by-side.md
	@$(PYTHON) -m pipelines.setup.environments control bfcl
	@$(CONTROL) -m tests.judges.side_by_side

.PHONY: check-ci
check-ci: ## schema and security lint of the release gate's workflow, offline
	@$(PYTHON) -m pipelines.setup.environments ci
	@.venvs/ci/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/release-gate.yml
	@.venvs/ci/bin/zizmor --offline --persona=auditor --no-progress .github/workflows/release-gate.yml

lock: ## resolve envs/*.in anew into envs/*.txt (needs uv; torch's CPU wheel through UV_FIND_LINKS or UV_INDEX)
	@sh envs/lock.sh
