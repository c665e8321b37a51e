// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package guides

const (
	replaces = "replaces the installation that all pages share"
	noEngine = "takes a container engine and a registry"
	noGitOps = "takes the CRDs of Argo CD or Flux; test/gitops and test/argocd use their libraries"
	service  = "is for a service outside: GitHub, GitLab or pre-commit"
	resumes  = "lost-pods.md and rotated-credential.md run it, after a halt"
	release  = "takes the files of a release, which test/release makes and looks into"
)

// wholePages are those of which no block is run here.
var wholePages = map[string]string{
	"CONTRIBUTING.md":          "targets of make, one of which runs this test; test/repo looks them up",
	"docs/guides/real-node.md": "takes root and minutes: make e2e runs it",
	"docs/guides/uninstall.md": "test/install runs every block of it, and refuses one that it does not know",
}

// elsewhere has, for each page, how the blocks begin that are not run here, and why.
var elsewhere = map[string]map[string]string{
	"README.md": {
		"$ make run ":     "starts the control plane that this test runs on, and runs this test",
		"$ helm install ": "test/install installs the chart by the library of helm",
	},
	"docs/guides/availability.md": {"$ make soak\n": "takes half an hour: make soak runs it"},
	"docs/guides/cert-manager.md": {"cert-manager.io/inject-ca-from-secret: ": "an annotation; test/certmanager has it"},
	"docs/guides/certificates.md": {
		"$ fairlead rotate-ca ":                        "test/lifecycle replaces a root by it, and test/certificates follows the phases",
		"$ kubectl get secret fairlead-webhook-ca ":    "shows a phase of the same",
		"$ kubectl delete secret fairlead-webhook-ca ": "test/certificates does it, for all pages at once it would take minutes",
	},
	"docs/guides/chaos.md": {"$ fairlead retry ": resumes},
	"docs/guides/convert.md": {
		"- repo: local\n": service,
		"#!/bin/sh\n":     "a file, which kubectl calls with arguments",
		"$ ln -s ":        "writes to a folder of the machine",
	},
	"docs/guides/elect.md":             {"$ fairlead elect ": "runs until it is ended; test/lifecycle has the command under this Role"},
	"docs/guides/external-services.md": {"$ fairlead failback ": "database-failover.md runs it, after a failover"},
	"docs/guides/game-days.md":         {"$ kubectl -n shop get externalservice billing-db -o yaml\n": "test/externalservice compares what a fault has done to dependants"},
	"docs/guides/gitops.md": {
		"- uses: ": service,
		"# kustomization.yaml\nresources: [<Argo CD's install.yaml>]":                        noGitOps,
		"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: fairlead\n": noGitOps,
		"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: shop\n":     noGitOps,
		"$ helm push ": release,
		"apiVersion: source.toolkit.fluxcd.io/v1\n":    noGitOps,
		"apiVersion: kustomize.toolkit.fluxcd.io/v1\n": noGitOps,
	},
	"docs/guides/hardening.md": {
		"# /etc/kubernetes/admission/configuration.yaml\n": "test/lifecycle gives it to an API server",
		"# /etc/kubernetes/admission/kubeconfig.yaml\n":    "test/lifecycle gives it to an API server",
	},
	"docs/guides/high-availability.md": {
		"$ kubectl apply --server-side -k . --selector ": "test/lifecycle and make e2e do it",
		"$ kubectl apply --server-side -k .\n":           "make e2e does it",
	},
	"docs/guides/install.md": {
		"$ mkdir image ":                                release,
		"$ helm install ":                               "test/install installs the chart by the library of helm",
		"$ helm uninstall ":                             "test/chart renders the chart for a release that moved",
		"$ kubectl apply --server-side -k .\n":          replaces,
		"$ kubectl apply --server-side -f dist/install": replaces,
		"$ for crd in ":                                 "test/install runs it",
		"$ fairlead check":                              "test/install runs it against a whole installation",
	},
	"docs/guides/leader-election.md": {"$ kubectl delete pod fairlead-manager-": "takes away the node of a pod; test/lifecycle does it"},
	"docs/guides/monitoring.md": {
		"scrape_configs:\n":                          "a configuration of Prometheus, which is not here",
		"$ kubectl -n fairlead-system port-forward ": "the replicas are processes of this host, and not pods; test/integration sets the level",
	},
	"docs/guides/kinds.md": {
		"$ helm install ":                     "test/install installs the chart by the library of helm",
		"$ kubectl delete crd ":               "test/profiles takes a kind out of a cluster of its own, by these commands",
		"$ kubectl delete --ignore-not-found": "test/profiles takes a kind out of a cluster of its own, by these commands",
	},
	"docs/guides/namespaced.md": {
		"$ helm install ": "test/install installs the chart by the library of helm",
		"$ bundle=":       "test/profiles publishes the authority of such an installation",
	},
	"docs/guides/quick-start.md": {
		"$ make release ": release,
		"$ kind create ":  noEngine,
		"$ helm install ": "test/install installs the chart by the library of helm",
		"$ kind delete ":  noEngine,
	},
	"docs/guides/restarts.md": {
		"$ fairlead retry ":           resumes,
		"$ kubectl fairlead approve ": "has an id that was made up; test/rebootpolicy approves restarts",
	},
	"docs/guides/service-meshes.md":  {"$ nc ": "runs in a pod of a mesh"},
	"docs/guides/troubleshooting.md": {"$ kubectl -n fairlead-system port-forward ": "the replicas are processes of this host, and not pods"},
	"docs/guides/vet.md": {
		"$ fairlead vet --live --context=production\n": "shows objects that no API server stores any more; test/integration puts such into etcd",
		"# fairlead:ignore ":                              "an excerpt; tests of cmd/fairlead/vet have such comments",
		"- uses: ":                                        service,
		"vet:\n":                                          service,
		"repos:\n":                                        service,
	},
	"docs/reference/releases.md": {
		"$ sha256sum ":            release,
		"$ git checkout ":         release,
		"$ kubeconform ":          release,
		"# yaml-language-server:": release,
	},
}
