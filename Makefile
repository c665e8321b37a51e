# Everything a contributor types. `make help` lists it.

VERSION    ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT     ?= $(shell git rev-parse HEAD 2>/dev/null)
IMAGE      ?= fairlead:$(VERSION)
REPOSITORY ?= ghcr.io/fairlead-dev/fairlead
FUZZTIME   ?= 30s
BIN        := $(CURDIR)/bin
KUBECTL    ?= kubectl
OVERLAY    ?= config/default
KUBECONFIG ?=
KUBERNETES ?=

# Tools, pinned. `go run` builds each once and keeps it in the build cache.
CONTROLLER_GEN := go run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0
KUSTOMIZE      := go run sigs.k8s.io/kustomize/kustomize/v5@v5.8.1
CRANE          := go run github.com/google/go-containerregistry/cmd/crane@v0.22.1
GOVULNCHECK    := go run golang.org/x/vuln/cmd/govulncheck@v1.9.0
HUGO           := go run github.com/gohugoio/hugo@v0.165.0
HELM           := go run helm.sh/helm/v4/cmd/helm@v4.3.1
MERMAID        := mermaid@12.3.0
AXE            := axe-core@4.14.1
GOLANGCI_LINT  := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
ACTIONLINT     := go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
COSIGN         := go run github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3
ORAS           := go run oras.land/oras/cmd/oras@v1.3.6
# Vetting is left to lint.
GOTESTSUM       = go run gotest.tools/gotestsum@v1.13.0 --format=standard-quiet --packages="$(PACKAGES)" -- $(GOFLAGS) $(TAGS) -vet=off
PACKAGES       := ./...

# One set of flags for every build, so that all share the build cache.
GOFLAGS  := -trimpath
LDFLAGS  := -s -w -X github.com/fairlead-dev/fairlead/cmd/fairlead/version.Version=$(VERSION) -X github.com/fairlead-dev/fairlead/cmd/fairlead/version.Commit=$(COMMIT)
MODULES  := . test test/cluster test/certmanager test/argocd test/argorollouts test/chart test/definitions test/monitoring test/install test/browser test/databases
export CGO_ENABLED = 0
export FAIRLEAD_KUBERNETES = $(KUBERNETES)
# What rapid generates has the seed of the samples, so that a run can be repeated; a long run draws its own.
export RAPID_SEED       ?= $(if $(FAIRLEAD_TEST_LONG),0,$(or $(FAIRLEAD_TEST_SEED),$(shell date -u +%Y%m%d)))
export RAPID_NOFAILFILE ?= true

.DEFAULT_GOAL := help

##@ Try it

.PHONY: run
run: build ## Start a local control plane and the operator, apply the samples, stay until Ctrl-C. KUBECONFIG=<path> uses that cluster instead.
	@cd test && go build $(GOFLAGS) -o $(BIN)/fairlead-run ./cmd/run
	@$(BIN)/fairlead-run --root=$(CURDIR) --kubeconfig="$(KUBECONFIG)"

.PHONY: demo
demo: ## Tell the story of Fairlead in checked steps, on a control plane of its own.
	@cd test && go build $(GOFLAGS) -o $(BIN)/fairlead-demo ./cmd/demo
	@$(BIN)/fairlead-demo --root=$(CURDIR)

##@ Develop

.PHONY: build
build: ## Build bin/fairlead.
	@go build $(GOFLAGS) -ldflags "$(LDFLAGS)" -o $(BIN)/fairlead ./cmd/fairlead

.PHONY: control-plane
control-plane: ## Build etcd, kubectl, kube-apiserver, -controller-manager and -scheduler, and kwok, once, into bin/. KUBERNETES=1.36 builds, runs and tests that version.
	@cd test/cluster && go run $(GOFLAGS) ./cmd/localcluster -build

# Three rings. The doc.go of a suite says in which it is, and why; what a suite has for ring 3 is in files with the build tag
# nightly.

.PHONY: test-unit
test-unit: PACKAGES := ./cmd/fairlead/operator ./webhooks/server ./cmd/fairlead/elect ./internal/rules/rebootpolicy ./...
test-unit: ## Ring 1, three minutes: deciders, laws, rules, conversion, and the seeds of the fuzz tests.
	$(GOTESTSUM) -p 4 -timeout 20m

