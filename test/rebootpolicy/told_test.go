// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

func TestATriggerThatWatchesNothingIsTold(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.run(deployment, "web", bare)
	s.policy("p", "{"+targets(deployment, "web")+", "+onConfig+"}")
	s.watching("p", 1)
	s.explains("p", autorebootv1.ConditionReady, "trigger config watches nothing, since no target refers to a ConfigMap, Secret or SecretProviderClass that counts")
	s.set("p", "{triggers: [{name: chosen, type: ConfigChange, configChange: {discovery: Explicit, sources: [{kind: Secret, selector: {matchLabels: {restart: web}}}]}}]}")
	s.explains("p", autorebootv1.ConditionReady, "trigger chosen watches nothing, since no source matches its selectors")
}
