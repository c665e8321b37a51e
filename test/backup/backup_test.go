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
func (s *suite) isRestored(template corev1.PodTemplateSpec) {
	s.Helper()
	s.isSound()
	s.stays(template, s.pods())
	for reason, object := range acts {
		if events := s.Told(object[0], object[1])[reason]; len(events) > 0 {
			s.Errorf("%s", framework.Text(events))
		}
	}
	s.rotates("restored")
}

// A tool that knows nothing of Fairlead restores into a cluster in which Fairlead runs: into the namespace that was backed up,
// after a deletion, or into another one. What was changed since the backup is as it was.
func TestABackupIsRestored(t *testing.T) {
	t.Parallel()
	type restore struct{ version, status, order, into string }
	var all []restore
	for _, version := range []string{"v1", "v1alpha1"} {
		for _, status := range []string{"with", "without"} {
			for _, order := range []string{"Velero's", "the reverse"} {
				all = append(all, restore{version, status, order, "the same namespace"}, restore{version, status, order, "another namespace"})
			}
		}
	}
	for _, r := range framework.Sample(framework.NewSampler(t), 3, all) {
		t.Run(r.version+" "+r.status+" status in "+r.order+" order into "+r.into, func(t *testing.T) {
			t.Parallel()
			s := newSuite(t, open(t))
			s.makeWorld()
			template, objects := s.template(), s.export(r.version, r.status == "with")
			if r.order != "Velero's" {
				slices.Reverse(objects)
			}
			s.Kubectl("patch", "secret", "login", "--patch", `{"stringData": {"password": "since"}}`)
			if r.into == "another namespace" {
				s.Namespace = s.NewNamespace()
			} else {
				s.Kubectl("delete", "namespace", s.Namespace)
				s.Kubectl("create", "namespace", s.Namespace)
			}
			s.Eventually(func() error { return s.restore(objects) })
			s.isRestored(template)
		})
	}
}

// Where no replica serves webhooks yet, the objects of Fairlead alone are refused, and another restore adds them.
func TestABackupIsRestoredIntoAnotherCluster(t *testing.T) {
	t.Parallel()
	first := newSuite(t, open(t))
	first.makeWorld()
	template := first.template()
	another := openAnother(t, first.Servers)
	for _, version := range framework.Sample(framework.NewSampler(t), 1, []string{"v1", "v1alpha1"}) {
		objects := first.export(version, false)
		s := &suite{framework.NewTest(t, another), first.database}
		for _, replica := range s.Running() {
			s.Retire(replica)
		}
		err := s.restore(objects)
		if err == nil {
			t.Fatal("restored without webhooks")
		}
		refusals := strings.Split(err.Error(), "\n")
		for i, kind := range kinds {
			if len(refusals) != len(kinds) || !strings.HasPrefix(refusals[i], kind.Kind) || !strings.Contains(refusals[i], "webhook") {
				t.Errorf("refusal %d of %q, want one of a webhook for %s", i, refusals, kind.Kind)
			}
		}
		s.runs()
		s.Eventually(func() error { return s.restore(objects) })
		s.isRestored(template)
	}
}
