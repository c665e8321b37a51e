// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// overlay renders the default manifests with components, as a user's overlay does.
func (s *suite) overlay(components ...string) []*unstructured.Unstructured {
	s.Helper()
	folder := s.TempDir()
	config, err := filepath.Abs(filepath.Join(root, "config"))
	s.must(err)
	at, err := filepath.Rel(folder, config)
	s.must(err)
	text := fmt.Sprintf("resources: [%s/default]\ncomponents:\n", at)
	for _, component := range components {
		text += fmt.Sprintf("- %s/%s\n", at, component)
	}
	s.must(os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o600))
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(s.kubectl("kustomize", folder)), 4096)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		s.must(err)
		objects = append(objects, object)
	}
}

func TestTheComponentInstallsAnOperatorThatHasItsCertificateIssued(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.installCertManager()
	var manifests strings.Builder
	for _, object := range s.overlay("certmanager") {
		if object.GetKind() == "Service" && object.GetName() == "fairlead-webhook" {
			continue // nodes are needed for it; the cluster has one that leads to this host
		}
		raw, err := object.MarshalJSON()
		s.must(err)
		manifests.WriteString("---\n" + string(raw))
	}
	s.apply(manifests.String())
	s.must(s.Reinstall(t.Context())) // the webhooks at the port of this host again

	deployment, err := s.kube.AppsV1().Deployments(framework.Namespace).Get(t.Context(), "fairlead-manager", metav1.GetOptions{})
	s.must(err)
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
	handed := map[string]bool{}
	for _, object := range s.overlay("certmanager", "certmanager/cainjector") {
		if object.GetAnnotations()[injectFrom] == framework.Namespace+"/"+trustSecret {
			handed[object.GetName()] = true
		}
		if object.GetKind() == "Deployment" {
			args, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
			s.must(err)
			for _, want := range []string{issuing, "--webhook-inject-ca=false"} {
				if !strings.Contains(fmt.Sprint(args), want) {
					t.Errorf("%s is not among the arguments: %v", want, args)
				}
			}
		}
	}
	for _, target := range targets {
		if !handed[target.name] {
			t.Errorf("%s has no annotation %s", target.name, injectFrom)
		}
	}
	if len(handed) != len(targets) {
		t.Errorf("handed to the injector: %v", handed)
	}
}
