# Every target sets up what it needs in .venv, from a clean clone on a machine with Python 3.10+,
# make and a C++17 compiler. cmake and ninja come from PyPI.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Workers of the test run.
JOBS   ?= 2

CPP_SOURCES   := $(wildcard solver/kernel/*.h solver/kernel/*.cpp fmu_src/native/*.h fmu_src/native/*.cpp)
# Hosts and fuzzers that tests and benchmarks compile; not part of the installation.
HOST_SOURCES  := $(wildcard build_scripts/*.c build_scripts/*.cpp build_scripts/fuzz/* tests/fmu/host/*)
BUILD_FILES   := pyproject.toml build_scripts/CMakeLists.txt fmu_src/native/exports.map
# With CI set, warnings in the kernel are errors; a stamp of its own makes that take effect.
INSTALLED      := $(VENV)/.installed$(if $(CI),-werror)

# Two pips at once in one environment disturb each other, whatever -j says.
.NOTPARALLEL:
.PHONY: help install demo test bench fuzz fuzz-guided sanitize coverage lint format figures clean distclean

help:
	@echo "make demo     run the space-station arm and leave a plot in build/"
	@echo "make test     all tests"
	@echo "make bench    speed against Pinocchio and MuJoCo, table and build/bench.json"
	@echo "make fuzz     random calls and damaged files against the FMU library, wild values in models"
	@echo "make fuzz-guided  the same guided by coverage, for what reads bytes; takes clang"
	@echo "make sanitize the kernel's tests with sanitizers, for every instruction set, and threads"
	@echo "make coverage lines and branches of what reads bytes that tests run"
	@echo "make lint     ruff, mypy, clang-format, clang-tidy, warnings of the kernel as errors"
	@echo "make format   let ruff and clang-format rewrite the sources"
	@echo "make figures  the plots of the documentation, in build/figures"
	@echo "make clean    remove what was built (distclean: and the .venv)"

# ------------------------------------------------------------------ environment, one stamp each

$(VENV)/.created:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "pliant needs Python 3.10 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

# Build tools inside the venv: builds without isolation are incremental, seconds not minutes.
$(VENV)/.build-tools: $(VENV)/.created
	$(PIP) install "scikit-build-core>=0.11" "nanobind>=2.2" "cmeel-eigen>=3.4,<4" cmake ninja
	@touch $@

$(INSTALLED): $(VENV)/.build-tools $(CPP_SOURCES) $(BUILD_FILES)
	PATH="$(abspath $(BIN)):$$PATH" $(PIP) install --no-build-isolation --editable . \
	    --config-settings=cmake.define.PLIANT_WERROR=$(if $(CI),ON,OFF)
	@touch $@

# pliant is installed by now: pip only adds what the extra names.
$(VENV)/.extra-%: pyproject.toml | $(INSTALLED)
	$(PIP) install "pliant[$*]"
	@touch $@

install: $(INSTALLED)

# ------------------------------------------------------------------------------------- targets

demo: install
	$(BIN)/pliant demo --output-dir build

test: install $(VENV)/.extra-test
	$(BIN)/python -m pytest -n $(JOBS) -q

bench: install $(VENV)/.extra-bench
	$(BIN)/python build_scripts/bench.py

fuzz: install
	$(BIN)/python build_scripts/fuzz_fmu.py
	$(BIN)/python build_scripts/fuzz_files.py 120

fuzz-guided: install
	$(BIN)/python build_scripts/fuzz_guided.py

sanitize: install $(VENV)/.extra-test
	$(BIN)/python build_scripts/sanitize.py

coverage: install $(VENV)/.extra-test $(VENV)/.extra-coverage
	$(BIN)/python build_scripts/native_coverage.py

figures: install $(VENV)/.extra-test
	$(BIN)/python build_scripts/figures.py

lint: install $(VENV)/.extra-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CPP_SOURCES) $(HOST_SOURCES)
	$(BIN)/python build_scripts/tidy.py

format: install $(VENV)/.extra-lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP_SOURCES) $(HOST_SOURCES)

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis $(VENV)/.installed*
	find solver tests build_scripts integration_demos -name __pycache__ -type d -prune \
	    -exec rm -rf {} + 2>/dev/null || true

distclean: clean
	rm -rf $(VENV)
