// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// credentialHeaders are the headers by which a request acts in the name of another.
var credentialHeaders = []string{"Authorization", "Cookie", "Proxy-Authorization"}

// credentials refuses headers with credentials in probes of another host than the pods: the operator would send requests
// that act for a user from a place in the network which no NetworkPolicy of the writer's covers, and the result shows
// what came of them. What an update leaves as it is stays.
func credentials(obj, old *autorebootv1.RebootPolicy) field.ErrorList {
	var errs field.ErrorList
	for i := range obj.Spec.Triggers {
		check := httpGetOf(&obj.Spec.Triggers[i])
		if check == nil || check.Host == "" || old != nil && slices.ContainsFunc(old.Spec.Triggers, func(t autorebootv1.Trigger) bool {
			return equality.Semantic.DeepEqual(httpGetOf(&t), check)
		}) {
			continue
		}
		at := field.NewPath("spec", "triggers").Index(i).Child("probe", "httpGet", "headers")
		for j, header := range check.Headers {
			if slices.ContainsFunc(credentialHeaders, func(name string) bool { return strings.EqualFold(name, strings.TrimSpace(header.Name)) }) {
				errs = append(errs, field.Forbidden(at.Index(j).Child("name"), fmt.Sprintf(
					"%s is not sent to another host than the pods; leave the header out, or leave host out to have every pod of the target asked itself", header.Name)))
			}
		}
	}
	return errs
}

// httpGetOf returns the HTTP check of a trigger; nil where it has none.
func httpGetOf(t *autorebootv1.Trigger) *autorebootv1.HTTPGet {
	if t.Probe == nil {
		return nil
	}
	return t.Probe.HTTPGet
}
