// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// columns is the width of a terminal that is not scrolled sideways, and realistic the length of a name such as that of a workload.
const (
	columns   = 100
	realistic = "payments-ledger-database"
)

// Each column has the longest reason that it can have.
func TestKubectlGetFitsATerminal(t *testing.T) {
	s := newSuite(t)
	s.pause()
	now := metav1.Now().UTC().Format(time.RFC3339)
	for kind, fields := range map[string]map[string]any{
		"ExternalService": {"clusterIP": "10.100.200.250", "addresses": map[string]any{"total": int64(12), "healthy": int64(12), "published": int64(12)}},
		"RebootPolicy":    {"watchedTargets": int64(12), "lastRestartTime": now, "nextAllowedTime": now},
		"ChaosPod":        {"nextRunTime": now, "lastRunTime": now},
	} {
		m := s.manifest(kind, "v1", realistic, specs[kind]["v1"])
		s.Apply(marshal(t, m))
		var conditions []any
		for of, all := range conditionsOf(kind) {
			longest := all[0].(map[string]any)
			for _, c := range all {
				if c := c.(map[string]any); len(c["reason"].(string)) > len(longest["reason"].(string)) {
					longest = c
				}
			}
			conditions = append(conditions, map[string]any{"type": of, "status": longest["status"], "reason": longest["reason"], "message": "", "lastTransitionTime": now})
		}
		fields["conditions"], fields["observedGeneration"] = conditions, int64(1)
		live := s.get(m, "v1")
		live.Object["status"] = fields
		_, err := s.at(kind, "v1").UpdateStatus(s.Context(), live, metav1.UpdateOptions{})
		s.Must(err)
		narrow, wide := s.Kubectl("get", at(m, "v1")), s.Kubectl("get", at(m, "v1"), "-o", "wide")
		t.Logf("%s:\n%s%s", kind, narrow, wide)
		for line := range strings.Lines(narrow) {
			if width := len(strings.TrimSpace(line)); width > columns {
				t.Errorf("%s: %d characters: %s", kind, width, line)
			}
		}
		for column, where := range map[string][2]bool{"READY": {true, true}, "STATE": {true, true}, "SUSPENDED": {false, true}, "WAITING-FOR": {kind == "RebootPolicy", true}} {
			if is := [2]bool{strings.Contains(narrow, column), strings.Contains(wide, column)}; is != where {
				t.Errorf("%s: column %s is shown %v, want %v", kind, column, is, where)
			}
		}
	}
}

// A client may wait for the end of what has not begun.
func TestKubectlWaitsForWhatDoesNotHold(t *testing.T) {
	s := newSuite(t)
	s.reconcile()
	s.Apply(deployment)
	var manifests []*unstructured.Unstructured
	for kind, byVersion := range specs {
		m := s.manifest(kind, "v1", "first", byVersion["v1"])
		s.Apply(marshal(t, m))
		manifests = append(manifests, m)
	}
	for _, m := range manifests {
		for _, version := range versions {
			for _, condition := range []string{"Suspended=false", "Waiting=false"} {
				s.Kubectl("wait", "--for=condition="+condition, "--timeout=1m", at(m, version))
			}
		}
		s.Merge(m.GetAPIVersion(), m.GetKind(), m.GetName(), "{spec: {suspend: true}}")
		s.Kubectl("wait", "--for=condition=Suspended", "--timeout=1m", at(m, "v1"))
		if shown := s.Kubectl("get", at(m, "v1")); !strings.Contains(shown, " Suspended ") {
			t.Errorf("STATE does not say that it is suspended:\n%s", shown)
		}
		s.Merge(m.GetAPIVersion(), m.GetKind(), m.GetName(), "{spec: {suspend: false}}")
		s.Kubectl("wait", "--for=condition=Suspended=false", "--timeout=1m", at(m, "v1"))
	}
}
