// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package rebootpolicy

import (
	"testing"
)

func TestASourceThatAppearsOrGoesRestartsWhereThatIsAskedFor(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.run(deployment, "web", bare)
	s.policy("p", "{"+targets(deployment, "web")+`, triggers: [{name: both, type: ConfigChange, configChange: {discovery: Explicit,
		onCreate: Restart, onDelete: Restart, sources: [{kind: ConfigMap, name: flags, optional: true}]}}]}`)
	s.watching("p", 1)
	s.configMap("flags", "beta", "on")
	s.succeeded("p", 1)
	s.Delete("v1", "ConfigMap", "flags")
	s.succeeded("p", 2)
	s.restarted(deployment, "web", 2)
}
