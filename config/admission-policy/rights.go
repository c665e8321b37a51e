// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admissionpolicy

import (
	"fmt"
	"strings"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// Each question about a right costs 350000 of the 1000000 that one expression and the 10000000 that
// one policy may cost (k8s.io/apiserver/pkg/cel/library, pkg/apis/cel). So each is an expression of its
// own, and there are at most 28 in a policy. Beyond these bounds only the webhook asks.
const (
	askedTargets  = 16
	askedTriggers = 12
	askedSources  = 2 // of one trigger
	askedGates    = 16
)

// sleep is a field that keeps an object from acting while it is true.
type sleep struct {
	field string
	// byDefault is what the field is where it is absent: where no webhook is called, no default is stored.
	byDefault bool
}

// command is an annotation that makes an object act whenever it changes to a value.
type command struct {
	annotation string
	// value that has the object act; "" for any.
	value string
}

// asking defines what all questions need: whether the object begins to act with this request, so that
// what it does already is asked about as well, and what the annotation claims.
func (c *content) asking(sleeps []sleep, commands ...command) {
	c.define("given", "object.metadata.?annotations[?%s].orValue('')", quote(common.ApprovedByAnnotation))
	c.define("stood", "oldObject == null ? '' : oldObject.metadata.?annotations[?%s].orValue('')", quote(common.ApprovedByAnnotation))
	woken := []string{"oldObject == null", "variables.claimed"}
	for _, s := range sleeps {
		woken = append(woken, fmt.Sprintf("(oldObject.spec.?%[1]s.orValue(%[2]t) && !object.spec.?%[1]s.orValue(%[2]t))", s.field, s.byDefault))
	}
	for _, o := range commands {
		acts := "!= ''"
		if o.value != "" {
			acts = "== " + quote(o.value)
		}
		woken = append(woken, fmt.Sprintf("(object.metadata.?annotations[?%[1]s].orValue('') %[2]s && object.metadata.?annotations[?%[1]s] != oldObject.metadata.?annotations[?%[1]s])", quote(o.annotation), acts))
	}
	c.define("claimed", "variables.given != '' && variables.given != variables.stood")
	c.define("asked", "%s", strings.Join(woken, " || "))
}

// approval keeps users from approving in another's name. What a user sends in the annotation is replaced by
// the mutating webhook, which writes the user's own name or nothing; where it was not asked, what the
// user sent is still there. Names that JSON writes otherwise than they are, or that are shortened, are
// not compared.
func (c *content) approval() {
	c.requireRight(fmt.Sprintf("metadata.annotations[%s]: only Fairlead's mutating webhook writes it, in your own name; leave it out, and try again once the webhook answers", common.ApprovedByAnnotation),
		`!variables.claimed || (size(variables.given) <= 2048 && variables.given.matches('^[{]"user":".*","digest":"sha256:[0-9a-f]{64}"[}]$')`+
			` && (!request.userInfo.username.matches('^[-A-Za-z0-9_.:@/#+= ]{1,256}$') || variables.given.startsWith('{"user":"' + request.userInfo.username + '","digest":"')))`)
}

// may is a question about a right in the object's namespace.
func may(verb, group, resource, subresource, name string) string {
	question := fmt.Sprintf("authorizer.group('%s').resource(%s)", group, resource)
	if subresource != "" {
		question += ".subresource('" + subresource + "')"
	}
	question += ".namespace(request.namespace)"
	if name != "" {
		question += ".name(" + name + ")"
	}
	return question + ".check(" + verb + ").allowed()"
}

// externalServiceRights are those of package webhooks/admission/externalservice that need no knowledge of the
// cluster's addresses: a user who claims an approval could publish them, and a user who has a Secret read
// may read it.
func externalServiceRights() content {
	c := content{}
	c.asking([]sleep{{field: "suspend"}})
	c.approval()
	const approving = "metadata.annotations[" + common.ApprovedByAnnotation + "]: you may not create %s in this namespace, so you cannot publish addresses of the cluster; ask for that right, or take these addresses out of spec.endpoints"
	c.requireRight(fmt.Sprintf(approving, "services"), "!variables.claimed || %s", may("'create'", "", "'services'", "", ""))
	c.requireRight(fmt.Sprintf(approving, "endpointslices.discovery.k8s.io"), "!variables.claimed || %s", may("'create'", "discovery.k8s.io", "'endpointslices'", "", ""))
	c.define("authority", "object.spec.?healthCheck.?tls.?caSecretName.orValue('')")
	c.define("readBefore", "oldObject != null && oldObject.spec.?healthCheck.?tls.?caSecretName.orValue('') == variables.authority"+
		" && !(oldObject.spec.?suspend.orValue(false) && !object.spec.?suspend.orValue(false))")
	c.requireRight("spec.healthCheck.tls.caSecretName: you may not get this Secret, which the operator would read; ask for the right to get it, or leave caSecretName out",
		"variables.authority == '' || variables.readBefore || %s", may("'get'", "", "'secrets'", "", "variables.authority"))
	const fault = "metadata.?annotations[?'" + networkingv1.InjectFaultAnnotation + "'].orValue('')"
	c.define("injects", "!(object.%s in ['', oldObject == null ? '' : oldObject.%s])", fault, fault)
	c.requireRight("metadata.annotations["+networkingv1.InjectFaultAnnotation+"]: you may not update endpointslices.discovery.k8s.io in this namespace, which the operator would do to inject the fault; ask for that right, or leave the annotation out",
		"!variables.injects || %s", may("'update'", "discovery.k8s.io", "'endpointslices'", "", ""))
	const adopt = "metadata.?annotations[?'" + networkingv1.AdoptServiceAnnotation + "'].orValue('') == 'true'"
	c.define("adopts", "object.%[1]s && (variables.asked || !(oldObject.%[1]s))", adopt)
	c.requireRight("metadata.annotations["+networkingv1.AdoptServiceAnnotation+"]: you may not update the Service of this name, which the operator would take over; ask for the right to update it, or leave the annotation out",
		"!variables.adopts || %s", may("'update'", "", "'services'", "", "object.metadata.?name.orValue('')"))
	return c
}

// chaosPodRights are what it takes to end pods, or to have a pod of one's own, or to have a ServiceAccount
// do so.
func chaosPodRights() content {
	c := content{}
	c.asking([]sleep{{field: "suspend"}, {field: "dryRun", byDefault: true}}, command{annotation: chaosv1.RunNowAnnotation}, command{annotation: chaosv1.ResumeAnnotation})
	c.approval()
	c.define("deletes", "object.spec.?action.?type.orValue('Evict') == 'Delete'")
	c.define("makes", "has(object.spec.target) && has(object.spec.target.template)")
	c.define("account", "object.spec.?serviceAccountName.orValue('')")
	c.define("new", "variables.asked || oldObject.spec.?action != object.spec.?action || oldObject.spec.?target != object.spec.?target"+
		" || oldObject.spec.?serviceAccountName != object.spec.?serviceAccountName")
	const remedy = ", and the operator does not do that for those who may not; ask for that right, or choose another "
	c.requireRight("spec.serviceAccountName: you may not impersonate this ServiceAccount; ask for that right, or leave the field out",
		"!variables.new || variables.account == '' || %s", may("'impersonate'", "", "'serviceaccounts'", "", "variables.account"))
	c.requireRight("spec.action.type: you may not delete pods in this namespace"+remedy+"action",
		"!variables.new || variables.account != '' || !variables.deletes || %s", may("'delete'", "", "'pods'", "", ""))
	c.requireRight("spec.action.type: you may not create pods/eviction in this namespace"+remedy+"action",
		"!variables.new || variables.account != '' || variables.deletes || %s", may("'create'", "", "'pods'", "eviction", ""))
	c.requireRight("spec.target.template: you may not create pods in this namespace"+remedy+"target",
		"!variables.new || variables.account != '' || !variables.makes || %s", may("'create'", "", "'pods'", "", ""))
	c.requireRight("spec.target: you may not read pods in this namespace, and the operator shows them only to those who may; ask for that right, or choose another target",
		"!variables.new || variables.makes || %s", may("(variables.account == '' ? 'get' : 'list')", "", "'pods'", "", ""))
	return c
}
