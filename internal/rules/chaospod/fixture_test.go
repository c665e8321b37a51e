// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"testing"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/internal/rules/rulestest"
)

const group, resource = "chaos.fairlead.dev", "chaospods"

// The objects of testdata/good.yaml.
const (
	workload = iota
	selector
	template
)

func typed(t testing.TB, obj map[string]any) *chaosv1.ChaosPod {
	t.Helper()
	return rulestest.Typed[chaosv1.ChaosPod](t, obj)
}
