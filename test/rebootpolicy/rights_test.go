// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// person is a user who may write RebootPolicies in the test's namespace, and little else.
type person struct {
	*suite
	user   string
	client client.WithWatch
}

// newPerson waits until the API server knows what the person may. Further rules are those of a
// Role, in YAML.
func (s *suite) newPerson(name string, rules ...string) *person {
	s.Helper()
	user, c := s.NewWriter(name, &autorebootv1.RebootPolicy{}, "rebootpolicies.autoreboot.fairlead.dev", rules...)
	return &person{s, user, c}
}

// tries creates a policy as the person.
func (p *person) tries(name, spec string) error {
	p.Helper()
	return p.client.Create(p.Context(), p.Object(p.manifest(name, spec)))
}

// refused ends the test unless err holds every part.
func (s *suite) refused(err error, parts ...string) {
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

func TestNoUserHasDoneWhatTheyMayNotDo(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
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

	s.Must(one.tries("p", web+"}"))
	s.Must(reader.tries("listed", listed))
	s.watching("p", 1)
	s.watching("listed", 1)
	// Who may write the policy and nothing else changes nothing of what it does, and when.
	s.refused(writer.patch("p", `{"spec": {"targets": [{"kind": "Deployment", "name": "other"}]}}`), "spec.targets[0]", `"other"`)
	s.refused(writer.patch("p", `{"spec": {"cooldown": "2s"}}`), "spec.targets[0]", `"web"`)
	s.Delete(autorebootv1.GroupVersion.String(), "RebootPolicy", "listed")
	s.secret("creds", "password", "second")
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
}

// patch writes a policy by a merge patch, as the person.
func (p *person) patch(name, patch string) error {
	p.Helper()
	return p.client.Patch(p.Context(), p.policyObject(name), client.RawPatch("application/merge-patch+json", []byte(patch)))
}

func TestWhoMayNotRestartMakesNoRestartLikelier(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.run(deployment, "db", bare)
	window, _ := far()
	s.policy("p", "{"+targets(deployment, "db")+`, triggers: [{name: s, type: Schedule, schedule: {cron: "0 3 1 1 *"}}],
		blackouts: `+window+`, cooldown: 1h, limit: {maxRestarts: 1, within: 24h}, verification: {soak: 1s}}`)
	s.watching("p", 1)
	mal := s.newPerson("mal")
	for name, patch := range map[string]string{
		"cron":             `{"spec": {"triggers": [{"name": "s", "type": "Schedule", "schedule": {"cron": "* * * * *"}}]}}`,
		"no blackout":      `{"spec": {"blackouts": null}}`,
		"no soak":          `{"spec": {"verification": {"soak": "0s"}}}`,
		"no cooldown":      `{"spec": {"cooldown": "0s"}}`,
		"a higher limit":   `{"spec": {"limit": {"maxRestarts": 9}}}`,
		"onFailure":        `{"spec": {"verification": {"onFailure": "Continue"}}}`,
		"more retries":     `{"spec": {"retry": {"maxAttempts": 9}}}`,
		"another trigger":  `{"spec": {"triggers": [{"name": "config", "type": "ConfigChange", "configChange": {}}]}}`,
		"restart-now":      `{"metadata": {"annotations": {"autoreboot.fairlead.dev/restart-now": "mal"}}}`,
		"retry":            `{"metadata": {"annotations": {"autoreboot.fairlead.dev/retry": "mal"}}}`,
		"all while asleep": `{"spec": {"suspend": true, "cooldown": "0s"}}`,
	} {
		if err := mal.patch("p", patch); err == nil || !strings.Contains(err.Error(), "may not patch deployments.apps") {
			t.Errorf("%s: %v, want a refusal", name, err)
		}
	}
	for name, patch := range map[string]string{
		"a label":        `{"metadata": {"labels": {"a": "b"}}}`,
		"nothing":        `{"spec": {"cooldown": "1h"}}`,
		"suspend":        `{"spec": {"suspend": true}}`,
		"a dry run":      `{"spec": {"dryRun": true}}`,
		"less a history": `{"spec": {"historyLimit": 3}}`,
	} {
		if err := mal.patch("p", patch); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.refused(mal.patch("p", `{"spec": {"suspend": false}}`), "spec.targets[0]")
	s.set("p", "{suspend: false, dryRun: false}")
	s.watching("p", 1)
	s.restarted(deployment, "db", 0)
}

// TestAWriteOfTheStatusRestartsNothingElse has a user with the right to the status and nothing else, and
// has a restart of a workload in flight that the policy does not name.
func TestAWriteOfTheStatusRestartsNothingElse(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.run(deployment, "web", bare)
	s.run(deployment, "db", bare)
	for name, more := range map[string]string{"rollout": "", "evict": ", strategy: {type: Evict}"} {
		s.policy(name, "{"+targets(deployment, "web")+", "+onConfig+more+"}")
		s.watching(name, 1)
	}
	mal := s.newPerson("mal", `{apiGroups: [autoreboot.fairlead.dev], resources: [rebootpolicies/status], verbs: [get, patch, update]}`)
	uid := s.read(deployment, "db").GetUID()
	pods := s.pods("db")
	for _, name := range []string{"rollout", "evict"} {
		for i, phase := range []string{"Planned", "Evicting"} {
			if phase == "Evicting" && name == "rollout" {
				continue
			}
			forged := fmt.Sprintf(`{"status": {"inFlight": [{"id": "x-%d", "kind": "Deployment", "name": "db", "uid": %q, "phase": %q,
				"startTime": %q, "triggers": ["config"]}]}}`, i, uid, phase, time.Now().UTC().Format(time.RFC3339))
			s.Must(mal.client.Status().Patch(t.Context(), mal.policyObject(name), client.RawPatch("application/merge-patch+json", []byte(forged))))
			s.annotate(name, "example.com/touched", phase)
			if phase == "Planned" {
				s.shows(name, func(st autorebootv1.RebootPolicyStatus) error {
					if len(st.InFlight) > 0 {
						return fmt.Errorf("still in flight: %s", framework.Text(st.InFlight))
					}
					return nil
				})
			}
		}
	}
	s.Never(func() error {
		if n := s.rollouts(deployment, "db"); n != 1 {
			return fmt.Errorf("db had %d templates", n)
		}
		for _, pod := range s.pods("db") {
			if !slices.ContainsFunc(pods, func(was corev1.Pod) bool { return was.UID == pod.UID }) {
				return fmt.Errorf("pod %s is new", pod.Name)
			}
		}
		return nil
	})
}

func (s *suite) policyObject(name string) client.Object {
	s.Helper()
	return s.Object(fmt.Sprintf("{apiVersion: %s, kind: RebootPolicy, metadata: {name: %s}}", autorebootv1.GroupVersion, name))
}
