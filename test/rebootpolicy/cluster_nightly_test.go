// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestWhatIsRefusedInOneNamespaceStopsNothingInAnother(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	name := s.Namespace
	const n = 120 // more than one reconcile writes
	bounded, taken := "", ""
	for i := range n {
		namespace := s.NewNamespace()
		other := &suite{s.Test}
		other.Namespace = namespace
		other.workload(deployment, "web", takes("creds"), asks(common.RestartOnChangeAnnotation, "true"))
		switch i {
		case 7:
			bounded = namespace
			other.Make(`{apiVersion: v1, kind: ResourceQuota, metadata: {name: none}, spec: {hard: {count/rebootpolicies.autoreboot.fairlead.dev: "0"}}}`)
			other.Eventually(func() error {
				var quota corev1.ResourceQuota
				if err := other.Get("none", &quota); err != nil || len(quota.Status.Hard) == 0 {
					return fmt.Errorf("the quota is not known yet: %w", err)
				}
				return nil
			})
		case 8:
			taken = namespace
			other.policy(name, "{"+targets(deployment, "elsewhere")+", "+onConfig+"}")
		}
		s.label(namespace, name, "yes")
	}
	s.clusterPolicy(name, `targets: [{selector: {}, optIn: Annotation}]`)
	status := s.inStep(name, autorebootv1.ReasonWriteRefused, n, n-2, 2)
	reasons := map[string]autorebootv1.NamespaceRefusal{}
	for _, refusal := range status.Refusals {
		reasons[refusal.Namespace] = refusal
	}
	if r := reasons[bounded]; r.Reason != autorebootv1.ReasonWriteRefused || !strings.Contains(r.Message, "quota") {
		t.Errorf("the quota: %s", framework.Text(status.Refusals))
	}
	if r := reasons[taken]; r.Reason != autorebootv1.ClusterReasonNameTaken || !strings.Contains(r.Message, "rename one of the two") {
		t.Errorf("the name: %s", framework.Text(status.Refusals))
	}
}
