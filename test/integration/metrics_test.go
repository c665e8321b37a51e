// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// metricsToken is the token of a ServiceAccount that may read the operator's metrics.
func (s *suite) metricsToken() string {
	s.Helper()
	s.run("create", "serviceaccount", "reader")
	s.run("create", "clusterrolebinding", s.Namespace+"-reader", "--clusterrole=fairlead-metrics-reader", "--serviceaccount="+s.Namespace+":reader")
	s.Cleanup(func() {
		_, _ = s.Cluster.Kubectl(context.Background(), "delete", "clusterrolebinding", s.Namespace+"-reader")
	})
	return strings.TrimSpace(s.run("create", "token", "reader"))
}

// metrics reads a replica's metrics.
func (s *suite) metrics(replica *framework.Replica, token string) framework.Samples {
	s.Helper()
	var m framework.Samples
	s.Eventually(func() error {
		page, err := replica.Page(s.Context(), token)
		m = framework.ReadSamples(page)
		return err
	})
	return m
}

func TestMetricsAreShownToThoseWhoMayReadThem(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.run("create", "serviceaccount", "stranger")
	stranger := strings.TrimSpace(s.run("create", "token", "stranger"))
	token := s.metricsToken()
	for _, replica := range s.Running() {
		if samples := s.metrics(replica, token); samples.Sum("fairlead_webhook_ready") != 1 {
			t.Errorf("%s: fairlead_webhook_ready is %v", replica.ID, samples.Sum("fairlead_webhook_ready"))
		}
		for want, token := range map[int]string{http.StatusUnauthorized: "", http.StatusForbidden: stranger} {
			if page, err := replica.Page(t.Context(), token); err == nil || !strings.Contains(err.Error(), fmt.Sprintf(": %d ", want)) || strings.Contains(page, "fairlead_") {
				t.Errorf("%s: want status %d: %v %s", replica.ID, want, err, page)
			}
		}
	}
}
