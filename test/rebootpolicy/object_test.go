// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// An object of another kind is read once an administrator has granted that to the operator, and one of its fields counts.
func TestAFieldOfAnyObjectRestartsOnceItChanges(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.MayBeRefusedIn(s.Namespace)
	s.run(deployment, "web", bare)
	s.Apply(`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: shop, annotations: {example.com/version: "1"}},
		spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}}`)
	of := func(object string) string {
		return "{" + targets(deployment, "web") + ", triggers: [{name: config, type: ConfigChange, configChange: {discovery: Explicit, sources: [{kind: Object, name: shop, object: {" + object + "}}]}}]}"
	}
	s.policy("p", of(`apiVersion: networking.k8s.io/v1, resource: ingresses, fieldPath: "metadata.annotations['example.com/version']"`))
	s.condition("p", autorebootv1.ConditionReady, metav1.ConditionFalse, autorebootv1.ReasonForbidden)
	s.explains("p", autorebootv1.ConditionReady, "the operator may not get it: grant its ServiceAccount get on ingresses.networking.k8s.io")
	s.Grant("fairlead-objects", "{kind: ServiceAccount, name: fairlead-manager, namespace: fairlead-system}",
		"{apiGroups: [networking.k8s.io], resources: [ingresses], resourceNames: [shop], verbs: [get]}",
		"{apiGroups: [example.com], resources: [flags], verbs: [get]}")
	s.watching("p", 1)
	s.policy("unserved", of("apiVersion: example.com/v1, resource: flags, fieldPath: spec.on"))
	s.condition("unserved", autorebootv1.ConditionReady, metav1.ConditionFalse, autorebootv1.ReasonSourceNotFound)
	s.explains("unserved", autorebootv1.ConditionReady, "Object/flags.example.com/shop/spec.on is not watched: the API server does not serve flags (example.com/v1): install its CRD")
	s.Kubectl("delete", "rebootpolicy", "unserved")
	s.Kubectl("annotate", "ingress", "shop", "other=1")
	s.Kubectl("annotate", "--overwrite", "ingress", "shop", "example.com/version=2")
	s.succeeded("p", 1)
	s.restarted(deployment, "web", 1)
	s.Kubectl("annotate", "ingress", "shop", "example.com/version-") // its absence is another value
	s.succeeded("p", 2)
}
