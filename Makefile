# The commands of daily work; `make help` lists them. Everything here works in a fresh clone on Debian 12 with a Swift
# toolchain: what is missing is installed first (scripts/dependencies).

SOURCES := Package.swift Sources Samples Tests Fuzz loadtest
# make fuzz: seconds for each target, or minutes, and which (all of them when empty). make soak: minutes.
SECONDS ?= 30
MINUTES ?=
TARGETS ?=
TURNS ?= 1
QUIET ?= 1
# make crash: how often. make test does it a hundred times, and make sanitize, whose programs are slow, ten times.
CRASHES ?= 1000
# make events: how many. make test sends 20,000.
EVENTS ?= 1000000
# make bare: the folder of the chroot, and what to do in it.
FOLDER ?= /var/tmp/roost-bare
COMMAND ?= make test
# One set of flags for whatever is built for release: another set would build everything again.
RELEASE := --configuration release --static-swift-stdlib
# Symbols of the sanitizers are more than gold takes.
LLD := -Xswiftc -use-ld=lld
ASAN := --sanitize=address --scratch-path .build/asan $(LLD)
TSAN := --sanitize=thread --scratch-path .build/tsan $(LLD)
# make loadtest: which of loadtest/scenarios, and further words for the program (loadtest --help).
SCENARIO ?= video16
ARGUMENTS ?=
# make first-frame: joins of each server.
JOINS ?= 30

.DEFAULT_GOAL := help
.PHONY: help run build test check swift-test sample instructions rules-cost browser-test stacks-test stacks loadtest bench compare first-frame badnet growth devices networks cluster cluster-short overload windows rooms-per-core profile loadtest-build lint wire format crash sanitize fuzz fuzz-short soak bare clean floods doors call-beside moves events hooks-cost messages

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## build and serve; prints the URL to open (CONFIG=FILE for another rooms.yaml)
	@exec .build/release/roost serve $(if $(CONFIG),--config $(CONFIG))

build: ## build the release program: .build/release/roost
	@scripts/dependencies build
	swift build $(RELEASE) --product roost

test: ## run all tests: unit, scenario, cost of a packet, nodes of a cluster in virtual time, browser
	@scripts/parts swift-test loadtest-build instructions cluster-short browser-test

swift-test: ## run the Swift tests (FILTER=NAME for some)
	@scripts/dependencies build test
	@scripts/swift-test $(if $(FILTER),'$(FILTER)')

check: ## check what has changed, from a warm build in two minutes: format, and the tests of its targets that only compute (BASE=COMMIT: since then)
	@scripts/dependencies build
	@scripts/check $(BASE)

# What the sample needs is built for the tests already. Its own few files are compiled again: the two packages hold them to other rules.
sample: ## build the sample of an app on a phone as the package that an app copies (Samples/Phone), on what is built for tests
	@scripts/dependencies build
	swift build --package-path Samples/Phone --scratch-path $(CURDIR)/.build

instructions: loadtest-build ## count the instructions of forwarding a packet, of a join, a call and a hello, and hold them against their limits
	@scripts/dependencies build test
	@scripts/instructions .build/release/forward-bench
	@scripts/rules-cost .build/release/rules-bench

rules-cost: loadtest-build ## count the instructions of a join, a call and a hello, and hold them against their limits (EARLIER=PROGRAM: another build of rules-bench, to compare with)
	@scripts/dependencies build test
	@scripts/rules-cost .build/release/rules-bench $(EARLIER)

browser-test: loadtest-build ## run the browser tests (PYTEST=ARGUMENTS)
	@scripts/dependencies build test compare badnet
	@scripts/janus .build/janus
ifdef PYTEST
	.venv/bin/python -m pytest Tests/browser --ignore-glob '*/test_other_stacks*.py' $(PYTEST)
else
	.venv/bin/python -m pytest Tests/browser --ignore-glob '*/test_other_stacks*.py' -m 'not alone' --numprocesses 2 --dist loadfile
	@scripts/alone-tests
	@$(MAKE) --no-print-directory stacks-test
endif

messages: build ## sixteen people send each other forty custom messages a second, 100,000 deliveries: each once, in order, p99 at most 20 ms, without media (half a minute)
	@scripts/dependencies build test
	ROOST_MESSAGES_P99=20 .venv/bin/python -m pytest Tests/browser/test_messages.py -k hundred_thousand -s

stacks-test: build ## run the tests with GStreamer, Pion and aiortc: in rooms, by WHIP and by WHEP
	@scripts/dependencies build test compare
	@scripts/pion .build/stacks/pion
