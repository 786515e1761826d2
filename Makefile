# The front door: thin. What each target does is in build.py and triton_ensembles/.

PYTHON ?= python3
TARGET ?= cpu
WEIGHTS ?= auto
ENSEMBLES ?=
export PIP_DISABLE_PIP_VERSION_CHECK = 1

BUILD := .venv/bin/python build.py
OPTIONS = $(ENSEMBLES) --target $(TARGET) --weights $(WEIGHTS) $(if $(WEIGHTS_DIR),--weights-dir "$(WEIGHTS_DIR)")

.DEFAULT_GOAL := help
.PHONY: help setup demo test build-ensembles serve-local perf lint lock clean distclean

help: ## Show this list
	@echo 'Usage: make TARGET   (variables: TARGET=cpu WEIGHTS=auto|pretrained WEIGHTS_DIR=folder ENSEMBLES="bert_trt …" PYTHON=python3.11)'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 24

demo: .venv/ready ## Build both ensembles, serve them, send a photograph and sentences, print the answers, stop
	@$(BUILD) demo $(OPTIONS)

test: .venv/ready ## Run the whole test suite (it starts real servers)
	@.venv/bin/python -m pytest

build-ensembles: .venv/ready ## Build dist/TARGET/NAME.tar.gz for all ensembles, or those in ENSEMBLES
	@$(BUILD) build $(OPTIONS)

serve-local: .venv/ready ## Build, then serve on HTTP 8000, gRPC 8001, metrics 8002 until Ctrl-C
	@$(BUILD) serve $(OPTIONS)

perf: .venv/ready ## Measure every ensemble with perf_analyzer: concurrency sweep, time by step, CSV and a plot
	@$(BUILD) perf $(OPTIONS)

lint: .venv/ready ## Check style and types (ruff, mypy)
	@.venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/mypy

setup: .venv/ready ## Install everything (.venv and .triton); the other targets do it when needed

.venv/ready: requirements/requirements.txt requirements/torch.txt requirements/triton.txt
	@$(PYTHON) -m triton_ensembles.machine
	@echo 'setting up .venv: about 110 packages and 4 GB on disk, some minutes'
	@test -x .venv/bin/python || $(PYTHON) -m venv .venv
	@.venv/bin/python -m pip install --quiet -r requirements/torch.txt
	@.venv/bin/python -m pip install --quiet --require-hashes -r requirements/requirements.txt
	@$(BUILD) setup
	@touch $@

lock: .venv/ready ## Pin the dependencies of pyproject.toml into requirements.txt, with hashes
	@.venv/bin/python -m pip install --quiet uv
	@.venv/bin/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate \
	  --no-emit-index-url --no-emit-find-links pyproject.toml -o requirements/requirements.txt

clean: ## Remove what was built (build/, dist/, reports/)
	rm -rf build dist reports

distclean: clean ## Remove everything that is not in git, the installed .venv and .triton too
	rm -rf .venv .triton
