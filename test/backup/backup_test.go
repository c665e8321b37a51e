// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// isRestored waits until what was restored is sound, and requires that nothing has acted. Then it acts.
func (s *suite) isRestored(templates map[string]corev1.PodTemplateSpec) {
	s.Helper()
	s.isSound()
	s.stays(templates, s.pods())
	for _, act := range acts {
		if events := s.Told(act.kind, act.name)[act.reason]; len(events) > 0 {
			s.Errorf("%s", framework.Text(events))
		}
	}
	s.rotates("restored")
}

// A tool that knows nothing of Fairlead restores into a cluster in which Fairlead runs: into the namespace that was backed up,
// after a deletion, or into another one. What was changed since the backup is as it was.
func TestABackupIsRestored(t *testing.T) {
	t.Parallel()
	type restore struct{ version, status, owners, order, into string }
	var all []restore
	with := []string{"with", "without"}
	for _, version := range []string{"v1", "v1alpha1"} {
		for _, status := range with {
			for _, owners := range with {
				for _, order := range []string{"Velero's", "the reverse"} {
					for _, into := range []string{"the same namespace", "another namespace"} {
						all = append(all, restore{version, status, owners, order, into})
					}
				}
			}
		}
	}
	for _, r := range framework.Sample(framework.NewSampler(t), 3, all) {
		t.Run(r.version+" "+r.status+" status and "+r.owners+" owners in "+r.order+" order into "+r.into, func(t *testing.T) {
			t.Parallel()
			s := newSuite(t, open(t))
			s.makeWorld()
			templates, objects := s.templates(), s.export(r.version, r.status == "with", r.owners == "with")
			if r.order != "Velero's" {
				slices.Reverse(objects)
			}
			s.Kubectl("patch", "secret", "login", "--patch", `{"stringData": {"password": "since"}}`)
			if r.into == "another namespace" {
				s.Namespace = s.NewNamespace()
			} else {
				s.Kubectl("delete", "clusterrebootpolicy", s.world)
				s.Kubectl("delete", "namespace", s.Namespace)
				s.Kubectl("create", "namespace", s.Namespace)
			}
			s.inNamespace()
			s.Eventually(func() error { return s.restore(objects) })
			s.isRestored(templates)
		})
	}
}

// Where no replica serves webhooks yet, the objects of Fairlead alone are refused, and another restore adds them.
func TestABackupIsRestoredIntoAnotherCluster(t *testing.T) {
	t.Parallel()
	first := newSuite(t, open(t))
	first.makeWorld()
	templates := first.templates()
	another := openAnother(t, first.Servers)
	for _, version := range framework.Sample(framework.NewSampler(t), 1, []string{"v1", "v1alpha1"}) {
		objects := first.export(version, false, version == "v1")
		s := &suite{framework.NewTest(t, another), first.database, first.world}
		s.inNamespace()
		for _, replica := range s.Running() {
			s.Retire(replica)
		}
		err := s.restore(objects)
		if err == nil {
			t.Fatal("restored without webhooks")
		}
		refusals := strings.Split(err.Error(), "\n")
		want := []string{chaosPod.Kind, clusterRebootPolicy.Kind, externalService.Kind, rebootPolicy.Kind, rebootPolicy.Kind}
		for i, kind := range want {
			if len(refusals) != len(want) || !strings.HasPrefix(refusals[i], kind) || !strings.Contains(refusals[i], "webhook") {
				t.Errorf("refusal %d of %q, want one of a webhook for %s", i, refusals, kind)
			}
		}
		s.runs()
		s.Eventually(func() error { return s.restore(objects) })
		s.isRestored(templates)
	}
}
