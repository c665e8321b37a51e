// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// keyPlaces are the places of a pod that need a key of a source, by name: a pod with the name of the source and
// `, optional: true` left out.
var keyPlaces = map[string]struct{ kind, pod string }{
	"env-of-secret":     {"Secret", "{containers: [{name: main, image: none, env: [{name: X, valueFrom: {secretKeyRef: {name: %s, key: password%s}}}]}]}"},
	"env-of-config":     {"ConfigMap", "{containers: [{name: main, image: none, env: [{name: X, valueFrom: {configMapKeyRef: {name: %s, key: password%s}}}]}]}"},
	"init-env":          {"Secret", "{containers: [{name: main, image: none}], initContainers: [{name: init, image: none, env: [{name: X, valueFrom: {secretKeyRef: {name: %s, key: password%s}}}]}]}"},
	"secret-items":      {"Secret", "{containers: [{name: main, image: none}], volumes: [{name: v, secret: {secretName: %s, items: [{key: password, path: p}]%s}}]}"},
	"config-items":      {"ConfigMap", "{containers: [{name: main, image: none}], volumes: [{name: v, configMap: {name: %s, items: [{key: password, path: p}]%s}}]}"},
	"projected-secret":  {"Secret", "{containers: [{name: main, image: none}], volumes: [{name: v, projected: {sources: [{secret: {name: %s, items: [{key: password, path: p}]%s}}]}}]}"},
	"projected-config":  {"ConfigMap", "{containers: [{name: main, image: none}], volumes: [{name: v, projected: {sources: [{configMap: {name: %s, items: [{key: password, path: p}]%s}}]}}]}"},
	"whole-env-and-key": {"Secret", "{containers: [{name: main, image: none, envFrom: [{secretRef: {name: %[1]s}}], env: [{name: X, valueFrom: {secretKeyRef: {name: %[1]s, key: password%[2]s}}}]}]}"},
}

// dataOf is the field in which a test writes the values of a source.
func dataOf(kind string) string {
	if kind == "Secret" {
		return "stringData"
	}
	return "data"
}

// TestARestartForAnotherCauseWaitsForAKeyAsWell has a source that no trigger watches.
func TestARestartForAnotherCauseWaitsForAKeyAsWell(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "pass", "first")
	s.run(deployment, "web", fmt.Sprintf(keyPlaces["env-of-secret"].pod, "creds", ""))
	s.configMap("settings", "color", "red")
	s.policy("p", "{"+targets(deployment, "web")+", triggers: [{name: one, type: ConfigChange, configChange: {discovery: Explicit, sources: [{kind: ConfigMap, name: settings}]}}]}")
	s.watching("p", 1)
	s.configMap("settings", "color", "blue")
	s.held("p", "web", autorebootv1.ReasonSourceMissing)
	s.explains("p", autorebootv1.ConditionWaiting, "new pods cannot start without Secret/creds with the key password")
	s.secret("creds", "password", "second")
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
}

// TestARestartWaitsForAKeyThatItsPodsNeed replaces each source by one that lacks the key. A workload whose reference is
// optional is restarted.
func TestARestartWaitsForAKeyThatItsPodsNeed(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	var all []string
	for place, p := range keyPlaces {
		s.source(p.kind, place, dataOf(p.kind), []string{"password", "first"})
		s.workload(deployment, place, fmt.Sprintf(p.pod, place, ""))
		s.workload(deployment, place+"-optional", fmt.Sprintf(p.pod, place, ", optional: true"))
		all = append(all, place, place+"-optional")
	}
	for _, name := range all {
		s.available(deployment, name)
	}
	s.policy("p", "{"+targets(deployment, all...)+", "+onConfig+"}")
	s.watching("p", len(all))
	for place, p := range keyPlaces {
		s.source(p.kind, place, dataOf(p.kind), []string{"pass", "second"})
	}
	s.succeeded("p", len(keyPlaces))
	for place := range keyPlaces {
		s.held("p", place, autorebootv1.ReasonSourceMissing)
		s.generation(deployment, place, 1)
		s.restarted(deployment, place+"-optional", 1)
	}
	s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
		c := meta.FindStatusCondition(st.Conditions, autorebootv1.ConditionWaiting)
		if c == nil || !strings.Contains(c.Message, " with the key password") {
			return fmt.Errorf("want the key and its source named")
		}
		return nil
	})
	for place, p := range keyPlaces {
		s.source(p.kind, place, dataOf(p.kind), []string{"password", "third"})
	}
	for place := range keyPlaces {
		s.Eventually(func() error {
			if s.restartID(deployment, place) == "" {
				return fmt.Errorf("%s waits although the key is there", place)
			}
			return nil
		})
	}
}
