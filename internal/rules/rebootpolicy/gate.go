// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

func gates(path rules.Path, list []autorebootv1.Gate) field.ErrorList {
	errs := rules.Items(path, len(list), 0, 16)
	list = rules.Within(list, 16)
	for i := range list {
		errs = append(errs, gate(path.Index(i), &list[i])...)
	}
	return append(errs, rules.Names(path, len(list), func(i int) string { return list[i].Name })...)
}

func gate(path rules.Path, g *autorebootv1.Gate) field.ErrorList {
	type member = rules.Member[autorebootv1.GateType]
	errs := rules.Union(path, g.Type,
		member{Type: autorebootv1.GateExternalServiceHealthy, Field: "externalServiceHealthy", IsSet: g.ExternalServiceHealthy != nil},
		member{Type: autorebootv1.GateWorkloadAvailable, Field: "workloadAvailable", IsSet: g.WorkloadAvailable != nil},
		member{Type: autorebootv1.GateNoPods, Field: "noPods", IsSet: g.NoPods != nil},
		member{Type: autorebootv1.GateChaosSurvived, Field: "chaosSurvived", IsSet: g.ChaosSurvived != nil},
		member{Type: autorebootv1.GatePrometheusQueryEmpty, Field: "prometheusQueryEmpty", IsSet: g.PrometheusQueryEmpty != nil},
		member{Type: autorebootv1.GateApproval})
	if e := g.ExternalServiceHealthy; e != nil {
		errs = append(errs, rules.Text(path.Child("externalServiceHealthy", "name"), e.Name, 1, 63)...)
	}
	errs = append(errs, rules.Workload(path.Child("workloadAvailable"), g.WorkloadAvailable, appsKinds...)...)
	if n := g.NoPods; n != nil {
		at := path.Child("noPods", "selector")
		if n.Selector == nil {
			errs = append(errs, field.Required(at.Field(), "{} selects all pods of the namespace"))
		}
		errs = append(errs, rules.Selector(at, n.Selector)...)
	}
	if c := g.ChaosSurvived; c != nil {
		at := path.Child("chaosSurvived")
		errs = append(errs, rules.Text(at.Child("name"), c.Name, 1, 253)...)
		errs = append(errs, optionalDuration(at.Child("within"), c.Within)...)
	}
	if p := g.PrometheusQueryEmpty; p != nil {
		errs = append(errs, rules.Text(path.Child("prometheusQueryEmpty", "query"), p.Query, 1, 2048)...)
	}
	return errs
}

// gateSemantics checks what the schema cannot express of a gate.
func gateSemantics(path rules.Path, g *autorebootv1.Gate) field.ErrorList {
	var errs field.ErrorList
	if e := g.ExternalServiceHealthy; e != nil {
		errs = append(errs, label(path.Child("externalServiceHealthy", "name"), e.Name)...)
	}
	if w := g.WorkloadAvailable; w != nil {
		errs = append(errs, subdomain(path.Child("workloadAvailable", "name"), w.Name)...)
	}
	if n := g.NoPods; n != nil {
		errs = append(errs, rules.SelectorSyntax(path.Child("noPods", "selector"), n.Selector)...)
	}
	if c := g.ChaosSurvived; c != nil {
		at := path.Child("chaosSurvived")
		errs = append(errs, subdomain(at.Child("name"), c.Name)...)
		errs = append(errs, rules.Positive(at.Child("within"), c.Within)...)
	}
	return errs
}
