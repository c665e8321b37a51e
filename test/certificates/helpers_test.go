// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	// patience is how long a condition may take. The machine may be a busy one.
	patience = 3 * time.Minute

	serving     = "fairlead-webhook"
	servingKey  = "fairlead-webhook-tls"
	trustSecret = "fairlead-webhook-trust"
	issuing     = "--webhook-certificates=certManager"
	injectFrom  = "cert-manager.io/inject-ca-from-secret"
)

var (
	certificates = schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}
	crds         = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	mutating     = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"}
	validating   = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
)

// start runs replicas behind the Service, and returns when the API server reaches them. No Lease is
// lost because the machine is busy.
func (s *suite) start(count int, args ...string) []*framework.Replica {
	s.Helper()
	// Some leave under load, and close what has been silent for as long as the drain delay: on a busy
	// machine half a second of silence means nothing.
	patient := []string{"--leader-elect-lease-duration=240s", "--leader-elect-renew-deadline=200s", "--webhook-drain-delay=2s"}
	var all []*framework.Replica
	for range count {
		r, err := s.StartReplica(s.Context(), append(patient, args...)...)
		s.must(err)
		all = append(all, r)
	}
	s.must(s.Reachable(s.Context()))
	return all
}

// must ends the test on an error.
func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// eventually waits until ask returns nil.
func (s *suite) eventually(ask func() error) {
	s.Helper()
	s.must(framework.Eventually(s.Context(), patience, func(context.Context) error { return ask() }))
}

// kubectl runs it as the administrator; a failure ends the test.
func (s *suite) kubectl(args ...string) string {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	out, err := s.Kubectl(ctx, args...)
	s.must(err)
	return out
}

// apply applies manifests as the administrator.
func (s *suite) apply(manifests string) {
	s.Helper()
	if _, problems, err := s.KubectlIn(s.Context(), "", manifests, "apply", "--server-side", "-f", "-"); err != nil {
		s.Fatalf("apply: %v: %s", err, problems)
	}
}

// fails waits for a replica that was launched to end by itself with all of the texts in its log.
func (s *suite) fails(r *framework.Replica, texts ...string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	if err := r.Wait(ctx); err == nil || ctx.Err() != nil {
		s.Fatalf("%s has not failed: %v", r.ID, err)
	}
	lines, err := r.Logs()
	s.must(err)
	for _, text := range texts {
		if !strings.Contains(lines, text) {
			s.Errorf("%q is not in the log of %s:\n%s", text, r.ID, lines)
		}
	}
}