.PHONY: test
test: test-unit build control-plane ## Rings 1 and 2, a quarter of an hour: what a cluster of yours would break without.
	@$(MAKE) --no-print-directory test-suites test-install

.PHONY: test-all
test-all: export TAGS := -tags=nightly
test-all: test-unit build control-plane ## All rings: every test but those of test-browser and test-databases. FAIRLEAD_TEST_LONG=1 runs the whole of each matrix, FAIRLEAD_TEST_SEED=<date> the sample of another day.
	@cd test/argorollouts && GOFLAGS= go build -trimpath -ldflags="-s -w" -o $(BIN)/argorollouts github.com/argoproj/argo-rollouts/cmd/rollouts-controller
	@$(MAKE) --no-print-directory EVERY=./... test-suites test-modules

# Those that take longest begin first, and beside one that keeps a processor busy is one that waits.
SUITES := ./rebootpolicy ./lifecycle ./externalservice ./integration ./chaospod ./certificates ./crash ./guides ./histories
.PHONY: test-suites
test-suites: PACKAGES := $(SUITES) $(EVERY)
test-suites:
	cd test && $(GOTESTSUM) -ldflags=-w -count=1 -p 2 -timeout 60m

.PHONY: test-install
test-install:
	cd test/install && $(GOTESTSUM) -count=1 -timeout 30m

# They read files outside of their modules, and go test would not notice a change of these.
.PHONY: test-modules
test-modules: test-install
	cd test/chart && $(GOTESTSUM) -count=1
	cd test/definitions && $(GOTESTSUM) -count=1
	cd test/monitoring && $(GOTESTSUM) -count=1
	cd test/cluster && $(GOTESTSUM) -count=1

.PHONY: test-browser
test-browser: build control-plane ## Open the pages of fairlead ui in Chromium, which has to be installed. Its rules of accessibility are those of axe-core, which npm gets once.
	@test -e $(BIN)/axe/package/axe.min.js || { mkdir -p $(BIN)/axe && cd $(BIN)/axe && npm pack --silent $(AXE) && tar -xzf axe-core-*.tgz package/axe.min.js && rm axe-core-*.tgz; }
	cd test/browser && $(GOTESTSUM) -ldflags=-w -count=1

.PHONY: test-databases
test-databases: build control-plane ## Fail PostgreSQL, MariaDB and Redis over under a client that writes, and print what it costs. Needs Linux, and Debian's postgresql, mariadb-server and redis-server.
	cd test/databases && go test $(GOFLAGS) -vet=off -ldflags=-w -count=1 -timeout 30m -v .

.PHONY: test-reloader
test-reloader: build control-plane ## Run the end-to-end suite of stakater/Reloader, its code untouched, against the operator. RELOADER=<checkout>; REPLACE='MODULE=FOLDER' stands for a module that the proxy lacks; SUITE='--suites=core --focus=CronJob' runs a part.
	@cd test && go build $(GOFLAGS) -o $(BIN)/fairlead-test-reloader ./cmd/reloader
	@$(BIN)/fairlead-test-reloader --root=$(CURDIR) --checkout="$(RELOADER)" --replace="$(REPLACE)" $(SUITE)

.PHONY: bench-reloader
bench-reloader: build control-plane ## Measure the operator beside stakater/Reloader under the load of its scenarios; writes bin/bench-reloader.json. RELOADER and REPLACE as above; LOAD='--scenarios=S1,S4 --runs=1' is quicker.
	@cd test && go build $(GOFLAGS) -o $(BIN)/fairlead-bench-reloader ./cmd/reloaderload
	@$(BIN)/fairlead-bench-reloader --root=$(CURDIR) --checkout="$(RELOADER)" --replace="$(REPLACE)" --out=$(BIN)/bench-reloader.json $(LOAD)

