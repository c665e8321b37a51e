// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/test/framework"
)

func TestWithoutElectionAReplicaReconcilesAtOnceWithoutTheLease(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	now := metav1.NowMicro()
	_, err := s.Kube.CoordinationV1().Leases(framework.Namespace).Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: leaseName},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("another"), LeaseDurationSeconds: ptr.To(int32(3600)), RenewTime: &now, AcquireTime: &now,
		},
	}, metav1.CreateOptions{})
	s.Must(err)
	r := s.start("--leader-elect=false")
	if got := r.reconciles().state("election"); got != "skipped" {
		t.Errorf("the election is %s", got)
	}
	namespace := s.NewNamespace()
	s.create(namespace, "one")
	s.reconciled(namespace, "one")
	if holder := ptr.Deref(s.lease().Spec.HolderIdentity, ""); holder != "another" {
		t.Errorf("the Lease has gone to %q", holder)
	}
}
