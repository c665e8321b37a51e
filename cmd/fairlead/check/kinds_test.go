// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// withoutExternalServices is an operator without the kind, in a cluster that has still its CRD.
func withoutExternalServices(t *testing.T) *world {
	t.Helper()
	w := sound(t)
	w.argue("--without-kind=ExternalService")
	w.mutating, w.validating = w.mutating[1:], w.validating[1:]
	return w
}

func (w *world) argue(arguments ...string) {
	c := &w.deployment.Spec.Template.Spec.Containers[0]
	c.Args = append(c.Args, arguments...)
}

func lines(t *testing.T, w *world) string {
	t.Helper()
	var text bytes.Buffer
	if err := w.run(t).WriteText(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestAnInstallationOfSomeKindsNeedsNoOther(t *testing.T) {
	w := withoutExternalServices(t)
	w.crds = w.crds[1:]
	w.argue("--set=chaosPods.canaries=false")
	w.allowed = func(s authorizationv1.SubjectAccessReviewSpec) bool {
		a := s.ResourceAttributes
		return a.Group != "networking.fairlead.dev" && (a.Resource != "services" || a.Verb != "create") && (a.Resource != "pods" || a.Subresource != "" || a.Verb != "create")
	}
	got := lines(t, w)
	if strings.Contains(got, "externalservice") || strings.Contains(got, "failed:") ||
		!strings.Contains(got, ", for RebootPolicy, ChaosPod (without canaries)\n") {
		t.Error(got)
	}
	w.argue("--set=chaosPods.canaries=true")
	if got := lines(t, w); !strings.Contains(got, "it lacks 1 of") || !strings.Contains(got, "create on pods in all namespaces") {
		t.Error(got)
	}
}

func TestWhatIsLeftOfAKindThatIsLeftOutIsTold(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "networking.fairlead.dev/v1", "kind": "ExternalService"}}
	object.SetNamespace("bank")
	object.SetName("db")
	const crd = "CustomResourceDefinition externalservices.networking.fairlead.dev: "
	for name, c := range map[string]struct {
		change func(*world)
		want   string
	}{
		"its CRD":     {func(*world) {}, "warning: " + crd + "the operator's configuration leaves ExternalService out, and there is no object of it; run `kubectl delete crd"},
		"its objects": {func(w *world) { w.stored = append(w.stored, object) }, "failed: " + crd + "the operator's configuration leaves ExternalService out, and there are objects of it, such as bank/db"},
		"objects elsewhere": {func(w *world) {
			w.stored = append(w.stored, object)
			w.argue("--set=namespaces=shop")
		}, "warning: " + crd},
		"another's CRD": {func(w *world) { w.crds[0].Spec.Conversion.Webhook.ClientConfig.Service.Name = "other" },
			"skipped: " + crd + "the operator's configuration leaves ExternalService out, and another installation converts it"},
		"objects that may not be read": {func(w *world) { w.forbidden = []string{"externalservices"} }, "unchecked: " + crd},
		"its webhooks": {func(w *world) { w.mutating = sound(t).mutating },
			"failed: MutatingWebhookConfiguration team-fairlead-externalservice: webhook externalservice.mutate.fairlead.dev is of a kind that"},
		"a Deployment of other kinds": {func(w *world) {
			d := w.deployment.DeepCopy()
			d.Name += "-a"
			d.Spec.Template.Spec.Containers[0].Args = append(d.Spec.Template.Spec.Containers[0].Args, "--without-kind=ChaosPod")
			w.parts = []*appsv1.Deployment{d}
		}, "failed: Deployment team-system/team-fairlead-manager-a: it is for RebootPolicy, and Deployment"},
	} {
		t.Run(name, func(t *testing.T) {
			w := withoutExternalServices(t)
			c.change(w)
			if got := lines(t, w); !strings.Contains(got, c.want) {
				t.Errorf("lacks %q:\n%s", c.want, got)
			}
		})
	}
}
