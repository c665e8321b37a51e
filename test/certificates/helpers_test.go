// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	serving     = "fairlead-webhook"
	servingKey  = "fairlead-webhook-tls"
	trustSecret = "fairlead-webhook-trust"
	issuing     = "--set=webhook.certificates.source=certManager"
	injectFrom  = "cert-manager.io/inject-ca-from-secret"
	certManager = "cert-manager"
)

var (
	certificates               = schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}
	requests                   = certificates.GroupVersion().WithResource("certificaterequests")
	issuers                    = certificates.GroupVersion().WithResource("issuers")
	secrets                    = corev1.SchemeGroupVersion.WithResource("secrets")
	leases                     = coordinationv1.SchemeGroupVersion.WithResource("leases")
	deployments                = appsv1.SchemeGroupVersion.WithResource("deployments")
	crds, mutating, validating = framework.CRDs, framework.MutatingWebhooks, framework.ValidatingWebhooks
)

// in is the suite of a part of the test.
func (s *suite) in(t *testing.T) *suite { return &suite{s.In(t)} }

// installCertManager runs cert-manager's controllers and its CA injector.
func (s *suite) installCertManager() {
	s.Helper()
	if installed := s.Component(certManager); installed != nil {
		s.Must(installed.Start(s.Context()))
		return
	}
	s.Must(s.StartCertManager(s.Context()))
}

// start runs replicas behind the Service, and returns when the API server reaches them. No Lease is
// lost because the machine is busy.
func (s *suite) start(count int, args ...string) []*framework.Replica {
	s.Helper()
	// Some leave under load, and close what has been silent for as long as the drain delay: on a busy
	// machine half a second of silence means nothing.
	args = framework.Patient(append([]string{"--set=webhook.drainDelay=2s"}, args...)...)
	var all []*framework.Replica
	for range count {
		r, err := s.StartReplica(s.Context(), args...)
		s.Must(err)
		s.Cleanup(func() { s.Retire(r) })
		all = append(all, r)
	}
	s.Must(s.Reachable(s.Context()))
	return all
}

// lacks waits until the replica goes on without a certificate, for a reason that holds every text.
func (s *suite) lacks(r *framework.Replica, texts ...string) {
	s.Helper()
	s.Eventually(func() error {
		all, err := r.Phases(s.Context())
		if err != nil {
			return err
		}
		for _, p := range all {
			if p.Phase == "certificates" && p.State == "late" {
				return framework.Holds(p.Detail, texts...)
			}
		}
		return fmt.Errorf("%s has no late phase: %+v", r.ID, all)
	})
	r.Stop()
}

// fails waits for a replica that was launched to end by itself with all of the texts in its log.
func (s *suite) fails(r *framework.Replica, texts ...string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), framework.Patience)
	defer cancel()
	if err := r.Wait(ctx); err == nil || ctx.Err() != nil {
		s.Fatalf("%s has not failed: %v", r.ID, err)
	}
	lines, err := r.Logs()
	s.Must(err)
	s.Expect(lines, texts...)
}
