// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/internal/crdschema"
	"github.com/fairlead-dev/fairlead/internal/rules/validationtest"
)

const group, resource = "chaos.fairlead.dev", "chaospods"

func typed(t testing.TB, obj map[string]any) *chaosv1.ChaosPod {
	t.Helper()
	return validationtest.Typed[chaosv1.ChaosPod](t, obj)
}

// validate returns what the CRD and Structural say of the same object, as the API server would
// ask: with the schema's defaults filled in and unknown fields dropped.
func validate(t testing.TB, kind *crdschema.Kind, obj, old map[string]any) (byCRD, byGo field.ErrorList) {
	t.Helper()
	obj = runtime.DeepCopyJSON(obj)
	kind.Default("v1", obj)
	kind.Prune("v1", obj)
	var stored *chaosv1.ChaosPod
	if old != nil {
		stored = typed(t, old)
	}
	return kind.Validate(context.Background(), "v1", obj, old), Structural(typed(t, obj), stored)
}
