# Two commands do the main things on a machine that has Python 3.11 or newer and make:
#   make demo   a CNN on simulated recordings: audit, repair, audit, the result as bars, and a page (outputs/demo/page.html)
#   make test   all tests
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
INSTALL := $(RUN) -m pip install --quiet --disable-pip-version-check
JOBS ?= 2
# Not in the lock: its builds (for CPU, for CUDA) have the same version and other hashes on each index.
TORCH ?= torch==2.13.0
# HASHES=no takes the locked versions from an index that has builds of its own, or builds what has no wheel here.
HASHES ?= yes
PYTEST := $(RUN) -m pytest -n $(JOBS)

# Random values that every public door is given, and damaged files of each kind, where nobody asks for others.
VALUES ?= 1000
FILES ?= 2000
MODELS ?= 300
# Small changes of the code that `make mutants` tries, and which: the default takes ten minutes on two idle cores.
SAMPLE ?= 60
SEED ?= 0
# The share of them that must be caught, and how many may survive that nobody has explained. A sample of four tells nothing about a share, so CI asks
# for less.
ENOUGH ?= 0.95
UNEXPLAINED ?= 0

# What `make versions` tests with, and which tests (all unless given). Names of programs, paths, or versions such as 3.13.
PYTHON_LOWEST ?= python3.11
PYTHON_NEWEST ?= python3.13
TESTS ?=
# PINNED_TORCH=yes keeps torch as it is pinned above, in the build that pip's index has, and takes only the rest in other versions.
PINNED_TORCH ?=
# The environments that `make release` tries: usual (no extra, and the lab), all, or the name of an extra.
EXTRAS ?= usual
VERSIONS := .versions
UV := $(VERSIONS)/tools/bin/uv
# Made anew when torch is to be another one.
STAMP := .installed$(if $(filter yes,$(PINNED_TORCH)),-pinned-torch)

.PHONY: demo test fast versions versions-lowest versions-newest verify lint docs release bench pictures notebooks fuzz mutants sbom lock clean

demo: $(VENV)/.installed
	$(RUN) -m crest demo

# Twice: once with every shape checked at every call, once without, for code that is traced.
test: $(VENV)/.installed
	$(PYTEST)
	CREST_CHECK_SHAPES=0 $(PYTEST)

fast: $(VENV)/.installed
	$(PYTEST) -m "not slow"

# The tests with the lowest versions that pyproject.toml declares, and with the newest that there are, each in an environment of its own.
# An index without a CPU build of torch sends gigabytes for CUDA; UV_TORCH_BACKEND=cpu asks PyTorch's own index.
versions: versions-lowest versions-newest

versions-lowest versions-newest: versions-%: $(VERSIONS)/%/$(STAMP)
	$(VERSIONS)/$*/bin/python -m pytest -n $(JOBS) $(TESTS)
	CREST_CHECK_SHAPES=0 $(VERSIONS)/$*/bin/python -m pytest -n $(JOBS) $(TESTS)

$(VERSIONS)/lowest/$(STAMP): WITH = $(PYTHON_LOWEST)
$(VERSIONS)/lowest/$(STAMP): RESOLUTION = lowest-direct
$(VERSIONS)/newest/$(STAMP): WITH = $(PYTHON_NEWEST)
$(VERSIONS)/newest/$(STAMP): RESOLUTION = highest
$(VERSIONS)/lowest/$(STAMP) $(VERSIONS)/newest/$(STAMP): $(VERSIONS)/%/$(STAMP): pyproject.toml | $(UV)
	$(UV) venv --quiet --clear --seed --python $(WITH) $(VERSIONS)/$* || \
		{ echo '$(WITH) is missing; name another with: make PYTHON_LOWEST=... PYTHON_NEWEST=... versions'; exit 1; }
ifeq ($(PINNED_TORCH),yes)
	$(VERSIONS)/$*/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --dest $(VERSIONS)/$*/torch '$(TORCH)'
endif
	$(UV) pip install --quiet --python $(VERSIONS)/$*/bin/python --resolution $(RESOLUTION) -e '.[dev]' \
		$(if $(filter yes,$(PINNED_TORCH)),$(VERSIONS)/$*/torch/torch-*.whl)
	@touch $@

# uv can choose the lowest versions; pip cannot.
$(UV):
	$(PYTHON) -m venv $(VERSIONS)/tools
	$(VERSIONS)/tools/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9'

# What `make test` tries a little of, with other values and files at each call; a failure prints what repeats it.
fuzz: $(VENV)/.installed
	CREST_CHECK_SHAPES=0 CREST_FUZZ=$(VALUES) $(RUN) -m pytest -q tests/contracts/test_public_doors.py -k any_argument
	CREST_CHECK_SHAPES=0 CREST_FUZZ_MODELS=$(MODELS) $(RUN) -m pytest -q tests/contracts/test_left_as_it_was.py
	CREST_FUZZ_FILES=$(FILES) CREST_FUZZ_SEED=$$(date +%s) $(RUN) -m pytest -q tests/contracts/test_parsers.py -k damaged_files

