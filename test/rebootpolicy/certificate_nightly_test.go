// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"fmt"
	"testing"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

func TestARenewalIsUrgentOnceWhatThePodsHoldIsAboutToExpire(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	window, _ := far()
	for name, left := range map[string]time.Duration{"urgent": time.Hour, "leisure": 48 * time.Hour} {
		cert, key := s.certificate(left)
		s.secret(name, "tls.crt", cert, "tls.key", key)
		s.run(deployment, name, bare)
		s.policy(name, "{"+targets(deployment, name)+`, triggers: [{name: tls, type: CertificateRenewal, certificateRenewal: {secretName: `+name+"}}], windows: "+window+"}")
		s.watching(name, 1)
		cert, key = s.certificate(1000 * time.Hour)
		s.secret(name, "tls.crt", cert, "tls.key", key)
	}
	s.held("leisure", "leisure", autorebootv1.ReasonOutsideWindow)
	s.succeeded("urgent", 1)
	s.restarted(deployment, "urgent", 1)
	s.restarted(deployment, "leisure", 0)
}

func TestACertificateRestartsWhenItIsRenewedAndNotWhenItIsWrittenAgain(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	cert, key := s.certificate(time.Hour)
	s.secret("tls", "tls.crt", cert, "tls.key", key)
	s.run(deployment, "web", bare)
	s.run(deployment, "marker", takes("tls"))
	s.policy("p", "{"+targets(deployment, "web")+`, triggers: [{name: tls, type: CertificateRenewal, certificateRenewal: {secretName: tls}}]}`)
	s.policy("all", "{"+targets(deployment, "marker")+", "+onConfig+"}")
	s.watching("p", 1)
	s.watching("all", 1)

	// The same certificate, written otherwise, with an issuer after it and another CA beside it.
	issuer, _ := s.certificate(24 * time.Hour)
	s.secret("tls", "tls.crt", "subject=/CN=shop\n"+cert+issuer, "tls.key", key, "ca.crt", issuer)
	s.succeeded("all", 1)
	s.Never(func() error { return s.quiet("p", 0) })

	// What is no certificate tells nothing.
	s.secret("tls", "tls.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "tls.key", key)
	s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
		if len(st.Triggers) != 1 || st.Triggers[0].State != autorebootv1.TriggerUnknown || st.Triggers[0].Reason == "" {
			return fmt.Errorf("want the trigger Unknown, with a reason")
		}
		return nil
	})
	s.succeeded("all", 2)
	s.Must(s.quiet("p", 0))

	renewed, key := s.certificate(2 * time.Hour)
	s.secret("tls", "tls.crt", renewed, "tls.key", key)
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
}
