# `make` alone says what there is. Where a number is taken, N= says how many, and SEED= with which one to begin.
CARGO ?= cargo
PREFIX ?= $(HOME)/.local
TO = $(DESTDIR)$(PREFIX)

.PHONY: conventions csmith deb fuzz fuzz-input fuzz-targets limits llvm-tests packages-test help setup demo install uninstall test optimal page test-optimal test-page bench bench-destruction bench-join-sets fmt lint corpus corpus-test corpus-matrix executed regress baseline paper

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1: /p' $(MAKEFILE_LIST) | awk -F': ' '{ printf "  make %-15s %s\n", $$1, $$2 }'

setup: ## install what is missing of LLVM 22, clang 22 and the C++ compilers
	@scripts/setup

demo: setup ## build, compile real programs with two allocators, run them, compare
	$(CARGO) build --release
	scripts/demo

install: setup ## build with all optimisations, and install below PREFIX (default: ~/.local): command, plug-in, manual pages, completions
	$(CARGO) build --locked --profile dist
	install -s -D -m 755 target/dist/chordal $(TO)/bin/chordal
	install -s -D -m 644 target/dist/libchordal.so $(TO)/lib/libchordal.so
	for name in cc c++ fc; do ln -sf chordal $(TO)/bin/chordal-$$name; done
	target/dist/chordal pages $(TO)/share

uninstall: ## remove what `make install` has put below PREFIX
	rm -f $(addprefix $(TO)/bin/,chordal chordal-cc chordal-c++ chordal-fc) $(TO)/lib/libchordal.so
	rm -f $(TO)/share/man/man1/chordal.1 $(TO)/share/man/man1/chordal-*.1 $(TO)/share/bash-completion/completions/chordal
	rm -f $(TO)/share/zsh/site-functions/_chordal $(TO)/share/fish/vendor_completions.d/chordal.fish

test: setup lint ## formatting, lints and all tests
	$(CARGO) test

VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

deb: ## a package for Debian with what `make install` installs: target/chordal.deb
	rm -rf target/deb
	$(MAKE) install PREFIX=/usr DESTDIR=target/deb
	mkdir target/deb/DEBIAN
	printf '%s\n' 'Package: chordal' 'Version: $(VERSION)' "Architecture: $$(dpkg --print-architecture)" \
		'Maintainer: the authors of chordal <chordal@localhost>' 'Depends: libc6, libstdc++6, libllvm22' \
		'Recommends: clang-22, lld-22' 'Section: devel' 'Priority: optional' \
		'Description: SSA-based register allocation for LLVM: a command and a plug-in' >target/deb/DEBIAN/control
	dpkg-deb --build --root-owner-group target/deb target/chordal.deb

optimal: ## build with a solver for integer programs, for the allocator `optimal` (six minutes more)
	@scripts/setup cmake
	$(CARGO) build --release --features optimal

test-optimal: ## lints and all tests of that build
	@scripts/setup cmake
	$(CARGO) clippy --all-targets --features optimal -- -D warnings
	$(CARGO) test --features optimal

page/node_modules: page/package-lock.json
	@command -v npm >/dev/null || scripts/setup npm
	cd page && npm ci --no-audit --no-fund --ignore-scripts
	touch $@

page: page/node_modules ## bundle the page of `chordal explain` anew, after a change below page/
	cd page && npm run --silent build

test-page: page/node_modules ## test that page in Chromium
	@scripts/setup chromium
	$(CARGO) build
	cd page && CHORDAL=../target/debug/chordal npm --silent test

bench: setup ## time allocation of SQLite against the LLVM passes it replaces
	PROGRAMS=sqlite CONFIGS=x86-64 scripts/corpus
	$(CARGO) bench --quiet --bench allocation -- $(BENCH_ARGS)

bench-destruction: setup ## time the ways into SSA form and out of it by size
	$(CARGO) bench --quiet --bench destruction -- $(BENCH_ARGS)

bench-join-sets: setup ## time ways to find where SQLite's variables need phis
	PROGRAMS=sqlite CONFIGS=O0 scripts/corpus
	$(CARGO) bench --quiet --bench join_sets -- $(BENCH_ARGS)

fmt: ## format the sources
	$(CARGO) fmt

lint: setup ## check formatting, lints and the links of the documentation
	$(CARGO) fmt --check
	$(CARGO) clippy --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --quiet --no-deps --document-private-items

corpus: ## fetch nineteen programs and compile each, and the numeric ones, to whole-program bitcode
	scripts/corpus

corpus-test: setup ## send the corpus through chordal and compare what it does with clang's build
	$(CARGO) build --release
	scripts/corpus-test

corpus-matrix: setup ## the corpus under every allocator and option (an hour), and totals of what each counts
	$(CARGO) build --release
	scripts/corpus-matrix

csmith: setup ## random C programs under random allocators, against gcc's builds (N=10000: as many; two a second)
	@scripts/setup csmith
	$(CARGO) build --release
	scripts/csmith.py $(N)

conventions: setup ## random modules whose functions differ in convention, attributes and subtarget, against LLVM's own builds (N=10000: as many)
	$(CARGO) build --release
	scripts/conventions.py $(N) $(if $(SEED),--seed $(SEED))

packages-test: setup ## build real packages with chordal cc, c++, fc and cargo, run their own tests, compare with clang's builds
	$(CARGO) build --release
	scripts/packages-test

fuzz: setup ## random machine functions under all allocators and options, checked and executed (N=100000: as many)
	$(if $(SEED),CHORDAL_SEED=$(SEED)) $(if $(N),CHORDAL_COUNT=$(N)) $(CARGO) test --test integration fuzz:: -- --ignored --nocapture

fuzz-input: setup ## damaged bitcode, IR, objects, statistics, records and texts: one message or the right result (N=100000: as many)
	$(CARGO) build --release
	scripts/fuzz-input.py $(N) $(if $(SEED),--seed $(SEED)) --jobs $$(nproc)

fuzz-targets: setup ## libFuzzer on texts, modules and what other commands read (N=60: seconds each; docs/testing.md)
	scripts/fuzz-targets $(N)

limits: setup ## time and memory of functions as large as can be, beside LLVM's greedy allocator (hours; scripts/limits.py --largest 4 takes minutes)
	$(CARGO) build --profile dist
	scripts/limits.py --chordal target/dist/chordal

llvm-tests: setup ## hold what chordal makes of LLVM's own tests of x86 code generation against llc (ARGS="--only AMX/" for some of them)
	$(CARGO) build --release
	scripts/llvm-tests $(ARGS)

executed: setup ## what the corpus executes, by allocator: instructions, loads, stores (docs/quality.md; more than twenty minutes, resumable)
	$(CARGO) build --release
	scripts/executed

regress: setup ## fail if what the allocators count on the corpus got worse than testdata/baseline.json
	$(CARGO) build --release
	scripts/regress

baseline: setup ## make what the allocators count on the corpus the new baseline
	$(CARGO) build --release
	scripts/regress --update

paper: setup ## the papers' tables, figures and claims beside ours: docs/reproduction.md (about an hour, resumable)
	$(CARGO) build --release
	scripts/paper
