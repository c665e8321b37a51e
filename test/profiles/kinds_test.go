// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// allKinds are in the order of the operator's configuration.
var allKinds = []string{"ExternalService", "RebootPolicy", "ChaosPod"}

// of is the profile in which these kinds are named.
func of(kinds ...string) profile {
	p := profile{layout: "default", components: []string{"admission-policy"}}
	for _, kind := range allKinds {
		if !slices.Contains(kinds, kind) {
			p.components = append(p.components, "without/"+strings.ToLower(kind))
		}
	}
	return p
}

// One control plane has one combination after the other, as an administrator comes from one to the next. A run takes one of the
// seven, and the nightly run all. Each begins where nothing of the previous one is left.
func TestOnlyTheKindsThatAreNamedExist(t *testing.T) {
	t.Parallel()
	var all [][]string
	for bits := 1; bits < 1<<len(allKinds); bits++ {
		var some []string
		for i, kind := range allKinds {
			if bits&(1<<i) != 0 {
				some = append(some, kind)
			}
		}
		all = append(all, some)
	}
	s := newSuite(t, of("ExternalService"))
	s.kindsChange()
	for _, kinds := range framework.Sample(framework.NewSampler(t), 1, all) {
		s.Kubectl("delete", "crd", "--selector=app.kubernetes.io/name=fairlead")
		s.Retire(s.replicas[len(s.replicas)-1])
		s.replicas, s.seen = nil, len(s.requests()) // it has asked for the kinds that were deleted
		for _, everything := range []string{"clusterrole,clusterrolebinding", "validatingadmissionpolicy,validatingadmissionpolicybinding",
			"mutatingwebhookconfiguration,validatingwebhookconfiguration"} {
			s.Kubectl("delete", everything, "--selector=app.kubernetes.io/name=fairlead")
		}
		s.Kubectl("-n", framework.Namespace, "delete", "role,rolebinding", "--selector=app.kubernetes.io/name=fairlead")
		s.become(of(kinds...))
		s.lives()
		s.exist(kinds...)
	}
}

// become installs a profile over the present one, and runs the operator as it says in place of the replica before.
func (s *suite) become(p profile) {
	s.Helper()
	s.profile = p
	s.install(p)
	s.discover()
	if n := len(s.replicas); n > 0 {
		s.Retire(s.replicas[n-1])
	}
	s.serve(s.arguments("fairlead-manager")...)
	s.Eventually(s.reachable)
}

// lives takes an object of each kind that the profile has through its life.
func (s *suite) lives() {
	s.Helper()
	s.Apply("{apiVersion: v1, kind: Secret, metadata: {name: creds}, stringData: {password: first}}", "--server-side")
	s.Apply(deployment, "--server-side")
	s.shows("2", "{.status.availableReplicas}", "deployment/web")
	for kind, live := range map[string]func(){"externalservice": s.externalService, "rebootpolicy": s.rebootPolicy, "chaospod": s.chaosPods} {
		if !s.profile.has("without/" + kind) {
			live()
		}
	}
	s.Kubectl("delete", "deployment", "web")
}

// exist wants nothing in the cluster, of the operator and of its requests to be of another kind.
func (s *suite) exist(kinds ...string) {
	s.Helper()
	objects := s.Kubectl("get", "crd,clusterrole,clusterrolebinding,role,rolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding",
		"-A", "--selector=app.kubernetes.io/name=fairlead", "-o", "jsonpath={.items[*].metadata.name}")
	objects += s.Kubectl("get", "mutatingwebhookconfiguration,validatingwebhookconfiguration", "-o", "jsonpath={.items[*].webhooks[*].name}")
	replica := s.replicas[len(s.replicas)-1]
	s.Kubectl("create", "clusterrolebinding", "scraper", "--clusterrole=fairlead-metrics-reader", "--serviceaccount="+watched+":default")
	defer s.Kubectl("delete", "clusterrolebinding", "scraper")
	token := strings.TrimSpace(s.Kubectl("create", "token", "default"))
	var metrics string
	s.Eventually(func() (err error) {
		if metrics, err = replica.Page(s.Context(), token); err == nil && !strings.Contains(metrics, "fairlead_leader 1") {
			err = errors.New("it does not lead")
		}
		return err
	})
	statusz, err := replica.Probe(s.Context(), "/statusz")
	s.Must(err)
	if !strings.Contains(statusz, strings.Join(kinds, ", ")+"\n") {
		s.Errorf("%q: /statusz says\n%s", kinds, statusz)
	}
	for i, kind := range allKinds {
		lower := strings.ToLower(kind)
		resource, _, _ := strings.Cut(framework.Definitions[i], ".")
		asked := slices.ContainsFunc(s.requests()[s.seen:], func(r request) bool { return strings.Contains(r.RequestURI, "/"+resource) })
		named := slices.Contains(kinds, kind)
		for what, has := range map[string]bool{
			"objects": strings.Contains(objects, lower), "requests": asked, "CA bundles": strings.Contains(metrics, framework.Definitions[i]),
		} {
			if has != named {
				s.Errorf("%q: %s of %s: %t", kinds, what, kind, has)
			}
		}
		if !named && (strings.Contains(metrics, "fairlead_"+lower+"_") || strings.Contains(metrics, `kind="`+kind+`"`)) {
			s.Errorf("%q: there are metrics of %s", kinds, kind)
		}
	}
	s.permitted()
	s.seen = len(s.requests())
}

