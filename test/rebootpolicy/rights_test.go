// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/stage"
)

// person is a user who may write RebootPolicies in the scene's namespace, and little else.
type person struct {
	*scene
	user   string
	client client.WithWatch
}

// newPerson waits until the API server knows what the person may. Further rules are those of a
// Role, in YAML.
func (s *scene) newPerson(name string, rules ...string) *person {
	s.Helper()
	user, err := s.play.User(name + "@" + s.namespace)
	s.must(err)
	p := &person{scene: s, user: user.Name}
	p.client, err = stage.NewClient(user.Kubeconfig)
	s.must(err)
	s.grant(name, "{kind: User, name: \""+user.Name+"\"}", append(rules, `{apiGroups: [autoreboot.fairlead.dev], resources: [rebootpolicies], verbs: ["*"]}`)...)
	s.eventually(func() error {
		return client.IgnoreNotFound(p.client.Get(s.Context(), client.ObjectKey{Namespace: s.namespace, Name: "none"}, &autorebootv1.RebootPolicy{}))
	})
	return p
}

// grant gives a subject what a Role's rules say.
func (s *scene) grant(name, subject string, rules ...string) {
	s.Helper()
	s.make("{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: " + name + "}, rules: [" + strings.Join(rules, ", ") + "]}")
	s.make("{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: " + name + `},
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: ` + name + "}, subjects: [" + subject + "]}")
}

// tries creates a policy as the person.
func (p *person) tries(name, spec string) error {
	p.Helper()
	return p.client.Create(p.Context(), p.object(p.manifest(name, spec)))
}

// refused ends the test unless err holds every part.
func (s *scene) refused(err error, parts ...string) {
	s.Helper()
	if err == nil {
		s.Fatalf("it was allowed, want a refusal with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			s.Errorf("%q lacks %q", err, part)
		}
	}
}

func TestNobodyHasDoneWhatTheyMayNotDo(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.secret("creds", "password", "first")
	s.run(deployment, "web", takes("creds"))
	writer := s.newPerson("writer")
	const restart = "{apiGroups: [apps], resources: [deployments], verbs: [patch], resourceNames: [web]}"
	one := s.newPerson("one", restart)
	reader := s.newPerson("reader", restart, "{apiGroups: [\"\"], resources: [secrets], verbs: [get], resourceNames: [creds]}")

	web := "{" + targets(deployment, "web") + ", " + onConfig
	listed := "{" + targets(deployment, "web") + ", triggers: [{name: config, type: ConfigChange, configChange: {discovery: Explicit, sources: [{kind: Secret, name: creds}]}}]}"
	selected := "{targets: [{kind: Deployment, selector: {matchLabels: {app: web}}}], " + onConfig + "}"
	s.refused(writer.tries("p", web+"}"), "spec.targets[0]", "may not patch deployments.apps", `"web"`, "ask for that right", "spec.serviceAccountName")
	s.refused(writer.tries("p", web+", strategy: {type: Evict}}"), "spec.strategy.type", "may not create pods/eviction", "ask for that right")
	s.refused(one.tries("p", selected), "spec.targets[0]", "in all of namespace")
	s.refused(one.tries("p", listed), "spec.triggers[0].configChange.sources[0]", "may not get secrets", `"creds"`)
	s.refused(one.tries("p", web+", serviceAccountName: default}"), "spec.serviceAccountName", "may not impersonate serviceaccounts")

	s.must(one.tries("p", web+"}"))
	s.must(reader.tries("listed", listed))
	s.watching("p", 1)
	s.watching("listed", 1)
	// What changes nothing of that may be written by whoever may write the policy; the rest may not.
	s.must(writer.client.Patch(t.Context(), s.policyObject("p"), client.RawPatch("application/merge-patch+json", []byte(`{"spec": {"cooldown": "1s"}}`))))
	s.refused(writer.client.Patch(t.Context(), s.policyObject("p"), client.RawPatch("application/merge-patch+json",
		[]byte(`{"spec": {"targets": [{"kind": "Deployment", "name": "other"}]}}`))), "spec.targets[0]", `"other"`)
	s.delete(autorebootv1.GroupVersion.String(), "RebootPolicy", "listed")
	s.secret("creds", "password", "second")
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
}

func (s *scene) policyObject(name string) client.Object {
	s.Helper()
	return s.object(fmt.Sprintf("{apiVersion: %s, kind: RebootPolicy, metadata: {name: %s}}", autorebootv1.GroupVersion, name))
}
