// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package chaospod

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
)

// The API server lets a ServiceAccount be impersonated that does not exist any more, with all that it was granted.
func TestADeletedServiceAccountKillsNothing(t *testing.T) {
	s := newSuite(t)
	s.MayBeRefusedIn(s.Namespace)
	s.run("web", 2, "")
	s.Make("{apiVersion: v1, kind: ServiceAccount, metadata: {name: killer}}")
	s.Grant("impersonator", "{kind: ServiceAccount, name: fairlead-manager, namespace: fairlead-system}",
		`{apiGroups: [""], resources: [serviceaccounts], resourceNames: [killer], verbs: [impersonate]}`)
	s.Grant("killer", "{kind: ServiceAccount, name: killer, namespace: "+s.Namespace+"}", `{apiGroups: [""], resources: [pods/eviction], verbs: [create]}`)
	s.chaos("c", "dryRun: false, serviceAccountName: killer, verification: {soak: 0s}, "+web+", "+someday)
	s.Delete("v1", "ServiceAccount", "killer")
	s.now("c", "1")
	s.ended("c", 1, chaosv1.ResultFailed)
	s.says("c", chaosv1.ConditionReady, metav1.ConditionFalse, chaosv1.ReasonForbidden, "the ServiceAccount does not exist")
}
