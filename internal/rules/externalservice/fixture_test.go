// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"testing"

	"sigs.k8s.io/yaml"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

const group, resource = "networking.fairlead.dev", "externalservices"

// parse reads a spec in YAML into an object named "billing-db".
func parse(t testing.TB, spec string) *v1.ExternalService {
	t.Helper()
	obj := &v1.ExternalService{}
	obj.Name, obj.Namespace = "billing-db", "shop"
	if err := yaml.UnmarshalStrict([]byte(spec), &obj.Spec); err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	return obj
}
