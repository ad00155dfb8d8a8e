# Each target works on a fresh checkout: it creates .venv, installs its requirements, and runs. Stamp files record the
# installs, so the second run starts at once. A change of pyproject, CMake or the native sources
# triggers a new install.

PYTHON ?= python3
VENV   ?= .venv

BIN    := $(VENV)/bin
# Python compiles modules on import; compiling whole packages at installation takes longer than the installation itself.
# Compiled files are kept even if the environment disables that, because the tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE :=
INSTALL := $(BIN)/python -m pip install --no-compile
STAMPS := $(VENV)/stamps
comma  := ,

# Poise is installed in place: an edited Python file needs nothing, an edited native file an incremental build.
BUILD = $(INSTALL) --no-build-isolation --editable '$(1)' --config-settings=build-dir=build/$(2) \
        --config-settings=cmake.define.POISE_LEVELS=$(or $(3),own)
NATIVE := $(shell find src/poise/native -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.in')
SOURCES := $(STAMPS)/build pyproject.toml CMakeLists.txt $(NATIVE)
CXX_FILES := $(filter-out %.in,$(NATIVE)) $(wildcard tests/native/*.h tests/native/*.cpp tests/native/*.cu)
EXAMPLES := $(sort $(wildcard examples/[0-9]*.py))

# The sanitized build has its own environment, separate from the ordinary one.
SANITIZE_VENV := .venv-sanitize
SANITIZE_ENV  := LD_PRELOAD="$$($${CXX:-c++} -print-file-name=libasan.so) $$($${CXX:-c++} -print-file-name=libstdc++.so)" \
                 ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1

# Packages that bridges lead to, on top of the ordinary environment, which does not have them.
BRIDGES_VENV := .venv-bridges

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo examples quick test test-all test-gpu test-bridges lint format bench bench-gpu fuzz studio docs sanitize wheels blender-extension npm release-check clean
.PHONY: cross levels compilers wasm

help:
	@echo "make demo      build Poise, pose a figure, write a picture and a page into demo/"
	@echo "make examples  run the numbered examples"
	@echo "make quick     the tests without browsers, compilers, processes and long searches: a minute, for the inner loop"
	@echo "make test      build Poise and run the tests on all cores; then those in a browser"
	@echo "make test-all  also the long tests, those of pages that solve, and the other processor"
	@echo "make test-gpu  run the tests of batches on a GPU"
	@echo "make test-bridges   run the tests of bridges with the packages that are too large for make test"
	@echo "make lint      style, types, import layers, C++ format"
	@echo "make format    rewrite Python and C++ in the house style"
	@echo "make bench     kinematics, files, arms, bodies, batches and published results, compared with installed peers"
	@echo "make wasm      compile the kernels to WebAssembly, for pages whose body can be dragged: show(..., drag=True)"
	@echo "make docs      build the documentation into site/"
	@echo "make sanitize  run the tests on a build with AddressSanitizer and UBSan"
	@echo "make fuzz      look for files that break a reader, for a minute (ARGS=-max_total_time=3600 for an hour)"
	@echo "make gltf-check     written glTF files through the Khronos validator (needs node and npm)"
	@echo "make blender-check  written GLB and BVH files imported in headless Blender, joints compared"
	@echo "make gallery   open every file of a folder (FILES=folder) and draw contact sheets into build/gallery/"
	@echo "make studio    drag a body in the browser (ARGS=robot.urdf for your own)"
	@echo "make wheels    the sdist and the Linux wheels of a release into dist/: built, repaired, checked, run"
	@echo "make release-check  whether versions, tag and files of a release are ready"
	@echo "make blender-extension  the extension for Blender with the wheels in dist/, or a new one: dist/poise_ik-*.zip"
	@echo "make npm       the npm package poise-ik, with the kernels in WebAssembly: dist/poise-ik-*.tgz"
	@echo "make cross     build for the other processor and run the laws there under qemu (ARGS=--short for a few of them)"
	@echo "make levels    the laws at every instruction level and rounding of this machine, on other random numbers"
	@echo "make compilers build with g++ 11 and 12, clang 14, 16 and 19 and zig, and run the quick tests on each"
	@echo "make clean     remove all generated files"

# ------------------------------------------------------------------------------------------------ verbs

demo: $(STAMPS)/studio
	@$(BIN)/poise demo --out demo --then "make studio"

examples: $(STAMPS)/studio
	@mkdir -p demo && cd demo && for example in $(EXAMPLES); do \
	  echo "--- $$example"; $(abspath $(BIN))/python ../$$example || exit 1; done
	@echo "Their output is in demo/."

# A file's tests stay in one process, so that they share fixtures. tests/conftest.py sets the order of the files.
# One process more than there are cores: many tests wait for a compiler, a process or a cluster.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
PARALLEL = $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# One BLAS thread per process: the cores are busy with other test processes, and waiting threads spin.
quick test test-long: export OPENBLAS_NUM_THREADS := 1

quick: $(STAMPS)/peers $(STAMPS)/test
	$(PARALLEL) -m "not timing and not slow and not long" --hypothesis-profile=quick $(ARGS)

# A browser on busy cores runs into its own timeouts, so its tests run last and separately, even after a failure. If ARGS
# selects no test of one part, pytest exits with 5. The summary comes last. $(1) is a marker expression, $(2) and $(3) are the files without
# and in a browser: collecting all files would take long.
COLOR = $(if $(MAKE_TERMOUT),--color=yes)
IN_BROWSER = $(shell grep -rl --include='test_*.py' 'mark\.browser' tests | sort)
LONG_FILES = $(sort $(shell sed -n 's/^[0-9]* \([^:]*\).*/\1/p' tests/long_tests.txt))
TESTS = set -o pipefail; failed=0; mkdir -p build; \
  $(PARALLEL) $(COLOR) -m "not browser and not timing and $(1)" $(or $(ARGS),$(2)) 2>&1 | tee build/test.log || test $$? -eq 5 || failed=1; \
  $(BIN)/python -m pytest $(COLOR) -m "browser and not timing and $(1)" $(or $(ARGS),$(3)) 2>&1 | tee build/browser.log || test $$? -eq 5 || failed=1; \
  echo; grep -hE '^[^a-zA-Z]*(FAILED|ERROR) ' build/test.log build/browser.log; \
  echo "Tests:            $$(tail -n 1 build/test.log)"; echo "Tests in a browser: $$(tail -n 1 build/browser.log)"; exit $$failed
test test-long: SHELL := /bin/bash

# The packages of the tests are installed while the compiler works.
test:
	@$(MAKE) --no-print-directory -j2 test-ready
	@$(call TESTS,not long,tests,$(IN_BROWSER))

# Everything: the tests above, those of tests/long_tests.txt, and a few laws on the other processor.
test-all: test
	@$(MAKE) --no-print-directory test-long
	@$(MAKE) --no-print-directory cross ARGS=--short

# Long tests compare instruction levels and solve in pages: they need a build with the baseline, the module of pages, and Node.
HAS_WASI := $(and $(wildcard /usr/lib/wasm32-wasi/libc++.a),$(shell command -v clang++),$(shell command -v wasm-ld))
test-long: $(STAMPS)/levels $(STAMPS)/test $(STAMPS)/chromium $(if $(HAS_WASI),wasm-quick,wasm)
	@export POISE_NEEDS_WASM=1; $(call TESTS,long,$(LONG_FILES),$(filter $(LONG_FILES),$(IN_BROWSER)))

.PHONY: test-ready test-long
test-ready: $(STAMPS)/peers $(STAMPS)/test $(STAMPS)/chromium

test-gpu: $(STAMPS)/gpu $(STAMPS)/test
	$(BIN)/python -m pytest tests/device $(ARGS)

test-bridges: $(STAMPS)/bridges
	$(BRIDGES_VENV)/bin/python -m pytest tests/bridges $(ARGS)

lint: lint-style lint-types lint-layers lint-native

# The requirements of .ci/run, installed and built once.
.PHONY: ready
ready: $(STAMPS)/lint $(STAMPS)/levels $(STAMPS)/test $(STAMPS)/chromium

.PHONY: lint-style lint-types lint-layers lint-native
lint-style: $(STAMPS)/lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
lint-types: $(STAMPS)/lint $(STAMPS)/poise
	$(BIN)/mypy
lint-layers: $(STAMPS)/lint $(STAMPS)/poise
	$(BIN)/lint-imports --no-cache
lint-native: $(STAMPS)/lint
	$(BIN)/clang-format --dry-run --Werror $(CXX_FILES)

format: $(STAMPS)/lint
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(CXX_FILES)

bench: $(STAMPS)/peers $(STAMPS)/test $(STAMPS)/chromium
	$(BIN)/python -m pytest -q -m timing
	@for bench in kinematics.py "formats.py urdf bvh" "papers.py fabrik buss haviland" arms.py "bodies.py g1 drag markers growth"; do \
	  echo "--- benchmarks/$$bench"; $(BIN)/python benchmarks/$$bench $(ARGS) || exit 1; done

fuzz: $(STAMPS)/peers $(STAMPS)/test $(STAMPS)/fuzz
	$(BIN)/python tests/fuzz/explore.py $(ARGS)

bench-gpu: $(STAMPS)/gpu
	$(BIN)/python benchmarks/gpu.py $(ARGS)

studio: $(STAMPS)/studio
	@$(BIN)/poise studio $(ARGS)

docs: $(STAMPS)/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "Open site/index.html."

.PHONY: gallery
gallery: $(STAMPS)/studio
	@test -n "$(FILES)" || { echo "Say which folder: make gallery FILES=folder"; exit 2; }
	$(BIN)/python tools/gallery.py "$(FILES)" --out build/gallery $(ARGS)

# The validator's package is installed into build/; nothing else in the project needs it.
.PHONY: gltf-check blender-check
gltf-check: $(STAMPS)/poise
	@command -v npm >/dev/null || { echo "npm is missing. Type: sudo apt install npm"; exit 1; }
	@mkdir -p build/gltf
	npm install --silent --no-save --prefix build/gltf gltf-validator
	$(BIN)/python tools/gltf_check.py build/gltf

# Debian's Blender takes its numpy from the system's Python.
blender-check: $(STAMPS)/poise
	@command -v blender >/dev/null || { echo "Blender is missing. Type: sudo apt install blender python3-numpy"; exit 1; }
	$(BIN)/python tools/blender_check.py --out build/blender

sanitize:
	@$(MAKE) --no-print-directory VENV=$(SANITIZE_VENV) sanitize-here

# The kernels for pages, by zig from the package index: one unit, so that no function is in it twice. The first time zig also
# compiles its C++ library, which takes less than a minute on two cores. Wheels contain the module.
WASM := src/poise/native/wasm/kernels.wasm
WASM_PARTS := $(patsubst %,src/poise/native/%.cpp,run/solve memory/solver_data)
WASM_FLAGS := -std=c++20 -O2 -fno-unroll-loops -mllvm -inline-threshold=20 -g0 -msimd128 -fno-exceptions -fno-rtti -fno-math-errno \
              -fno-trapping-math -Wall -Wextra -Werror -Wno-pass-failed -DPOISE_LEVEL=page -Isrc/poise/native
wasm: $(WASM)
$(WASM): src/poise/native/wasm/interface.cpp $(WASM_PARTS) $(filter %.h,$(NATIVE)) | $(STAMPS)/wasm
	@mkdir -p build
	$(BIN)/python -m ziglang c++ -target wasm32-wasi $(WASM_FLAGS) $(WASM_PARTS:%=-include %) -c $< -o build/kernels.o
	$(BIN)/python -m ziglang c++ -target wasm32-wasi -mexec-model=reactor -O2 -Wl,--strip-all build/kernels.o -o $@

# The same for tests only, in a fifth of the time: Debian's clang, whose C++ library is compiled already, at -O1. Its date
# is old, so that `make wasm` builds the real one. Needs: clang lld wasi-libc libc++-dev-wasm32 libclang-rt-dev-wasm32
WASI_CXX ?= clang++ --sysroot=/usr
QUICK_WASM := build/quick.wasm
.PHONY: wasm-quick
wasm-quick: $(QUICK_WASM)
	cp $< $(WASM)
	@touch -d 2000-01-01 $(WASM)
$(QUICK_WASM): src/poise/native/wasm/interface.cpp $(WASM_PARTS) $(filter %.h,$(NATIVE)) Makefile
	@mkdir -p build
	$(WASI_CXX) --target=wasm32-wasi -mexec-model=reactor $(filter-out -mllvm -inline-threshold=20,$(WASM_FLAGS:-O2=-O1)) -Wl,--strip-all \
	  $(WASM_PARTS:%=-include %) $< -o $@

# Linux wheels for x86-64 and arm64 from this machine, by zig; RELEASING.md lists what is built where.
wheels: $(STAMPS)/build $(STAMPS)/wheels $(WASM)
	$(BIN)/python tools/wheels.py $(ARGS)

release-check: $(STAMPS)/build
	$(BIN)/python tools/release_check.py

blender-extension: $(STAMPS)/build
	$(BIN)/python tools/blender_extension.py

npm: $(WASM)
	$(BIN)/python tools/npm_package.py

# Both processors, every compiler, every rounding: see RELEASING.md.
cross: $(STAMPS)/build
	$(BIN)/python tools/trials.py cross $(ARGS)

levels: $(STAMPS)/build $(STAMPS)/test
	$(BIN)/python tools/trials.py levels $(ARGS)

compilers: $(STAMPS)/build $(STAMPS)/test $(STAMPS)/wheels
	$(BIN)/python tools/trials.py compilers $(ARGS)

clean:
	rm -rf .venv .venv-sanitize .venv-bridges build dist site demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests tools examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: sanitize-here
sanitize-here: $(STAMPS)/sanitized $(STAMPS)/test
	$(SANITIZE_ENV) $(BIN)/python -m pytest -m "not timing and not nvrtc and not browser" --hypothesis-profile=sanitize $(ARGS)

# ------------------------------------------------------------------------------------------------ installs

# Requirements that pip cannot install are checked first, with a message that names the package.
$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	  || { echo "Poise needs Python 3.10 or newer. Type: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "Python cannot make environments here. Type: sudo apt install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --upgrade 'pip>=25.1'
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/build: $(STAMPS)/venv pyproject.toml
	@command -v "$${CXX:-c++}" >/dev/null \
	  || { echo "Poise needs a C++20 compiler. Type: sudo apt install g++"; exit 1; }
	@test -f "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" \
	  || { echo "Python's headers are missing. Type: sudo apt install python3-dev"; exit 1; }
	$(INSTALL) --group build
	@touch $@

# `peers` is the ordinary install with one extra, so it stands for both. The build writes the native module's stub; a
# copy next to the sources makes it available to type checkers and editors.
$(STAMPS)/poise: $(SOURCES)
	$(call BUILD,.,release)
	@cp build/release/_core.pyi src/poise/native/
	@touch $@

# Builds have the best instruction level alone; the baseline is added for the long tests, and kept from then on.
LEVELS = $(if $(wildcard $(STAMPS)/levels),own,best)
$(STAMPS)/studio: $(SOURCES)
	@echo "Compiling the C++ kernels, once: about three minutes on two cores."
	$(call BUILD,.[cli$(comma)studio],release,$(LEVELS))
	@cp build/release/_core.pyi src/poise/native/
	@touch $(STAMPS)/poise $@

$(STAMPS)/peers: $(SOURCES)
	$(call BUILD,.[peers],release,$(LEVELS))
	@cp build/release/_core.pyi src/poise/native/
	@touch $(STAMPS)/poise $@

$(STAMPS)/levels: $(SOURCES)
	$(call BUILD,.[peers],release)
	@cp build/release/_core.pyi src/poise/native/
	@touch $(STAMPS)/poise $(STAMPS)/peers $@

$(STAMPS)/gpu: $(SOURCES)
	$(call BUILD,.[gpu],release)
	@cp build/release/_core.pyi src/poise/native/
	@touch $(STAMPS)/poise $@

# A .pth file makes the packages of the ordinary environment available, Poise among them.
PACKAGES := import sysconfig; print(sysconfig.get_path("purelib"))
$(STAMPS)/bridges: $(STAMPS)/peers $(STAMPS)/test
	$(BIN)/python -m venv $(BRIDGES_VENV)
	echo "import site; site.addsitedir('$$($(BIN)/python -c '$(PACKAGES)')')" \
	  > "$$($(BRIDGES_VENV)/bin/python -c '$(PACKAGES)')/ordinary.pth"
	$(BRIDGES_VENV)/bin/python -m pip install --no-compile 'pip>=25.1'
	$(BRIDGES_VENV)/bin/python -m pip install --no-compile --group bridges
	@touch $@

# Forced inlining of instrumented kernels takes the compiler half an hour; as plain functions they take minutes.
$(STAMPS)/sanitized: $(SOURCES)
	$(call BUILD,.,sanitize) --config-settings=cmake.define.POISE_SANITIZE=ON --config-settings=cmake.build-type=Debug \
	  --config-settings=cmake.define.CMAKE_CXX_FLAGS_DEBUG="-O1 -Dalways_inline=unused"
	@touch $@

# Pages and the studio are tested in a real browser. If none can be installed, those tests are skipped with a message; with
# POISE_NEEDS_CHROMIUM, as in CI, that is an error.
$(STAMPS)/chromium: $(STAMPS)/test
	@tools/get_chromium.sh $(BIN)/python || test -z "$$POISE_NEEDS_CHROMIUM"
	@touch $@

$(STAMPS)/test $(STAMPS)/lint $(STAMPS)/docs $(STAMPS)/fuzz $(STAMPS)/wheels $(STAMPS)/wasm: $(STAMPS)/%: $(STAMPS)/venv pyproject.toml
	$(INSTALL) --group $*
	@touch $@
