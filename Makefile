# make demo   installs missing dependencies, builds in release mode, and runs the main scenario.
# make test   lint, build, every test: what CI runs.
# make explore       carries out every order of seven events of a small world (EVENTS=n: of n events).
# make soak SEEDS=n  carries out random schedules of calls, deaths and faults in release mode; docs/schedules.md.
# make fuzz SECONDS=n  gives mutated bytes to everything that reads from the air or from the lock's flash, with libFuzzer.
# make test-outside  builds a package that depends on the products, as an app's own package does; minutes.
# make test-systemd  Latchkey under a booted systemd, with 1,000 kills; needs root.
# make test-bluez  runs the suite of BlueZ behaviour on the simulator and on bluetoothd; prints the differences.
#             AGAIN=1 runs only those on bluetoothd that have no good result from an earlier run.
# make vm     builds the image of the virtual machines, once; see docs/machines.md.
# make test-air  tests only the radio link between virtual machines; seconds.
# make test-warp five days away on a real kernel's clock, in one virtual machine; minutes.
# make test-vm  the scenarios on two virtual machines with real BlueZ, with the packages installed; an hour or two.
# make test-vm-apps  three stories of apps alone there: the rules of the background on the air, restoration, an L2CAP channel; half an hour.
# make test-pairing  `latchkey pair` on two virtual machines, with a question to both users; minutes, after `make deb`.
# make test-doctor  `latchkey doctor` on two virtual machines: the faults that are made are named, and mended by its commands.
# make test-power-cut  cuts a machine's power 30 times, right after answers; half an hour.
# make test-disk-cut  the same on a separate file system, without a machine; needs root; minutes.
# make firmware  cross-compiles the lock's firmware for a Cortex-M4, reports its sizes, and runs it in QEMU; minutes.
# make docs  the documentation of both products, in .build/docs.
# make bench  measures, and writes Benchmarks/results.
# make bench-check  measures ratios, and fails if one got worse by a tenth.
# make bench-vm  compares Latchkey's agent with a bleak program, on virtual machines; see Benchmarks/README.md.
# make deb    builds the Debian packages into .build/packages.
# make test-deb  installs, removes and purges them in Debian 12 and Debian 13; needs root.
# make lint   checks the format and the imports.
# make clean  removes what was built.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := demo

SWIFT ?= swift
DEMO_ARGUMENTS ?=
SEEDS ?= 1000
SECONDS_AT_LEAST ?= 0
SOAK_ARGUMENTS ?=
WARP_ARGUMENTS ?=
POWER_CUT_ARGUMENTS ?=
DISK_CUT_ARGUMENTS ?=
BENCH_ARGUMENTS ?=
# The time limit of the tests: twice what they need on two processors.
TEST_LIMIT_SECONDS ?= 1800
# How many tests run at once. All at once, some would get no processor for minutes, and those that meet real deadlines, as that
# of a device that bluetoothd forgets after 30 s, would fail by chance.
TEST_WIDTH ?= 6

.PHONY: demo test soak explore fuzz test-systemd vm test-air test-vm test-warp bench bench-check deb test-deb lint clean
.PHONY: firmware docs test-outside bench-vm test-vm-apps test-bluez test-doctor test-pairing test-power-cut test-disk-cut dependencies test-dependencies package-dependencies

demo: dependencies
	$(SWIFT) build -c release --product latchkeyd
	$(SWIFT) build -c release --product bluez-simulator
	$(SWIFT) build -c release --product latchkey-lock
	$(SWIFT) build -c release --product latchkey-agent
	$(SWIFT) build -c release --product latchkey
	"$$($(SWIFT) build -c release --show-bin-path)/latchkey" prove days-away --html .build/days-away.html $(DEMO_ARGUMENTS)

test: test-dependencies lint
	$(SWIFT) build --build-tests
	scripts/check-products "$$($(SWIFT) build --show-bin-path)"
	$(MAKE) soak SEEDS=250
	$(MAKE) explore EVENTS=3
	scripts/run-tests $(TEST_LIMIT_SECONDS) $(SWIFT) test --skip-build \
	  --experimental-maximum-parallelization-width $(TEST_WIDTH)

# At least so many seeds, and as many as those seconds hold.
soak: dependencies
	$(SWIFT) build -c release --product schedule-soak
	"$$($(SWIFT) build -c release --show-bin-path)/schedule-soak" --seeds $(SEEDS) --seconds $(SECONDS_AT_LEAST) $(SOAK_ARGUMENTS)

# Every order of so many events of a small world.
EVENTS ?= 7
explore: dependencies
	$(SWIFT) build -c release --product schedule-soak
	"$$($(SWIFT) build -c release --show-bin-path)/schedule-soak" --exhaustive $(EVENTS)

fuzz:
	scripts/fuzz $(or $(SECONDS),$(error fuzz: SECONDS=n is missing))

