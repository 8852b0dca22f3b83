# Two commands do the main things on a machine that has Python 3.11 or newer and make:
#   make demo   a CNN on recordings of a gear drive: audit, repair, audit, a table, and a page (outputs/demo/page.html)
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

# What `make versions` tests with, and which tests (all unless given). Names of programs, paths, or versions such as 3.13.
PYTHON_LOWEST ?= python3.11
PYTHON_NEWEST ?= python3.13
TESTS ?=
VERSIONS := .versions
UV := $(VERSIONS)/tools/bin/uv

.PHONY: demo test fast versions versions-lowest versions-newest verify lint docs package bench pictures notebooks fuzz sbom lock clean

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

versions-lowest versions-newest: versions-%: $(VERSIONS)/%/.installed
	$(VERSIONS)/$*/bin/python -m pytest -n $(JOBS) $(TESTS)
	CREST_CHECK_SHAPES=0 $(VERSIONS)/$*/bin/python -m pytest -n $(JOBS) $(TESTS)

$(VERSIONS)/lowest/.installed: WITH = $(PYTHON_LOWEST)
$(VERSIONS)/lowest/.installed: RESOLUTION = lowest-direct
$(VERSIONS)/newest/.installed: WITH = $(PYTHON_NEWEST)
$(VERSIONS)/newest/.installed: RESOLUTION = highest
$(VERSIONS)/lowest/.installed $(VERSIONS)/newest/.installed: $(VERSIONS)/%/.installed: pyproject.toml | $(UV)
	$(UV) venv --quiet --clear --python $(WITH) $(VERSIONS)/$* || \
		{ echo '$(WITH) is missing; name another with: make PYTHON_LOWEST=... PYTHON_NEWEST=... versions'; exit 1; }
	$(UV) pip install --quiet --python $(VERSIONS)/$*/bin/python --resolution $(RESOLUTION) -e '.[dev]'
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
	mv $(VERSIONS)/requirements.lock requirements.lock

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

# What `pip install .` gives, in a folder of its own.
package: $(VENV)/.installed
	rm -rf outputs/package
	$(RUN) -m pip install --quiet --no-deps --no-build-isolation --target outputs/package .
	cd outputs && PYTHONPATH=package ../$(RUN) -c 'import crest, torch; print(crest.__file__, crest.CrestReadout()(torch.randn(2, 50, 4)).shape)'
	cd outputs && PYTHONPATH=package ../$(RUN) -m crest --version

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
