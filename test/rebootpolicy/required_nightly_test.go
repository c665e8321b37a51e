// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"fmt"
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// TestARestartForAnotherCauseWaitsForAKeyAsWell has a source that no trigger watches.
func TestARestartForAnotherCauseWaitsForAKeyAsWell(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.secret("creds", "pass", "first")
	s.run(deployment, "web", fmt.Sprintf(keyPlaces["env-of-secret"].pod, "creds", ""))
	s.configMap("settings", "color", "red")
	s.policy("p", "{"+targets(deployment, "web")+", triggers: [{name: one, type: ConfigChange, configChange: {discovery: Explicit, sources: [{kind: ConfigMap, name: settings}]}}]}")
	s.watching("p", 1)
	s.configMap("settings", "color", "blue")
	s.held("p", "web", autorebootv1.ReasonSourceMissing)
	s.explains("p", autorebootv1.ConditionWaiting, "new pods cannot start without Secret/creds with the key password")
	s.secret("creds", "password", "second")
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
}
