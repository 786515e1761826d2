# The front door: thin. What each target does is in build.py and triton_ensembles/.

PYTHON ?= python3
TARGET ?= cpu
WEIGHTS ?= auto
ENSEMBLES ?=
ENDPOINT ?= triton-ensembles
export PIP_DISABLE_PIP_VERSION_CHECK = 1

CLI := .venv/bin/python build.py
WEIGHT_OPTIONS = $(ENSEMBLES) --weights $(WEIGHTS) $(if $(WEIGHTS_DIR),--weights-dir "$(WEIGHTS_DIR)")
PLACE_OPTIONS = $(if $(IMAGE),--image $(IMAGE)) $(if $(INSTANCE),--instance $(INSTANCE))
OPTIONS = $(WEIGHT_OPTIONS) --target $(TARGET) $(PLACE_OPTIONS)

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-rest test-all verdicts fidelity packages fuzz build-ensembles serve-local gateway image perf bench soak gpu-proof check endpoint upload deploy invoke status undeploy lint lock clean distclean not-gpu

help: ## Show this list
	@echo 'Usage: make TARGET   (variables: WEIGHTS=auto|pretrained WEIGHTS_DIR=folder ENSEMBLES="bert_trt …" PYTHON=python3.11'
	@echo '       TARGET=cpu as drawn; TARGET=fused one model, with IMAGE=24.09 for that image, INSTANCE=ml.m5.xlarge;'
	@echo '       TARGET=gpu with IMAGE=24.09, INSTANCE=ml.g5.xlarge, ENGINES_FROM=folder)'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 24

# Archives for a GPU are served by NVIDIA's image, not here.
not-gpu:
	@test "$(TARGET)" != gpu || { echo 'error: TARGET=gpu cannot be served here: use TARGET=cpu or TARGET=fused, or NVIDIA'"'"'s image' >&2; exit 2; }

demo: not-gpu .venv/ready ## Build the leading ensembles or ENSEMBLES, serve them, send photographs and sentences, print the answers, stop
	@$(CLI) demo $(OPTIONS)

# The tests start thousands of processes: Python keeps what it compiles, and OpenBLAS' idle threads do not spin.
PYTEST := env -u PYTHONDONTWRITEBYTECODE OPENBLAS_THREAD_TIMEOUT=4 .venv/bin/python -m pytest -n 4 --dist loadfile

test: .venv/ready ## Run the tests: each part of the project, also against real servers (ten minutes on two cores)
	@$(PYTEST) -m 'not slow' --junitxml=reports/test.xml

test-rest: .venv/ready ## The second half of test-all: the slow tests, and the server's verdicts on file once more
	@VERDICTS=$(or $(VERDICTS),ask) $(PYTEST) -m 'slow or verdicts' --junitxml=reports/test-rest.xml

test-all: ## Run all tests: test, then test-rest
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory test-rest

verdicts: .venv/ready ## Ask the real server about models of tests/checking that are not on file, and write down what it says
	@VERDICTS=add .venv/bin/python -m pytest -q -m verdicts tests

fidelity: .venv/ready ## Ask checker and server about the same models, with SEED=0, and write docs/fidelity.md: how often check is right
	@.venv/bin/python -m tests.checking.fidelity --seed $(or $(SEED),0)

packages: .venv/ready ## Prove 40 packages of Python steps, drawn and fused, for two images, and write docs/packages.md: an hour
	@.venv/bin/python -m tests.packages.prove

fuzz: .venv/ready ## Draw new examples for the property tests; what fails is printed, and tried first the next time
	@$(PYTEST) -q -p tests.drawing -m hypothesis --hypothesis-profile=fuzz $$(grep -rlE --include='test_*.py' '^(from|import) hypothesis' tests)

build-ensembles: .venv/ready ## Build dist/TARGET/NAME.tar.gz for the leading ensembles, or those in ENSEMBLES, and load each once
	@$(CLI) build $(SINGLE_OPTION) $(OPTIONS) $(if $(IMAGE)$(filter gpu,$(TARGET)),,--prove) $(if $(ENGINES_FROM),--engines-from "$(ENGINES_FROM)")

serve-local: not-gpu .venv/ready ## Build, then serve on HTTP 8000, gRPC 8001, metrics 8002 until Ctrl-C
	@$(CLI) serve $(OPTIONS)

gateway: not-gpu .venv/ready ## Serve the models of gateway/models.toml by name and version, as one container does (docs/gateway.md)
	@$(CLI) gateway --weights $(WEIGHTS) $(if $(WEIGHTS_DIR),--weights-dir "$(WEIGHTS_DIR)") --target $(TARGET) $(PLACE_OPTIONS)

IMAGE_NAME ?= triton-ensembles-gateway:24.12
image: .venv/ready ## Where Docker is: build the gateway's image, and push it if REGISTRY=ACCOUNT.dkr.ecr.REGION.amazonaws.com
	@.venv/bin/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	docker build -f gateway/Dockerfile -t $(IMAGE_NAME) .
	$(if $(REGISTRY),docker tag $(IMAGE_NAME) $(REGISTRY)/$(IMAGE_NAME) && docker push $(REGISTRY)/$(IMAGE_NAME))