test-outside: test-dependencies
	SWIFT="$(SWIFT)" scripts/check-outside-package

test-systemd: test-dependencies
	$(SWIFT) build --build-tests
	LATCHKEY_KILLS=$${LATCHKEY_KILLS:-1000} $(SWIFT) test --skip-build --filter SystemdTests

vm:
	@scripts/install-dependencies.sh vm
	scripts/vm/build-image

test-bluez: vm
	$(SWIFT) build --product bluez-simulator
	$(SWIFT) build --product bluez-conformance
	scripts/vm/test-bluez $(if $(AGAIN),--again) "$$($(SWIFT) build --show-bin-path)" .build/test-bluez

test-air:
	@scripts/install-dependencies.sh vm
	scripts/vm/install-python >/dev/null
	scripts/vm/test_air.py

test-warp: dependencies test-air vm
	compgen -G '.build/packages/latchkeyd_*.deb' >/dev/null || $(MAKE) deb
	$(SWIFT) build --product latchkey
	scripts/vm/test-warp $(WARP_ARGUMENTS)

test-vm-apps: dependencies vm deb
	$(SWIFT) build --product latchkey
	$(SWIFT) build --product trial-app
	$(SWIFT) build --product picture-sender
	$(SWIFT) build --product picture-receiver
	scripts/vm/test-machines scripts/vm/stories/{background,restoration}.yaml Examples/PictureSender/story.yaml

test-vm: dependencies vm deb
	$(SWIFT) build --product latchkey
	scripts/vm/test-machines

test-disk-cut: test-dependencies
	for product in latchkeyd latchkey-lock latchkey bluez-simulator; do $(SWIFT) build --product "$$product"; done
	scripts/test-power-cut --programs "$$($(SWIFT) build --show-bin-path)" $(DISK_CUT_ARGUMENTS)

test-power-cut: vm
	scripts/vm/install-python >/dev/null
	compgen -G '.build/packages/latchkeyd_*.deb' >/dev/null || $(MAKE) deb
	scripts/vm/test-power-cut $(POWER_CUT_ARGUMENTS)

test-doctor: vm
	compgen -G '.build/packages/latchkeyd_*.deb' >/dev/null || $(MAKE) deb
	scripts/vm/test-doctor

test-pairing: vm
	scripts/vm/test-pairing

# The benchmarks run the story with its real processes, so they need all of its programs.
BENCH_PROGRAMS := latchkeyd bluez-simulator latchkey-lock latchkey-agent latchkey latchkey-bench

bench: dependencies test-dependencies
	for program in $(BENCH_PROGRAMS); do $(SWIFT) build -c release --product "$$program"; done
	mkdir -p Benchmarks/results
	"$$($(SWIFT) build -c release --show-bin-path)/latchkey-bench" \
	  --last Benchmarks/results/latest.json | tee Benchmarks/results/latest.md

bench-check: dependencies
	for program in $(BENCH_PROGRAMS); do $(SWIFT) build -c release --product "$$program"; done
	"$$($(SWIFT) build -c release --show-bin-path)/latchkey-bench" --baseline Benchmarks/baseline.json $(BENCH_ARGUMENTS)

# After `make deb`.
bench-vm: dependencies
	@scripts/install-dependencies.sh vm
	mkdir -p Benchmarks/results
	python3 Benchmarks/bleak-unlock/compare.py $(BENCH_ARGUMENTS) --json Benchmarks/results/bleak-unlock.json | tee Benchmarks/results/bleak-unlock.md

deb: package-dependencies
	scripts/build-packages

test-deb: package-dependencies test-dependencies
	scripts/test-packages
	scripts/with-systemd --bind $(CURDIR)/.build/packages:/packages --bind $(CURDIR)/scripts:/scripts -- \
	  /scripts/test-packages.booted

firmware: test-dependencies
	scripts/firmware

lint:
	$(SWIFT) format lint --strict -r Sources Tests Benchmarks Examples lockfirmware-sim Package.swift
	scripts/check-imports
	scripts/generate-api-uses --check

# Writes .build/docs/CoreBluetooth and .build/docs/CoreBluetoothTestKit, for any web server.
docs: dependencies
	mkdir -p .build/docs
	for product in CoreBluetooth CoreBluetoothTestKit; do \
	  $(SWIFT) package --allow-writing-to-directory .build/docs generate-documentation --target $$product \
	    --warnings-as-errors --transform-for-static-hosting --hosting-base-path $$product \
	    --output-path .build/docs/$$product || exit 1; \
	done

dependencies:
	@scripts/install-dependencies.sh

test-dependencies:
	@scripts/install-dependencies.sh tests

package-dependencies:
	@scripts/install-dependencies.sh packages

clean:
	$(SWIFT) package clean
	rm -rf Benchmarks/results
