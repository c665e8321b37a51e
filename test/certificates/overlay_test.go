// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package certificates

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// overlay renders the default manifests with components, as a user's overlay does.
func (s *suite) overlay(components ...string) []*unstructured.Unstructured {
	s.Helper()
	text := "resources: [CONFIG/default]\ncomponents:\n"
	for _, component := range components {
		text += "- CONFIG/" + component + "\n"
	}
	return s.Objects(s.Kubectl("kustomize", s.Kustomization(text)))
}

func TestTheComponentInstallsAnOperatorThatHasItsCertificateIssued(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	var manifests strings.Builder
	for _, object := range s.overlay("certmanager") {
		if object.GetKind() == "Service" && object.GetName() == "fairlead-webhook" {
			continue // nodes are needed for it; the cluster has one that leads to this host
		}
		raw, err := object.MarshalJSON()
		s.Must(err)
		manifests.WriteString("---\n" + string(raw))
	}
	s.Apply(manifests.String(), "--server-side")
	s.Must(s.Reinstall(t.Context())) // the webhooks at the port of this host again

	deployment, err := s.Kube.AppsV1().Deployments(framework.Namespace).Get(t.Context(), "fairlead-manager", metav1.GetOptions{})
	s.Must(err)
	r := s.start(1, arguments(deployment)...)[0]
	s.serves(r, s.issuance)
}

// arguments are those of the operator's container that say what it does, and not where files are.
func arguments(deployment *appsv1.Deployment) []string {
	var found []string
	for _, arg := range deployment.Spec.Template.Spec.Containers[0].Args {
		if arg != "manager" && !strings.HasPrefix(arg, "--config=") {
			found = append(found, arg)
		}
	}
	return found
}

func TestTheComponentForCertManagersInjectorHandsItEveryTarget(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	handed := map[target]bool{}
	for _, object := range s.overlay("certmanager", "certmanager/cainjector") {
		if object.GetAnnotations()[injectFrom] == framework.Namespace+"/"+trustSecret {
			resource := schema.GroupVersionResource{Group: object.GroupVersionKind().Group, Version: "v1", Resource: strings.ToLower(object.GetKind()) + "s"}
			handed[target{resource, object.GetName()}] = true
		}
		if object.GetKind() == "Deployment" {
			args, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
			s.Must(err)
			for _, want := range []string{issuing, "--set=webhook.certificates.injectCA=false"} {
				if !strings.Contains(fmt.Sprint(args), want) {
					t.Errorf("%s is not among the arguments: %v", want, args)
				}
			}
		}
	}
	for _, target := range targets {
		if !handed[target] {
			t.Errorf("%s has no annotation %s", target, injectFrom)
		}
	}
	if len(handed) != len(targets) {
		t.Errorf("handed to the injector: %v", handed)
	}
}
