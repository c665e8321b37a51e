// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// The level of the log changes while a replica runs, for those who have the right, and without one nothing does.
func TestTheLevelOfTheLogIsChangedByThoseWhoMay(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	reader := s.metricsToken()
	s.run("create", "serviceaccount", "operator")
	s.run("create", "clusterrole", s.Namespace+"-level", "--verb=post", "--non-resource-url=/debug/flags/v")
	s.run("create", "clusterrolebinding", s.Namespace+"-level", "--clusterrole="+s.Namespace+"-level", "--serviceaccount="+s.Namespace+":operator")
	s.Cleanup(func() {
		for _, kind := range []string{"clusterrolebinding", "clusterrole"} {
			_, _ = s.Cluster.Kubectl(context.Background(), "delete", kind, s.Namespace+"-level")
		}
	})
	token, replica := strings.TrimSpace(s.run("create", "token", "operator")), s.Leader()
	set := func(token, level string) (string, error) {
		return replica.Ask(t.Context(), token, http.MethodPost, "/debug/flags/v", level)
	}
	for want, token := range map[int]string{http.StatusUnauthorized: "", http.StatusForbidden: reader} {
		if _, err := set(token, "debug"); err == nil || !strings.Contains(err.Error(), fmt.Sprintf(": %d ", want)) {
			t.Errorf("want status %d: %v", want, err)
		}
	}
	s.Eventually(func() error { _, err := set(token, "5"); return err }) // at which controller-runtime logs each reconcile
	s.Make("{apiVersion: networking.fairlead.dev/v1, kind: ExternalService, metadata: {name: db}, spec: {ports: [{name: pg, port: 5432}], endpoints: [{name: a, addresses: [192.0.2.1]}]}}")
	s.Eventually(func() error {
		lines, err := replica.Logs()
		if err == nil && !strings.Contains(lines, `"level":"debug"`) {
			err = errors.New("nothing is logged in detail")
		}
		return err
	})
	if _, err := set(token, "8"); err == nil || !strings.Contains(err.Error(), "above it, client-go would log Secrets") {
		t.Error(err)
	}
	if said, err := set(token, "info"); err != nil || !strings.Contains(said, "info") {
		t.Errorf("%s: %v", said, err)
	}
}