perf: not-gpu .venv/ready ## Measure every ensemble with perf_analyzer: concurrency sweep, time by step, CSV and a plot
	@$(CLI) perf $(OPTIONS)

bench: build-ensembles ## Compare ours with the floor, the limit, a reference and peers: the tables of docs/performance.md, and reports/bench/ (half an hour)
	@.venv/bin/python -m benchmarks.bench

soak: .venv/ready ## A thousand ensembles under a budget for a tenth of them, 100 000 requests, at most SECONDS=3600, on FORM=endpoint or host: no failure, no growth
	@.venv/bin/python -m benchmarks.soak --seconds $(or $(SECONDS),3600) --form $(or $(FORM),endpoint)

gpu-proof: .venv/ready ## On a machine with a GPU: run the tests that need one; what they have seen is in reports/gpu.xml
	@nvidia-smi -L || { echo 'error: there is no NVIDIA GPU here, so nothing can be proven' >&2; exit 1; }
	@.venv/bin/python -m pytest tests/gpu -m gpu -v -rs --junitxml=reports/gpu.xml

check: .venv/ready ## Find every fault of every ensemble, before anything is built
	@$(CLI) check $(if $(filter-out cpu,$(TARGET)),--target $(TARGET)) $(PLACE_OPTIONS)

endpoint: .venv/ready ## Serve the SageMaker API on this machine; prints the variables for boto3, Ctrl-C stops it
	@$(CLI) endpoint

# Plain boto3: on AWS, or on the local endpoint when AWS_ENDPOINT_URL is exported.
SINGLE_OPTION = $(if $(SINGLE),$(SINGLE) --single)
DEPLOY_OPTIONS = $(if $(ROLE),--role $(ROLE)) $(PLACE_OPTIONS)
RANDOM_OPTION = $(if $(ALLOW_RANDOM),--allow-random)

upload: build-ensembles ## Build, check, and copy the archives to S3 (ALLOW_RANDOM=1 for random weights)
	@$(CLI) upload --endpoint $(ENDPOINT) --target $(TARGET) $(RANDOM_OPTION) $(SINGLE_OPTION)

deploy: upload ## Upload, then create or update the endpoint (ROLE=arn:…, ENDPOINT=name; SINGLE=bert_trt: a single-model one)
	@$(CLI) deploy --endpoint $(ENDPOINT) --target $(TARGET) $(DEPLOY_OPTIONS) $(RANDOM_OPTION) $(SINGLE_OPTION)

invoke: .venv/ready ## Send every ensemble of the endpoint its example request
	@$(CLI) invoke --endpoint $(ENDPOINT) --target $(TARGET)

status: .venv/ready ## Show the endpoint: state, instances, cost, archives
	@$(CLI) status --endpoint $(ENDPOINT)

undeploy: .venv/ready ## Delete everything that deploy and upload created
	@$(CLI) undeploy --endpoint $(ENDPOINT)

lint: .venv/ready ## Check style, spelling, layers, types and the Dockerfile (ruff, codespell, import-linter, mypy, hadolint)
	@.venv/bin/ruff check . && .venv/bin/ruff format --check .
	@.venv/bin/codespell
	@.venv/bin/lint-imports --no-logo
	@.venv/bin/hadolint gateway/Dockerfile
	@.venv/bin/mypy

setup: .venv/ready ## Install everything (.venv and .triton), or repair .triton; the other targets do it when needed
	@$(CLI) setup

TRITON := triton_ensembles/server/requirements

.venv/ready: requirements/requirements.txt requirements/torch.txt $(TRITON)/triton.txt $(TRITON)/bare-python.txt
	@python=$$($(PYTHON) -m triton_ensembles.server.machine) && \
	  echo "setting up .venv with $$python: about 110 packages and 4 GB on disk, some minutes" && \
	  { test -x .venv/bin/python || "$$python" -m venv .venv; }
	@.venv/bin/python -m pip install --quiet -r requirements/torch.txt
	@.venv/bin/python -m pip install --quiet --require-hashes -r requirements/requirements.txt
	@$(CLI) setup
	@ln -sfn ../../build.py .venv/bin/triton-ensembles
	@ln -sfn "$(CURDIR)/triton_python_backend_utils-stubs" "$$(.venv/bin/python -c 'import site; print(site.getsitepackages()[0])')"
	@touch $@

lock: .venv/ready ## Pin the dependencies of pyproject.toml into requirements.txt, with hashes
	@.venv/bin/python -m pip install --quiet uv
	@.venv/bin/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate \
	  --no-emit-index-url --no-emit-find-links --all-extras --group dev --no-emit-package pip pyproject.toml -o requirements/requirements.txt
	@.venv/bin/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --no-emit-index-url \
	  --no-emit-find-links --extra gateway --constraint requirements/requirements.txt pyproject.toml -o requirements/gateway.txt

clean: ## Remove what was built (build/, dist/, reports/)
	rm -rf build dist reports

distclean: clean ## Remove everything that is not in git, what was installed (.venv, .triton, …) too
	rm -rf .venv .triton .browser .bench-peers
