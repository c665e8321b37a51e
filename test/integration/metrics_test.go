// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"context"
	"crypto/tls"
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
	s.run("create", "clusterrolebinding", s.namespace+"-reader", "--clusterrole=fairlead-metrics-reader", "--serviceaccount="+s.namespace+":reader")
	s.Cleanup(func() {
		_, _ = s.shared.Kubectl(context.Background(), "delete", "clusterrolebinding", s.namespace+"-reader")
	})
	return strings.TrimSpace(s.run("create", "token", "reader"))
}

// metrics reads a replica's metrics.
func (s *suite) metrics(replica *framework.Replica, token string) framework.Samples {
	s.Helper()
	var m framework.Samples
	s.eventually(func() error {
		code, page, err := s.fetchMetrics(replica, token)
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("metrics of %s: status %d: %s", replica.ID, code, page)
		}
		m = framework.ReadSamples(page)
		return err
	})
	return m
}

func (s *suite) fetchMetrics(replica *framework.Replica, token string) (int, string, error) {
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, replica.Metrics+"/metrics", nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	// The metrics server signs its own certificate unless it is given one.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	var page strings.Builder
	_, err = bufio.NewReader(response.Body).WriteTo(&page)
	return response.StatusCode, page.String(), err
}

func TestMetricsAreShownToThoseWhoMayReadThem(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.run("create", "serviceaccount", "stranger")
	stranger := strings.TrimSpace(s.run("create", "token", "stranger"))
	token := s.metricsToken()
	for _, replica := range s.shared.replicas {
		if samples := s.metrics(replica, token); samples.Sum("fairlead_webhook_ready") != 1 {
			t.Errorf("%s: fairlead_webhook_ready is %v", replica.ID, samples.Sum("fairlead_webhook_ready"))
		}
		for want, token := range map[int]string{http.StatusUnauthorized: "", http.StatusForbidden: stranger} {
			if code, page, err := s.fetchMetrics(replica, token); err != nil || code != want || strings.Contains(page, "fairlead_") {
				t.Errorf("%s: status %d, want %d; %v %s", replica.ID, code, want, err, page)
			}
		}
	}
}