ifdef PYTEST
	scripts/private-network .venv/bin/python -m pytest Tests/browser/test_other_stacks*.py $(PYTEST)
else
	@scripts/stacks-tests
endif

stacks: build ## FFmpeg 8 before three Chromiums, and each stack alone in a room, first, second and with five others, 60 s each (half an hour; ARGUMENTS="--seconds 10 --only FFmpeg,Pion,five"); out/stacks
	@scripts/dependencies build test compare
	scripts/private-network .venv/bin/python Tests/browser/matrix/matrix.py \
	  --json out/stacks/stacks.json $(ARGUMENTS)

# All at once: one after the other, the last modules of each would be compiled on one core while the other has nothing to do. Tests run these
# programs as users do; besides, a build for release looks at a whole module at once, and finds other errors.
loadtest-build:
	@scripts/dependencies build
	ROOST_PART=roost,loadtest,forward-bench,rules-bench,cluster swift build $(RELEASE)
	@mkdir -p out/loadtest

loadtest: loadtest-build ## fill a server with synthetic people (SCENARIO=video16, ARGUMENTS="--server URL" ...)
	.build/release/loadtest --scenario $(SCENARIO) --json out/loadtest/$(SCENARIO).json --html out/loadtest/$(SCENARIO).html \
	  $(ARGUMENTS)

bench: loadtest-build ## what a forwarded packet costs, medians of three rounds, and how many rooms a worker carries (a quarter of an hour); pages in out/bench
	.build/release/loadtest --bench out/bench $(ARGUMENTS)

compare: loadtest-build ## what a packet costs Roost, and Debian's Janus under the same load (nine minutes); figures in out/compare
	@scripts/dependencies build compare
	@scripts/janus .build/janus
	scripts/private-network .build/release/loadtest --compare out/compare --janus .build/janus $(ARGUMENTS)

doors: loadtest-build ## what a packet costs by WHEP and by Flashphoner's room API, beside the native door (six minutes); figures in out/doors
	.build/release/loadtest --doors out/doors $(ARGUMENTS)

call-beside: ## hold the time that a call takes to be set up beside 500 people of Flashphoner's room API against that without them (a minute, from a warm build)
	ROOST_CALL_BESIDE=1 scripts/swift-test CallBesideCrowdTests

moves: loadtest-build ## how soon thirty people who are moved to five rooms and back, ten times, see those there (two minutes); figures in out/moves
	.build/release/loadtest --moves out/moves $(ARGUMENTS)

overload: loadtest-build ## what a worker does that cannot send all: pictures step down, sound stays whole, newcomers are refused (three minutes; EARLIER=PROGRAM: another build of roost, to compare with)
	Tests/overload/overload.py .build/release/roost $(EARLIER)

first-frame: build ## how long somebody who comes late waits for the first picture, in Chromium; in a room of Debian's Janus too (JOINS=30; ARGUMENTS=--trace shows each step)
	@scripts/dependencies build test compare
	@scripts/janus .build/janus
	scripts/private-network .venv/bin/python Tests/browser/first_frame.py --joins $(JOINS) \
	  --janus .build/janus --address 198.51.100.1 --json out/first-frame/first-frame.json --open 21 $(ARGUMENTS)

badnet: build ## hold Roost against bars on bad lines, in Chromium, with Debian's Janus beside it (about two hours; ARGUMENTS="--only C1,C2 --short"); figures in out/badnet
	@scripts/dependencies build test badnet
	@scripts/janus .build/janus
	.venv/bin/python Tests/browser/badnet/badnet.py --janus .build/janus --json out/badnet/badnet.json \
	  $(ARGUMENTS)

hooks-cost: ## what others pay for an application that hangs, lies and fails: p99 of their requests, medians of five pairs (four minutes)
	ROOST_HOOK_PAIRS=$(or $(PAIRS),5) ROOST_HOOK_SECONDS=$(or $(SECONDS_EACH),20) scripts/swift-test HookCostTests

growth: loadtest-build ## chart what a packet costs as rooms and people become more, and what waiting devices cost; page in out/growth
	.build/release/loadtest --growth out/growth $(ARGUMENTS)

devices: loadtest-build ## hold 15,000 waiting devices and the calls between them against their bars (five minutes); figures in out/devices
	.build/release/loadtest --devices out/devices $(ARGUMENTS)

