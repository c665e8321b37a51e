// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"slices"
	"testing"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/rules/rulestest"
)

func TestNoObjectCostsMuchOrEndsTheProcess(t *testing.T) {
	for i := range rulestest.Objects(t, "testdata/good.yaml") {
		full := func() *v1.ExternalService {
			return rulestest.Typed[v1.ExternalService](t, rulestest.Objects(t, "testdata/good.yaml")[i])
		}
		rulestest.Hostile(t, full, func(obj *v1.ExternalService) {
			Default(obj)
			Validate(obj, obj.DeepCopy())
			Warnings(obj, obj.DeepCopy())
		})
	}
}

func TestAListThatIsTooLongIsRefused(t *testing.T) {
	one := v1.Endpoint{Addresses: []v1.IPAddress{"192.0.2.1"}}
	for name, spec := range map[string]v1.ExternalServiceSpec{
		"spec.ports":     {Ports: make([]v1.ServicePort, 101), Endpoints: []v1.Endpoint{one}},
		"spec.endpoints": {Ports: make([]v1.ServicePort, 1), Endpoints: slices.Repeat([]v1.Endpoint{one}, 101)},
	} {
		obj := &v1.ExternalService{Spec: spec}
		obj.Name = "a"
		if errs := Validate(obj, nil); len(errs) != 1 || errs[0].Field != name {
			t.Errorf("%s: %v", name, errs)
		}
	}
}
