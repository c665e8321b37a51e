// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// ExternalServices returns the names of the ExternalServices that the gates and triggers of a policy name, each once.
func ExternalServices(spec *v1.RebootPolicySpec) []string {
	var names []string
	for i := range spec.Gates {
		if c := spec.Gates[i].Condition; IsExternalService(c) {
			names = append(names, c.Name)
		}
	}
	for i := range spec.Triggers {
		if e := spec.Triggers[i].EndpointsChange; e != nil {
			names = append(names, e.ExternalServiceName)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// onInjectedFault checks the value of OnInjectedFaultAnnotation.
func onInjectedFault(obj *v1.RebootPolicy) field.ErrorList {
	allowed := []string{v1.OnInjectedFaultHold, v1.OnInjectedFaultRestart}
	value, has := obj.Annotations[v1.OnInjectedFaultAnnotation]
	if !has || slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(rules.At("metadata", "annotations").Key(v1.OnInjectedFaultAnnotation).Field(), value, allowed)}
}