networks: ## hold the bandwidth estimator and the worker against their bars on emulated networks (a minute, from a warm build); figures and charts in out/networks
	@scripts/dependencies build
	swift build $(RELEASE) --product networks
	@mkdir -p out/networks
	.build/release/networks --json out/networks/networks.json --charts out/networks $(ARGUMENTS)
	ROOST_NETWORKS=$(CURDIR)/out/networks/networks.json $(MAKE) swift-test FILTER=NeighbourTests

cluster: ## hold nodes of a cluster against their bars in virtual time, where everything fails (a minute, from a warm build; ARGUMENTS="--seed 7" for one run and all about it)
	@scripts/dependencies build
	swift build $(RELEASE) --product cluster
	.build/release/cluster $(ARGUMENTS)

# What `make test` runs of it: fewer and shorter runs.
cluster-short: loadtest-build
	.build/release/cluster --short

floods: loadtest-build ## flood a server with 30,000 datagrams a second of each kind, with rooms on it, in pairs with runs without (two hours; ARGUMENTS="--rounds 1 --duration 5" for a look); figures in out/floods
	.build/release/loadtest --floods out/floods $(ARGUMENTS)

windows: loadtest-build ## chart what packets that wait for company save, and how much later they are; page in out/windows
	.build/release/loadtest --windows out/windows $(ARGUMENTS)

rooms-per-core: loadtest-build ## how many rooms of sixteen one worker carries (ARGUMENTS="--rooms 3 --pin")
	.build/release/loadtest --rooms-per-core --json out/loadtest/rooms-per-core.json $(ARGUMENTS)

profile: loadtest-build ## where the CPU time of a forwarded packet goes (SCENARIO=video16; needs linux-perf)
	@scripts/dependencies build profile
	scripts/profile $(SCENARIO)

lint: ## check format and style, and that what is made of the protocol's declarations is current
	@scripts/dependencies build
	scripts/wire --check
	swift format lint --strict --parallel --recursive $(SOURCES)

wire: ## make what follows from the protocol's declarations: Swift, schema, types, tables
	@scripts/dependencies build
	scripts/wire

format: ## format the sources
	@scripts/dependencies build
	swift format --in-place --parallel --recursive $(SOURCES)

crash: ## kill -9 the server CRASHES=1000 times and look whether anything acknowledged is missing
	@scripts/dependencies build
	ROOST_CRASHES=$(CRASHES) scripts/swift-test 'CrashTests'

events: ## send EVENTS=1000000 webhook events to a receiver that fails at random, over ten restarts by kill -9, and look that each comes once and in order
	@scripts/dependencies build
	ROOST_EVENTS=$(EVENTS) scripts/swift-test 'EventsTests'

sanitize: ## run the Swift tests under AddressSanitizer, then under ThreadSanitizer (FILTER=NAME for some)
	@scripts/dependencies build test
	ROOST_CRASHES=10 LSAN_OPTIONS=suppressions=$(CURDIR)/scripts/leaks-of-others:print_suppressions=0 SWIFT_TEST_FLAGS='$(ASAN)' \
	  scripts/swift-test $(if $(FILTER),'$(FILTER)')
	ROOST_CRASHES=10 SWIFT_TEST_FLAGS='$(TSAN)' scripts/swift-test $(if $(FILTER),'$(FILTER)')

fuzz: ## run every fuzz target for SECONDS=30 or MINUTES=… each (TARGETS="yaml stun" for some; TURNS=15 QUIET=5: up to 15 turns, until 5 in a row bring no new edge)
	@scripts/dependencies build
	@TURNS=$(TURNS) QUIET=$(QUIET) scripts/fuzz $(if $(MINUTES),$$(($(MINUTES) * 60)),$(SECONDS)) $(TARGETS)

fuzz-short: ## run all fuzz targets, from their seeds, for two minutes in all once they are built (make fuzz: for longer)
	@scripts/dependencies build
	@scripts/fuzz --within 120

soak: loadtest-build ## let bad clients at a server for an hour (MINUTES=60), and look whether anything is left of them; figures in out/soak
	@scripts/dependencies build test
	.venv/bin/python Tests/browser/soak/soak.py \
	  --minutes $(or $(MINUTES),60) --json out/soak/soak.json $(ARGUMENTS)

bare: ## as root: COMMAND="make test" in a fresh clone on a bare Debian 12, in the chroot FOLDER=/var/tmp/roost-bare
	@scripts/bare-debian $(FOLDER) '$(COMMAND)'

clean: ## remove everything that was built
	rm -rf .build out .venv
