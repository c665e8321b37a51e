// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admissionpolicy

import (
	"fmt"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// Remedies, in the words of package webhooks/admission/authorization.
const (
	byAccount      = "; ask for that right, or name a ServiceAccount that has it in spec.serviceAccountName"
	anotherAccount = "; ask for that right, or leave the field out if you have the rights yourself"
	anotherTarget  = "; ask for that right, or name another target"
	withoutTrigger = "; ask for that right, or leave the trigger out"
	withoutSource  = "; ask for that right, or leave the source out"
	withoutGate    = "; ask for that right, or leave the gate out"
)

// askingPolicy defines what all questions about a RebootPolicy need.
func (c *content) askingPolicy() {
	c.asking([]sleep{{field: "suspend"}, {field: "dryRun"}},
		command{annotation: autorebootv1.RestartNowAnnotation}, command{annotation: autorebootv1.ResumeAnnotation},
		command{autorebootv1.OnInjectedFaultAnnotation, autorebootv1.OnInjectedFaultRestart})
}

// rebootPolicyRights are what it takes to restart the targets. Of an update only what is new is asked
// about, unless the policy begins to act with it.
func rebootPolicyRights() content {
	c := content{}
	c.askingPolicy()
	c.approval()
	c.define("account", "object.spec.?serviceAccountName.orValue('')")
	c.define("otherAccount", "variables.asked || oldObject.spec.?serviceAccountName.orValue('') != variables.account")
	c.requireRight("spec.serviceAccountName: you may not impersonate this ServiceAccount"+anotherAccount,
		"variables.account == '' || !variables.otherAccount || %s", may("'impersonate'", "", "'serviceaccounts'", "", "variables.account"))
	c.define("evicts", "object.spec.?strategy.?type.orValue('RolloutRestart') == 'Evict' && variables.account == ''")
	c.define("evictsNow", "variables.evicts && (variables.otherAccount || oldObject.spec.?strategy.?type.orValue('RolloutRestart') != 'Evict')")
	c.requireRight("spec.strategy.type: you may not create pods/eviction in this namespace"+byAccount,
		"!variables.evictsNow || %s", may("'create'", "", "'pods'", "eviction", ""))
	c.requireRight("spec.strategy.type: you may not get pods in this namespace"+byAccount,
		"!variables.evictsNow || %s", may("'get'", "", "'pods'", "", ""))
	c.define("executes", "object.spec.?triggers.orValue([]).exists(t, t.?probe.?exec.hasValue() && (variables.asked || !oldObject.spec.?triggers.orValue([]).exists(o, o.?probe.?exec == t.?probe.?exec)))")
	c.requireRight("spec.triggers[*].probe.exec: you may not create pods/exec in this namespace"+withoutTrigger,
		"!variables.executes || %s", may("'create'", "", "'pods'", "exec", ""))
	c.define("foreign", "object.spec.?triggers.orValue([]).filter(t, t.?probe.?httpGet.?host.orValue('') != '' && !(oldObject != null && oldObject.spec.?triggers.orValue([]).exists(o, o.?probe.?httpGet == t.?probe.?httpGet)))")
	c.requireRight("spec.triggers[*].probe.httpGet.headers: Authorization, Cookie and Proxy-Authorization are not sent to another host than the pods; leave the header or host out",
		"!variables.foreign.exists(t, t.probe.httpGet.?headers.orValue([]).exists(h, h.name.trim().lowerAscii() in ['authorization', 'cookie', 'proxy-authorization']))")
	c.define("targets", "object.spec.?targets.orValue([])")
	// One kind, name and selector after another; what stood before is left out, and so costs nothing.
	for i := range askedTargets {
		c.define(fmt.Sprintf("target%d", i), "size(variables.targets) > %[1]d && (variables.otherAccount || variables.evicts != (oldObject.spec.?strategy.?type.orValue('RolloutRestart') == 'Evict')"+
			" || !oldObject.spec.?targets.orValue([]).exists(o, o.?kind == variables.targets[%[1]d].?kind && o.?name == variables.targets[%[1]d].?name && o.?selector == variables.targets[%[1]d].?selector))", i)
		workload := fmt.Sprintf("variables.targets[%d]", i)
		resource := workload + ".kind.lowerAscii() + 's'"
		name := fmt.Sprintf("(has(%[1]s.selector) ? '' : %[1]s.?name.orValue(''))", workload)
		c.requireRight(fmt.Sprintf("spec.targets[%d]: you may not patch this workload, and the operator does not do that for those who may not%s", i, byAccount),
			"!variables.target%d || variables.evicts || variables.account != '' || %s", i, may("'patch'", "apps", resource, "", name))
		c.requireRight(fmt.Sprintf("spec.targets[%d]: you may not read this workload, and the operator shows it only to those who may%s", i, anotherTarget),
			"!variables.target%d || variables.account == '' || %s", i, may(reading(name), "apps", resource, "", name))
	}
	return c
}

// reading is the verb that shows one object, or those of a namespace.
func reading(name string) string { return "(" + name + " == '' ? 'list' : 'get')" }

// rebootPolicyReads are what it takes to have ConfigMaps, Secrets and ExternalServices observed.
func rebootPolicyReads() content {
	c := content{}
	c.askingPolicy()
	c.define("triggers", "object.spec.?triggers.orValue([])")
	c.define("before", "oldObject == null ? [] : oldObject.spec.?triggers.orValue([])")
	for i := range askedTriggers {
		trigger := fmt.Sprintf("variables.triggers[%d]", i)
		c.define(fmt.Sprintf("certificate%d", i), "size(variables.triggers) > %d ? %s.?certificateRenewal.?secretName.orValue('') : ''", i, trigger)
		c.requireRight(fmt.Sprintf("spec.triggers[%d].certificateRenewal.secretName: you may not get this Secret, which the operator would read%s", i, withoutTrigger),
			"variables.certificate%[1]d == '' || (!variables.asked && variables.before.exists(t, t.?certificateRenewal.?secretName.orValue('') == variables.certificate%[1]d)) || %[2]s",
			i, may("'get'", "", "'secrets'", "", fmt.Sprintf("variables.certificate%d", i)))
		c.define(fmt.Sprintf("sources%d", i), "size(variables.triggers) > %d ? %s.?configChange.?sources.orValue([]) : []", i, trigger)
		name := "(has(s.selector) ? '' : s.?name.orValue(''))"
		c.requireRight(fmt.Sprintf("spec.triggers[%d].configChange.sources: you may not read one of these, which the operator would read%s", i, withoutSource),
			"size(variables.sources%[1]d) > %[2]d || variables.sources%[1]d.all(s, (!variables.asked && variables.before.exists(t, t.?configChange.?sources.orValue([]).exists(o, o.?kind == s.?kind && o.?name == s.?name && o.?selector == s.?selector))) || %[3]s)",
			i, askedSources, may(reading(name), "", "s.kind.lowerAscii() + 's'", "", name))
		c.define(fmt.Sprintf("external%d", i), "size(variables.triggers) > %d ? %s.?endpointsChange.?externalServiceName.orValue('') : ''", i, trigger)
		c.requireRight(fmt.Sprintf("spec.triggers[%d].endpointsChange.externalServiceName: you may not get this ExternalService, which the operator would read%s", i, withoutTrigger),
			"variables.external%[1]d == '' || (!variables.asked && variables.before.exists(t, t.?endpointsChange.?externalServiceName.orValue('') == variables.external%[1]d)) || %[2]s",
			i, may("'get'", networkingv1.GroupVersion.Group, "'externalservices'", "", fmt.Sprintf("variables.external%d", i)))
	}
	return c
}

// rebootPolicyGates are what it takes to have gates observed. A gate of a type that is not listed here is refused.
func rebootPolicyGates() content {
	c := content{}
	c.askingPolicy()
	c.define("gates", "object.spec.?gates.orValue([])")
	c.define("before", "oldObject == null ? [] : oldObject.spec.?gates.orValue([])")
	for i := range askedGates {
		gate := fmt.Sprintf("variables.gates[%d]", i)
		name := gate + ".?name.orValue('')"
		c.define(fmt.Sprintf("gate%d", i), "size(variables.gates) > %d && (variables.asked || !variables.before.exists(o, o.?type == %[2]s.?type && o.?kind == %[2]s.?kind && o.?name == %[2]s.?name && o.?selector == %[2]s.?selector))", i, gate)
		may := func(verb, group, resource, name string) string { return may("'"+verb+"'", group, resource, "", name) }
		c.requireRight(fmt.Sprintf("spec.gates[%d]: you may not read what decides whether this gate is open, and the operator shows it only to those who may%s", i, withoutGate),
			"!variables.gate%[1]d || (%[2]s.type == '%[3]s' ? %[4]s : %[2]s.type == '%[5]s' ? %[6]s : %[2]s.type == '%[7]s' ? %[8]s : %[2]s.type == '%[9]s' && %[10]s)", i, gate,
			autorebootv1.GateNoPods, may("list", "", "'pods'", ""),
			autorebootv1.GateExternalServiceHealthy, may("get", networkingv1.GroupVersion.Group, "'externalservices'", name),
			autorebootv1.GateWorkloadAvailable, may("get", "apps", gate+".?kind.orValue('').lowerAscii() + 's'", name),
			autorebootv1.GateChaosSurvived, may("get", chaosv1.GroupVersion.Group, "'chaospods'", name))
	}
	return c
}
