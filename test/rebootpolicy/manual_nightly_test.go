// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"testing"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

func TestRestartNowWaitsForABlackoutAllTheSame(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.run(deployment, "web", bare)
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+", blackouts: "+always+"}")
	s.watching("p", 1)
	s.annotate("p", autorebootv1.RestartNowAnnotation, time.Now().Format(time.RFC3339))
	s.held("p", "web", autorebootv1.ReasonBlackout)
	s.restarted(deployment, "web", 0)
	s.set("p", "{blackouts: null}")
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
}