.PHONY: fuzz
fuzz: ## Run every fuzz test for FUZZTIME each.
	@grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u | while read -r dir; do \
	  grep -ho '^func Fuzz[A-Za-z0-9_]*' $$dir/*_test.go | sed 's/^func //' | while read -r name; do \
	    echo "== $$dir $$name"; go test $(GOFLAGS) -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$dir || exit 1; \
	  done || exit 1; \
	done

.PHONY: soak
soak: build control-plane ## Send load through rotations, rollouts, handovers and outages, and count what is lost; writes bin/soak.json. SOAK='--requests=1000' is quicker.
	@cd test && go run $(GOFLAGS) ./cmd/soak --root=$(CURDIR) --out=$(BIN)/soak.json $(SOAK)

.PHONY: e2e
e2e: build control-plane ## Install the chart and roll the real image on a real node under load, which takes root and Linux; writes bin/e2e.json.
	@cd test && go build $(GOFLAGS) -o $(BIN)/fairlead-e2e ./node/cmd/e2e
	@$(BIN)/fairlead-e2e --root=$(CURDIR) --out=$(BIN)/e2e.json $(E2E)

.PHONY: bench
bench: build ## Measure webhooks beside stock handlers, 10,000 ExternalServices, 4,000 Secrets, a move from Reloader; writes bin/bench.json. BENCH='--probe-objects=300 --restart-workloads=50 --move-workloads=50 --move-secrets=100' is quicker.
	@cd test && go run $(GOFLAGS) ./cmd/bench --root=$(CURDIR) --out=$(BIN)/bench.json $(BENCH)

.PHONY: lint
lint: ## Run golangci-lint over every module, actionlint over the workflows, and helm lint over the chart.
	@$(ACTIONLINT)
	@$(HELM) lint --strict --quiet charts/fairlead
	@for m in $(MODULES); do echo "== $$m"; (cd $$m && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml ./...) || exit 1; done

.PHONY: generate
generate: ## Regenerate deep copies, CRDs, roles, charts/fairlead, and the references of values and reasons.
	@$(CONTROLLER_GEN) object:headerFile=internal/boilerplate.go.txt paths=./api/... paths=./cmd/fairlead/options/...
	@$(CONTROLLER_GEN) crd:maxDescLen=400,generateEmbeddedObjectMeta=true paths=./api/... output:crd:dir=config/crd/bases
	@cd test && go run $(GOFLAGS) ./cmd/crds ../config/crd/bases/*.yaml
	@$(CONTROLLER_GEN) rbac:roleName=fairlead-manager paths=./controllers paths=./cmd/fairlead/operator/... paths=./certs/... output:rbac:dir=config/rbac
	@for kind in externalservice rebootpolicy clusterrebootpolicy chaospod; do \
	  $(CONTROLLER_GEN) rbac:roleName=fairlead-$$kind-manager,fileName=$${kind}_manager_role.yaml paths=./controllers/$$kind/... output:rbac:dir=config/rbac || exit 1; \
	done
	@go test $(GOFLAGS) -count=1 ./config -run 'TestTheSchemaOfTheChart|TestHardening' -update >/dev/null
	@cd test/chart && go test $(GOFLAGS) -count=1 . -run TestTheChartInGit -update >/dev/null
	@cd test && go test $(GOFLAGS) -count=1 ./repo -run EveryReason -update >/dev/null

.PHONY: verify
verify: ## Prove that generated files, formatting and modules are current.
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt would change: $$(gofmt -l $$(git ls-files '*.go'))"; exit 1; }
	@before=$$(git status --porcelain; git diff | cksum); $(MAKE) --no-print-directory generate; \
	  test "$$before" = "$$(git status --porcelain; git diff | cksum)" || { echo "generated files are stale: run 'make generate'"; git status --short; exit 1; }
	@for m in $(MODULES); do (cd $$m && go mod tidy -diff >/dev/null && go vet -tags=nightly ./...) || { echo "$$m: go mod tidy or go vet"; exit 1; }; done

##@ Install

.PHONY: install
install: ## Install the CRDs into the cluster of your kubeconfig.
	$(KUSTOMIZE) build config/crd | $(KUBECTL) apply --server-side -f -

.PHONY: uninstall
uninstall: ## Remove the CRDs, and with them every object of their kinds.
	$(KUSTOMIZE) build config/crd | $(KUBECTL) delete --ignore-not-found -f -

.PHONY: deploy
deploy: ## Deploy the operator with image IMAGE into the cluster of your kubeconfig. OVERLAY=config/split runs webhooks and reconcilers in processes of their own.
	$(KUSTOMIZE) build $(OVERLAY) | sed 's|image: fairlead:latest|image: $(IMAGE)|' | $(KUBECTL) apply --server-side -f -

.PHONY: undeploy
undeploy: uninstall ## Remove the CRDs, and then the operator: it must still be there to let go of its objects.
	$(KUSTOMIZE) build $(OVERLAY) | $(KUBECTL) delete --ignore-not-found -f -

.PHONY: dist
dist: ## Write the Helm chart and install.yaml of VERSION to dist/, for the image repository IMAGE names.
	@cd test/chart && go run $(GOFLAGS) ./cmd/dist --config=$(CURDIR)/config --out=$(CURDIR)/dist --version=$(VERSION) --image=$(firstword $(subst :$(VERSION), ,$(IMAGE)))

.PHONY: docker-build
docker-build: ## Build the image IMAGE.
	docker build --build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT) -t $(IMAGE) .

##@ Release

.PHONY: site
site: ## Write the documentation as a site to dist/site. Diagrams are drawn by Mermaid, which npm gets once.
	@test -e $(BIN)/site/package/dist/mermaid.min.js || { mkdir -p $(BIN)/site && cd $(BIN)/site && npm pack --silent $(MERMAID) && tar -xzf mermaid-*.tgz package/dist/mermaid.min.js && rm mermaid-*.tgz; }
	$(HUGO) --source docs/site --destination $(CURDIR)/dist/site --cleanDestinationDir --quiet --panicOnWarning

.PHONY: image-check
image-check: ## Build the image twice, without a container engine, compare the bytes and look at what is inside.
	@cd test && go run $(GOFLAGS) ./cmd/imagecheck --root=$(CURDIR)

.PHONY: release
release: ## Write all that the release VERSION has to dist/, which is emptied: image, chart, archives, schemas, SBOM, notes, checksums. PLATFORMS='linux-amd64 darwin-arm64' builds for these alone.
	@rm -rf dist
	@cd test && go run $(GOFLAGS) ./cmd/release --root=$(CURDIR) --out=$(CURDIR)/dist --version=$(VERSION) --image=$(REPOSITORY) --platforms="$(PLATFORMS)"

.PHONY: registry-login
registry-login:
	@test -z "$$REGISTRY_TOKEN" || printenv REGISTRY_TOKEN | $(CRANE) auth login $(firstword $(subst /, ,$(REPOSITORY))) --username "$$REGISTRY_USER" --password-stdin

.PHONY: push
push: registry-login ## Push the image in dist/ to REPOSITORY, and the chart beside it to charts/, with its metadata for Artifact Hub.
	@rm -rf $(BIN)/image && mkdir -p $(BIN)/image && tar -xf dist/fairlead-image.tar -C $(BIN)/image
	$(CRANE) push $(BIN)/image $(REPOSITORY):$(VERSION)
	$(HELM) push dist/fairlead-$(VERSION:v%=%).tgz oci://$(dir $(REPOSITORY))charts
	cd charts && $(ORAS) push $(dir $(REPOSITORY))charts/fairlead:artifacthub.io --config /dev/null:application/vnd.cncf.artifacthub.config.v1+yaml \
	  artifacthub-repo.yml:application/vnd.cncf.artifacthub.repository-metadata.layer.v1.yaml

.PHONY: sign
sign: registry-login ## Sign the image and the chart that were pushed, by their digests, with the identity of the workflow or of who types it.
	@for subject in dist/SUBJECT-*; do read -r digest name < $$subject && $(COSIGN) sign --yes $$name@sha256:$$digest || exit 1; done

.PHONY: publish
publish: ## Make a release of VERSION on GitHub with the files in dist/; takes gh.
	gh release create $(VERSION) --verify-tag $(if $(findstring -,$(VERSION)),--prerelease) --title $(VERSION) --notes-file dist/NOTES.md dist/*

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in what the operator calls; asks vuln.go.dev.
	$(GOVULNCHECK) ./...

##@ Other

.PHONY: clean
clean: ## Remove what was built, except the control plane.
	@find $(BIN) -maxdepth 1 -type f -delete 2>/dev/null || true

.PHONY: help
help: ## List these targets.
	@awk 'BEGIN {FS = ":.*##"} /^##@/ {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)} \
	  /^[a-z0-9-]+:.*##/ {printf "  \033[36m%-17s\033[0m%s\n", $$1, $$2}' $(MAKEFILE_LIST)