# Whether the tests see small changes of the code; fewer than 95 % of them caught or explained is an error. cosmic-ray, which makes most
# of them, has an environment of its own, so that nobody needs it for the tests.
mutants: $(VENV)/.installed
	$(PYTHON) -m venv outputs/mutants
	outputs/mutants/bin/python -m pip install --quiet --disable-pip-version-check 'cosmic-ray>=8.7,<9'
	outputs/mutants/bin/python tests/mutants.py --python $(RUN) --sample $(SAMPLE) --seed $(SEED) --enough $(ENOUGH) --unexplained $(UNEXPLAINED) --jobs $(JOBS)

# What is installed in .venv, as CycloneDX. Its maker has an environment of its own, so that it is not listed itself.
sbom: $(VENV)/.installed
	$(PYTHON) -m venv outputs/sbom
	outputs/sbom/bin/python -m pip install --quiet --disable-pip-version-check 'cyclonedx-bom>=7'
	outputs/sbom/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
		--output-file outputs/crest.cdx.json $(RUN)

# Versions and hashes of what `dev` needs, for all platforms and every Python since the lowest that pyproject.toml names. Versions
# that fit are kept; LOCK=--upgrade takes the newest. What torch's CUDA builds bring along is left out with torch itself.
LOCK ?=
lock: | $(UV)
	echo '$(TORCH)' > $(VERSIONS)/torch.txt
	cp requirements.lock $(VERSIONS)/with_torch.lock
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header $(LOCK) \
		--extra dev --constraint $(VERSIONS)/torch.txt --output-file $(VERSIONS)/with_torch.lock pyproject.toml
	awk 'BEGIN { print "# Written by `make lock`: what the development environment holds beside torch, with the hashes of its files." } \
		/^[^ ]/ { kept = !/^(#|torch==|triton==|cuda-|nvidia-)/ } kept' $(VERSIONS)/with_torch.lock > $(VERSIONS)/requirements.lock
	cmp -s $(VERSIONS)/requirements.lock requirements.lock || mv $(VERSIONS)/requirements.lock requirements.lock

# The cheapest of the kept records, trained again.
verify: $(VENV)/.installed
	$(RUN) -m crest verify --sample 1 --cheapest

lint: $(VENV)/.installed
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

bench: $(VENV)/.installed
	$(RUN) -m crest bench $(BENCH)

pictures: $(VENV)/.installed
	$(RUN) -m crest.lab.report.readme

# The tutorials, run: what they print, their pictures and notebooks. One thread, because their networks are small.
notebooks: $(VENV)/.installed
	OMP_NUM_THREADS=1 $(RUN) docs/extensions/notebooks.py $(TUTORIALS)

# Open docs/_build/index.html. A warning is an error: a broken link, or a public name that the reference lacks.
docs: $(VENV)/.installed
	$(RUN) -m sphinx -q -W --keep-going -b html docs docs/_build

# sdist and wheel in outputs/release/dist, looked at, and the wheel tried in new environments; nothing is sent anywhere.
release: $(VERSIONS)/tools/bin/twine
	$(VERSIONS)/tools/bin/python tests/release.py --torch '$(TORCH)' --extras '$(EXTRAS)'

$(VERSIONS)/tools/bin/twine: | $(UV)
	$(VERSIONS)/tools/bin/python -m pip install --quiet --disable-pip-version-check 'build>=1.2' 'twine>=6.1'

clean:
	rm -rf $(VENV) $(VERSIONS) outputs docs/_build

# Built once; again when what it is made from changes. Only torch, and what its CUDA builds need, comes without a hash: the
# lock is first, so that the rest of torch's needs is there, and the package is last, without an index, so that nothing is missing.
$(VENV)/.installed: pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'crest needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ...'; exit 1; }
	$(PYTHON) -m venv $(VENV)
ifeq ($(HASHES),no)
	sed -e '/--hash=/d' -e 's/ *\\$$//' requirements.lock > $(VENV)/requirements.txt
	$(INSTALL) --no-deps -r $(VENV)/requirements.txt
else
	$(INSTALL) --no-deps --require-hashes --only-binary :all: -r requirements.lock || \
		{ echo 'An index with builds of its own, or a platform without wheels, needs: make HASHES=no ...'; exit 1; }
endif
	$(INSTALL) '$(TORCH)'
	$(INSTALL) --no-index --no-build-isolation -e '.[dev]'
	$(RUN) -m pip --quiet check
	@touch $@
