// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	database = `endpoints: [{name: a, addresses: [192.0.2.20]}], ports: [{name: sql, port: 5432}]`
	restarts = `targets: [{kind: Deployment, name: web}], triggers: [{name: config, type: ConfigChange}],
		debounce: {quietPeriod: 1s}, cooldown: 0s, verification: {soak: 1s, timeout: 2m}`
	kills  = `dryRun: false, target: {workload: {kind: Deployment, name: web}}, schedule: {cron: "0 0 29 2 *"}, filter: {minAge: 0s}, verification: {soak: 1s}`
	canary = `dryRun: false, target: {template: {metadata: {labels: {app: canary}}, spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: none}]}}},
		schedule: {cron: "0 0 29 2 *"}`

	deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}},
		spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: none, envFrom: [{secretRef: {name: creds}}]}]}}}}`

	reason = `{.status.conditions[?(@.type=="Ready")].reason}`
	ready  = `{.status.conditions[?(@.type=="Ready")].status}`
)

// inCluster are the resources without a namespace that an operator of some namespaces asks for.
var inCluster = []string{
	"/customresourcedefinitions", "/mutatingwebhookconfigurations", "/validatingwebhookconfigurations", "/tokenreviews", "/subjectaccessreviews",
}

// Each profile has a control plane of its own. A run takes one, and the nightly run all.
func TestEachProfileTakesEachKindThroughItsLife(t *testing.T) {
	t.Parallel()
	for _, c := range framework.Sample(framework.NewSampler(t), 1, []struct {
		name    string
		profile profile
		check   func(*suite)
	}{
		{"default", profile{layout: "default"}, func(s *suite) {
			s.may("fairlead-manager", true, "get secrets in bank", "patch deployments.apps in bank", "list nodes")
			s.may("fairlead-manager", false, "list secrets in shop", "list secrets", "impersonate serviceaccounts in shop")
		}},
		{"watch-secrets", profile{layout: "default", components: []string{"watch-secrets"}}, func(s *suite) {
			s.may("fairlead-manager", true, "list secrets", "watch secrets in bank")
			if !slices.ContainsFunc(s.requests(), func(r request) bool { return r.Verb == "watch" && r.place() == "/secrets" }) {
				s.Error("Secrets are not watched")
			}
		}},
		{"split", profile{layout: "split"}, func(s *suite) {
			s.may("fairlead-webhook", false, "get secrets in bank", "list secrets", "create pods in bank", "patch services in bank", "patch deployments.apps in bank")
			s.may("fairlead-manager", false, "list secrets", "patch mutatingwebhookconfigurations.admissionregistration.k8s.io")
			for _, account := range []string{"fairlead-webhook", "fairlead-manager"} {
				if !slices.ContainsFunc(s.requests(), func(r request) bool { return strings.HasSuffix(r.User.Username, ":"+account) }) {
					s.Errorf("%s sends no request", account)
				}
			}
		}},
		{"v1 only", profile{layout: "default", components: []string{"v1-only"}}, (*suite).servesOneVersion},
		{"namespaced", profile{layout: "default", namespaced: true}, func(s *suite) { s.staysInItsNamespaces(inCluster...) }},
		{"namespaced with watch-secrets", profile{layout: "default", namespaced: true, components: []string{"namespaced/watch-secrets"}}, func(s *suite) {
			s.staysInItsNamespaces(inCluster...)
			s.may("fairlead-manager", true, "list secrets in shop", "watch secrets in shop")
			s.may("fairlead-manager", false, "list secrets", "list secrets in bank")
			if !slices.ContainsFunc(s.requests(), func(r request) bool { return r.Verb == "watch" && r.place() == "shop/secrets" }) {
				s.Error("Secrets are not watched")
			}
		}},
		{"namespaced without a ClusterRole", profile{layout: "default", namespaced: true, components: []string{"namespaced/without-cluster-role"}}, func(s *suite) {
			s.staysInItsNamespaces()
			s.may("fairlead-manager", false, "create tokenreviews.authentication.k8s.io", "create subjectaccessreviews.authorization.k8s.io",
				"patch customresourcedefinitions.apiextensions.k8s.io", "patch mutatingwebhookconfigurations.admissionregistration.k8s.io")
		}},
		{"namespaced with v1 only", profile{layout: "default", namespaced: true, components: []string{"v1-only"}}, func(s *suite) {
			s.staysInItsNamespaces(inCluster...)
			s.servesOneVersion()
		}},
	}) {
		t.Run(c.name, func(t *testing.T) { c.check(run(t, c.profile)) })
	}
}

// run takes an object of each kind through its life, and sees that no request of the operator was forbidden.
func run(t *testing.T, p profile) *suite {
	t.Helper()
	t.Parallel()
	s := newSuite(t, p)
	s.Apply("{apiVersion: v1, kind: Secret, metadata: {name: creds}, stringData: {password: first}}", "--server-side")
	s.Apply(deployment, "--server-side")
	s.shows("2", "{.status.availableReplicas}", "deployment/web")
	s.externalService()
	s.rebootPolicy()
	s.chaosPods()
	if !p.has("namespaced/without-cluster-role") {
		s.metrics()
	}
	s.permitted()
	return s
}

func (s *suite) externalService() {
	s.Helper()
	s.Apply("{apiVersion: networking.fairlead.dev/v1, kind: ExternalService, metadata: {name: database}, spec: {"+database+"}}", "--server-side")
	s.shows("True", ready, "externalservice/database")
	s.shows("5432", "{.spec.ports[0].port}", "service/database")
	s.shows("192.0.2.20", "{.items[*].endpoints[*].addresses[*]}", "endpointslices", "--selector=kubernetes.io/service-name=database")
	if !s.profile.has("v1-only") {
		s.shows("192.0.2.20", "{.spec.endpoints[0].addresses[0]}", "externalservices.v1alpha1.networking.fairlead.dev", "database")
	}
	s.Kubectl("delete", "externalservice", "database")
	s.gone("externalservice/database", "service/database")
}

func (s *suite) rebootPolicy() {
	s.Helper()
	s.Apply("{apiVersion: autoreboot.fairlead.dev/v1, kind: RebootPolicy, metadata: {name: web}, spec: {"+restarts+"}}", "--server-side")
	s.shows("Watching", reason, "rebootpolicy/web")
	s.Apply("{apiVersion: v1, kind: Secret, metadata: {name: creds}, stringData: {password: second}}", "--server-side")
	s.shows("Succeeded", "{.status.history[0].result}", "rebootpolicy/web")
	s.shows("2", "{.metadata.generation}", "deployment/web")
	s.Kubectl("delete", "rebootpolicy", "web")
	s.gone("rebootpolicy/web")
}

func (s *suite) chaosPods() {
	s.Helper()
	s.shows("2", "{.status.availableReplicas}", "deployment/web")
	for name, spec := range map[string]string{"evicts": kills, "deletes": kills + ", action: {type: Delete}", "canary": canary} {
		s.Apply("{apiVersion: chaos.fairlead.dev/v1, kind: ChaosPod, metadata: {name: "+name+"}, spec: {"+spec+"}}", "--server-side")
		s.shows("True", ready, "chaospod/"+name)
		if name == "canary" {
			s.shows("Running", "{.status.phase}", "pod/canary")
		}
		s.Kubectl("annotate", "chaospod", name, "chaos.fairlead.dev/run-now=1")
		s.shows("Survived", "{.status.history[0].result}", "chaospod/"+name)
		s.Kubectl("delete", "chaospod", name)
		s.gone("chaospod/"+name, "pod/canary")
		s.shows("2", "{.status.availableReplicas}", "deployment/web")
	}
}

// metrics are read as Prometheus reads them.
func (s *suite) metrics() {
	s.Helper()
	s.Kubectl("create", "serviceaccount", "scraper")
	s.Kubectl("create", "clusterrolebinding", "scraper", "--clusterrole=fairlead-metrics-reader", "--serviceaccount="+watched+":scraper")
	token := strings.TrimSpace(s.Kubectl("create", "token", "scraper"))
	for _, replica := range s.replicas {
		s.Eventually(func() error {
			page, err := replica.Page(s.Context(), token)
			if err == nil && !strings.Contains(page, "fairlead_") {
				err = errors.New("no metric of Fairlead's")
			}
			return err
		})
	}
}

// permitted wants no request of the operator to have been forbidden.
func (s *suite) permitted() {
	s.Helper()
	all := s.requests()
	forbidden := map[string]bool{}
	for _, r := range all {
		if r.forbidden() {
			forbidden[r.String()] = true
		}
	}
	for _, r := range slices.Sorted(maps.Keys(forbidden)) {
		s.Errorf("forbidden: %s", r)
	}
	s.Logf("%d requests of the operator", len(all))
	if len(all) < 50 {
		s.Errorf("the audit log has %d requests of the operator only", len(all))
	}
	if err := framework.NoComplaints(s.Complaints()); err != nil {
		s.Error(err)
	}
}

// staysInItsNamespaces wants the operator to ask for nothing outside of its namespaces but what is named, and to leave
// objects in others alone.
func (s *suite) staysInItsNamespaces(but ...string) {
	s.Helper()
	s.Kubectl("-n", other, "create", "-f", s.File("manifest.yaml", "{apiVersion: networking.fairlead.dev/v1, kind: ExternalService, metadata: {name: database}, spec: {"+database+"}}"))
	s.externalService() // which takes longer than a reconcile of the other would
	if made := s.Kubectl("-n", other, "get", "services,endpointslices", "-o", "name"); made != "" {
		s.Errorf("made in a namespace that it does not work in: %s", made)
	}
	if status := s.Kubectl("-n", other, "get", "externalservice", "database", "-o", "jsonpath={.status.conditions}{.metadata.annotations}{.metadata.finalizers}"); status != "" {
		s.Errorf("written in a namespace that it does not work in: %s", status)
	}
	outside := map[string]bool{}
	for _, r := range s.requests() {
		if place := r.place(); place != "" && !slices.Contains(but, place) && !strings.HasPrefix(place, watched+"/") && !strings.HasPrefix(place, framework.Namespace+"/") {
			outside[r.Verb+" "+r.RequestURI] = true
		}
	}
	if len(outside) > 0 {
		s.Errorf("asks outside of its namespaces: %q", slices.Sorted(maps.Keys(outside)))
	}
	s.may("fairlead-manager", true, "get secrets in shop", "patch deployments.apps in shop", "create pods in shop")
	s.may("fairlead-manager", false, "list secrets in shop", "get secrets in bank", "list pods in bank", "patch deployments.apps in bank",
		"create pods in bank", "create services", "list nodes", "list externalservices.networking.fairlead.dev",
		"get secrets", "patch customresourcedefinitions.apiextensions.k8s.io named foos.example.com")
	s.permitted()
}

// servesOneVersion wants reads to need no operator, and the old version to be unknown.
func (s *suite) servesOneVersion() {
	s.Helper()
	s.Apply("{apiVersion: networking.fairlead.dev/v1, kind: ExternalService, metadata: {name: stays}, spec: {"+database+"}}", "--server-side")
	s.shows("True", ready, "externalservice/stays")
	for _, replica := range s.replicas {
		s.Retire(replica)
	}
	if got := s.Kubectl("get", "externalservices,rebootpolicies,chaospods", "-A", "-o", "name"); !strings.Contains(got, "/stays") {
		s.Errorf("without an operator there is %q", got)
	}
	if _, _, err := s.Try("", "get", "externalservices.v1alpha1.networking.fairlead.dev", "-A"); err == nil {
		s.Error("v1alpha1 is served")
	}
	for _, crd := range framework.Definitions {
		if got := s.Kubectl("get", "crd", crd, "-o", "jsonpath={.spec.conversion}{.status.storedVersions}"); got != `{"strategy":"None"}["v1"]` {
			s.Errorf("%s: %s", crd, got)
		}
	}
}

// may compares rights of a ServiceAccount, each as "verb resource", with "in namespace" or "named name".
func (s *suite) may(account string, want bool, rights ...string) {
	s.Helper()
	for _, text := range rights {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:   "system:serviceaccount:" + framework.Namespace + ":" + account,
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + framework.Namespace, "system:authenticated"},
		}}
		words := strings.Fields(text)
		what := &authorizationv1.ResourceAttributes{Verb: words[0]}
		what.Resource, what.Group, _ = strings.Cut(words[1], ".")
		for i := 2; i+1 < len(words); i += 2 {
			switch words[i] {
			case "in":
				what.Namespace = words[i+1]
			case "named":
				what.Name = words[i+1]
			default:
				s.Fatalf("%q", text)
			}
		}
		review.Spec.ResourceAttributes = what
		s.Must(s.Client.Create(s.Context(), review))
		if review.Status.Allowed != want {
			s.Errorf("%s may %s: %t", account, text, review.Status.Allowed)
		}
	}
}
