# The ways to build, test and measure Fairlead. `make` alone lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help check build test test-long lint vuln bench fuzz mutants kube kube-test judge karpenter perf shapes versions cluster images chart

BENCH ?= .
COUNT ?= 6
OUT ?= bench.txt
FUZZTIME ?= 20s
MUTANTS ?=
JUDGE ?=
PERF ?= --label short
VERSIONS ?=

LINT_VERSION := v2.15.0
LINT = $(shell go env GOPATH)/bin/golangci-lint-$(LINT_VERSION)
VULN_VERSION := v1.9.0
VULN = $(shell go env GOPATH)/bin/govulncheck-$(VULN_VERSION)

help: ## List the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' Makefile | expand -t 12

check: build test lint vuln ## What to run before a commit: build, test, lint, known vulnerabilities

build: ## Build every package, and the command into bin/
	go build ./...
	go build -o bin/ ./cmd/...

test: ## Test everything
	go test ./...

test-long: ## Test longer, with the race detector and the costly checks (up to an hour)
	FAIRLEAD_LONG=1 go test -race -tags invariants -timeout 60m ./...
	GOARCH=386 go test ./mcmf/...
	cd kube && FAIRLEAD_LONG=1 FAIRLEAD_CASES=10000 FAIRLEAD_TESTBED=require go test -timeout 60m ./...

lint: $(LINT) ## Check style and import policy with golangci-lint (installed on first use)
	$(LINT) run ./...
	cd kube && $(LINT) run ./...
	cd buckets && $(LINT) run ./...
	cd kube/deploy/image && $(LINT) run ./...

$(LINT):
	mkdir -p .cache $(@D)
	GOBIN=$(CURDIR)/.cache go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION) \
		2> >(grep -v '^go: downloading' >&2)
	mv .cache/golangci-lint $@

vuln: $(VULN) ## Look for known vulnerabilities with govulncheck (installed on first use; says so where its database cannot be reached)
	@.ci/vuln $(VULN)

$(VULN):
	mkdir -p .cache $(@D)
	GOBIN=$(CURDIR)/.cache go install golang.org/x/vuln/cmd/govulncheck@$(VULN_VERSION) \
		2> >(grep -v '^go: downloading' >&2)
	mv .cache/govulncheck $@

kube: ## Build the Kubernetes scheduler and its test bed into bin/
	cd kube && go build -o ../bin/ ./cmd/...

kube-test: kube ## Test the Kubernetes front end on a real control plane (the first time builds it: 10 minutes)
	cd kube && ../bin/fairlead-testbed build --kubelet --helm && FAIRLEAD_TESTBED=require go test -timeout 30m ./...

judge: kube ## Run Kubernetes' own tests of the scheduler against kube-scheduler and ours, as upstream has them and with pod groups (an hour and a half; the first time builds them); JUDGE='--focus Preemption' narrows
	cd kube && ../bin/fairlead-testbed judge --scheduler ../bin/fairlead-scheduler $(JUDGE)

karpenter: kube ## Test our scheduler beside Karpenter, which brings nodes and takes them back (20 minutes; the first time builds it)
	cd kube && ../bin/fairlead-testbed build --karpenter && FAIRLEAD_KARPENTER=require FAIRLEAD_TESTBED=require go test -run '^TestKarpenter' -timeout 60m -count 1 -v ./e2e

perf: kube ## Run the short workloads of Kubernetes' own benchmark of the scheduler, scheduler_perf, against ours (20 minutes); PERF='--label short --with kube-scheduler' chooses others
	cd kube && ../bin/fairlead-testbed perf --with fairlead $(PERF)

# Shapes of load for which upstream has a workload of 500 nodes or about, and those of kube/testbed/perf/shapes.
SHAPES := SchedulingBasic/500Nodes,SchedulingPodAntiAffinity/500Nodes,SchedulingPodAffinity/500Nodes,SchedulingPreferredPodAffinity/500Nodes,SchedulingPreferredPodAntiAffinity/500Nodes,$\
	SchedulingNodeAffinity/500Nodes,MixedSchedulingBasePod/500Nodes,TopologySpreading/500Nodes,PreferredTopologySpreading/500Nodes,SchedulingCSIPVs/500Nodes,$\
	SchedulingWithMixedChurn/1000Nodes,PreemptionAsync/500Nodes,Unschedulable/500Nodes/10Init/1kPods,SchedulingWithResourceClaimTemplate/2000pods_200nodes,$\
	DaemonSetPods/1000Nodes,SpreadOverHosts/1000Nodes,AffinityToAHost/1000Nodes,PreferredNodeAffinity/1000Nodes
shapes: kube ## Measure ours beside kube-scheduler and the cheapest scheduler there can be, five times in turns, on all shapes of load (50 minutes on an idle machine)
	cd kube && ../bin/fairlead-testbed perf --config misc,affinity,topology_spreading,volumes,default_preemption,dra,testbed/perf/shapes/performance-config.yaml \
		--workload $(SHAPES) --with floor,kube-scheduler,fairlead --rounds 5

versions: kube ## Test our scheduler on Kubernetes 1.35, 1.36 and 1.37, and write docs/bench/versions.md (an hour; the first time builds them: half an hour more); VERSIONS='--kubernetes v1.36.3' chooses others
	cd kube && ../bin/fairlead-testbed build && ../bin/fairlead-testbed versions $(VERSIONS)

images: ## Build the image of the scheduler for amd64 and arm64 into dist/image, without a daemon and a registry (10 minutes the first time); it prints the digest
	rm -rf dist/image
	cd kube/deploy/image && go run . --output $(CURDIR)/dist/image

chart: kube ## Check the Helm chart: lint, golden files, and that it is what the manifests are (the first time builds Helm, and a control plane)
	cd kube && ../bin/fairlead-testbed build --helm && FAIRLEAD_TESTBED=require go test ./deploy

cluster: kube ## Start a control plane with 1,000 fake nodes and our scheduler, until Ctrl-C
	cd kube && ../bin/fairlead-testbed up --nodes 1000 --tmpfs --controller-manager --scheduler ../bin/fairlead-scheduler

bench: ## Measure into OUT=bench.txt for benchstat; BENCH=regexp narrows, COUNT=6 repeats
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) ./... | tee $(OUT)

mutants: ## Change the source in one place at a time, and see whether the tests notice (30 minutes); MUTANTS='-only queue' narrows
	go run ./internal/mutants $(MUTANTS)

# Go before 1.27 may end a target's time with "context deadline exceeded" though
# nothing was found (golang/go#75804). That one failure gets a second try.
fuzz: ## Fuzz every target for FUZZTIME=20s each
	@targets=$$(grep -rHoE --include='*_test.go' --exclude-dir='.?*' --exclude-dir=testdata '^func Fuzz\w+' . | sort) \
		|| { echo 'no fuzz target found' >&2; exit 1; }; \
	log=$$(mktemp); trap 'rm -f "$$log"' EXIT; \
	while IFS=: read -r file func; do \
		fuzz=(go test -C "$$(dirname "$$file")" -run '^$$' -fuzz "^$${func#func }\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5x .); \
		echo "$${fuzz[*]}"; \
		"$${fuzz[@]}" 2>&1 | tee "$$log" && continue; \
		grep -q 'context deadline exceeded' "$$log" && ! grep -q 'Failing input written' "$$log" || exit 1; \
		echo 'again: the clock ran out (golang/go#75804)'; "$${fuzz[@]}"; \
	done <<< "$$targets"
