// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/rules/rulestest"
)

const group, resource = "autoreboot.fairlead.dev", "rebootpolicies"

func typed(t testing.TB, obj map[string]any) *autorebootv1.RebootPolicy {
	t.Helper()
	return rulestest.Typed[autorebootv1.RebootPolicy](t, obj)
}

// full is an object that sets every kind of trigger and every block, and breaks no rule.
func full(t testing.TB) *autorebootv1.RebootPolicy {
	t.Helper()
	return typed(t, rulestest.Objects(t, "testdata/good.yaml")[0])
}
