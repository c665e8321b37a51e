// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/crdschema"
	"github.com/fairlead-dev/fairlead/internal/rules/validationtest"
)

const group, resource = "autoreboot.fairlead.dev", "rebootpolicies"

func typed(t testing.TB, obj map[string]any) *autorebootv1.RebootPolicy {
	t.Helper()
	return validationtest.Typed[autorebootv1.RebootPolicy](t, obj)
}

// full is an object that sets every kind of trigger and every block, and breaks no rule.
func full(t testing.TB) *autorebootv1.RebootPolicy {
	t.Helper()
	return typed(t, validationtest.Objects(t, "testdata/good.yaml")[0])
}

// validate returns what the CRD and Structural say of the same object. Both see what the typed
// object holds, since that is all that admission sees of it.
func validate(t testing.TB, kind *crdschema.Kind, obj *autorebootv1.RebootPolicy) (byCRD, byGo field.ErrorList) {
	t.Helper()
	tree := validationtest.Untyped(t, obj)
	kind.Default("v1", tree)
	kind.Prune("v1", tree)
	return kind.Validate(context.Background(), "v1", tree, nil), Structural(obj, nil)
}
