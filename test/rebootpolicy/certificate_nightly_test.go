// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
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