// kindsChange tells a story: a kind is added, one that is referred to is left out too early, and comes back.
func (s *suite) kindsChange() {
	s.Helper()
	s.exist("ExternalService")
	database := "{apiVersion: networking.fairlead.dev/v1, kind: ExternalService, metadata: {name: database}, spec: {" + database + "}}"
	s.Apply(database, "--server-side")
	s.shows("True", ready, "externalservice/database")

	s.become(of("ExternalService", "RebootPolicy"))
	s.Apply("{apiVersion: v1, kind: Secret, metadata: {name: creds}, stringData: {password: first}}", "--server-side")
	s.Apply(deployment, "--server-side")
	s.shows("2", "{.status.availableReplicas}", "deployment/web")
	s.Apply("{apiVersion: autoreboot.fairlead.dev/v1, kind: RebootPolicy, metadata: {name: web}, spec: {"+restarts+
		", gates: [{name: survived, type: Condition, condition: {apiVersion: chaos.fairlead.dev/v1, kind: ChaosPod, name: web, type: Survived, maxAge: 24h}}]}}", "--server-side")
	s.shows("True", ready, "rebootpolicy/web")
	s.Apply("{apiVersion: v1, kind: Secret, metadata: {name: creds}, stringData: {password: second}}", "--server-side")
	s.tells("ChaosPod web cannot be read: the operator's configuration leaves ChaosPod out (kinds)", "rebootpolicy/web")

	// Too early: the CRD and the object are there.
	s.unhook("ExternalService")
	s.become(of("RebootPolicy"))
	s.Kubectl("delete", "externalservice", "database", "--wait=false")
	s.Apply("{apiVersion: autoreboot.fairlead.dev/v1, kind: RebootPolicy, metadata: {name: web}, spec: {"+restarts+
		", gates: [{name: database, type: Condition, condition: {apiVersion: networking.fairlead.dev/v1, kind: ExternalService, name: database, type: Healthy}}]}}", "--server-side")
	s.tells("ExternalService database cannot be read: the operator's configuration leaves ExternalService out (kinds)", "rebootpolicy/web")
	leader := s.replicas[len(s.replicas)-1]
	s.Eventually(func() error {
		statusz, err := leader.Probe(s.Context(), "/statusz")
		if err == nil && !strings.Contains(statusz, "RebootPolicy; ExternalService left out, and served by the API server") {
			err = errors.New(statusz)
		}
		return err
	})
	if _, err := s.read("externalservice/database"); err != nil {
		s.Errorf("without the operator the finalizer holds it: %v", err)
	}

	s.become(of("ExternalService", "RebootPolicy"))
	s.gone("externalservice/database", "service/database")
	s.Kubectl("delete", "deployment", "web")

	// As docs/guides/install-scope.md says.
	s.guide("remove")
	s.become(of("ExternalService"))
	s.guide("roles")
	if left := s.Kubectl("get", "crd,clusterrole,clusterrolebinding,role,rolebinding", "-A", "-o", "name"); strings.Contains(left, "rebootpolic") {
		s.Errorf("left are:\n%s", left)
	}
	s.externalService()
	s.permitted()
	s.seen = len(s.requests())
}

// tells waits until the conditions of an object have some words.
func (s *suite) tells(words, object string) {
	s.Helper()
	s.Eventually(func() error {
		content, err := s.read(object)
		if err == nil && !strings.Contains(framework.Text(content), words) {
			err = fmt.Errorf("%s does not tell %q:\n%s", object, words, framework.Text(content))
		}
		return err
	})
}

// unhook deletes the webhook configurations of a kind.
func (s *suite) unhook(kind string) {
	s.Helper()
	names := []string{"fairlead-" + strings.ToLower(kind)}
	if kind == "RebootPolicy" {
		names = append(names, "fairlead-clusterrebootpolicy")
	}
	s.Kubectl(append([]string{"delete", "mutatingwebhookconfigurations,validatingwebhookconfigurations"}, names...)...)
}

// guide runs blocks of docs/guides/install-scope.md.
func (s *suite) guide(blocks ...string) {
	s.Helper()
	page, err := os.ReadFile(filepath.Join(framework.Root, "docs", "guides", "install-scope.md"))
	s.Must(err)
	for _, block := range blocks {
		_, rest, found := strings.Cut(string(page), "```console "+block+"\n")
		commands, _, ended := strings.Cut(rest, "```")
		if !found || !ended {
			s.Fatalf("docs/guides/install-scope.md has no block %s", block)
		}
		for command := range strings.Lines(commands) {
			s.Kubectl(words(strings.TrimPrefix(strings.TrimSpace(command), "$ kubectl "))...)
		}
	}
}

// words are those of a command line without escapes.
func words(line string) (all []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}
