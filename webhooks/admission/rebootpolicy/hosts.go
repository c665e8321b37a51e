// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/admission/authorization"
)

// hostsOf returns the addresses that probes of triggers and of the verification name.
func hostsOf(spec *autorebootv1.RebootPolicySpec) authorization.Hosts {
	var hosts authorization.Hosts
	for i := range spec.Triggers {
		if p := spec.Triggers[i].Probe; p != nil {
			hosts.Add(field.NewPath("spec", "triggers").Index(i).Child("probe", "host"), ptr.Deref(p.Host, ""), p.Port(),
				"leave host out to check every pod of the target")
		}
	}
	if v := spec.Verification; v != nil {
		hosts.AddVerification(field.NewPath("spec"), &v.Verification)
	}
	return hosts
}

// hosts refuses addresses that no writer may have probed. Addresses that an update does not change stay.
func (a *authorizer) hosts(req admission.Request, obj, old *autorebootv1.RebootPolicy) field.ErrorList {
	var stored authorization.Hosts
	if old != nil && !starts(obj, old) {
		stored = hostsOf(&old.Spec)
	}
	return hostsOf(&obj.Spec).Check(a.policy, req, stored)
}
