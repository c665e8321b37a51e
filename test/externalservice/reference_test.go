// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package externalservice

import (
	"fmt"
	"net/http"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// TestAReplicaThatIsCutOffFromTheAPIServerLeavesObjectsAsTheyAre has everything that is checked fail while
// the API server does not reply. Nameservers reply throughout, and there are too few objects for a
// majority, so that the API server alone shows whose fault it is.
func TestAReplicaThatIsCutOffFromTheAPIServerLeavesObjectsAsTheyAre(t *testing.T) {
	t.Parallel()
	common := newSuite(t)
	own := tests.OpenFor(t, framework.Options{Servers: common.Servers, Cluster: cluster.Options{WithoutControllerManager: true}})
	s := &suite{framework.Test{T: t, Cluster: own, Namespace: "default"}}
	gateway, err := own.NewGateway(t.TempDir())
	s.Must(err)
	t.Cleanup(gateway.Close)
	_, err = own.StartReplica(t.Context(), framework.Patient("--kubeconfig="+gateway.Kubeconfig)...)
	s.Must(err)
	s.Must(own.Reachable(t.Context()))

	c := s.crowd()
	addresses := []string{common.Servers.Address(), common.Servers.Address()}
	s.apply("db", c.spec(addresses))
	s.condition("db", networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
	before := sliceVersions(s.Slices("db"))
	checkedAgain := func() {
		s.Helper()
		at := netip.MustParseAddr(addresses[0])
		seen := c.fleet.Count(at)
		s.Eventually(func() error {
			if n := c.fleet.Count(at) - seen; n < 6 {
				return fmt.Errorf("%s was checked %d times more, waiting for 6", at, n)
			}
			return nil
		})
	}

	// First only the question of the reference is dropped: what the replica decides could still be written.
	gateway.Hold(func(r *http.Request) bool { return r.URL.Path == "/version" })
	c.fail(addresses...)
	s.condition("db", networkingv1.ConditionHealthy, metav1.ConditionUnknown, networkingv1.ReasonProbesInconclusive)
	checkedAgain()
	s.publishes("db", addresses...)
	// Then everything is.
	gateway.Cut(func(*http.Request) bool { return true })
	checkedAgain()
	c.fail()
	gateway.Cut(func(*http.Request) bool { return false })
	gateway.Resume()
	s.condition("db", networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
	s.publishes("db", addresses...)
	if diff := cmp.Diff(before, sliceVersions(s.Slices("db"))); diff != "" {
		t.Errorf("slices were written (-before +now):\n%s", diff)
	}

	// With the API server in reach, the same failures are believed.
	c.fail(addresses...)
	s.condition("db", networkingv1.ConditionHealthy, metav1.ConditionFalse, networkingv1.ReasonNoneHealthy)
	s.publishes("db")
}
