// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	"github.com/fairlead-dev/fairlead/test/framework"
)

var resources = map[string]schema.GroupResource{
	"ExternalService": {Group: "networking.fairlead.dev", Resource: "externalservices"},
	"RebootPolicy":    {Group: "autoreboot.fairlead.dev", Resource: "rebootpolicies"},
	"ChaosPod":        {Group: "chaos.fairlead.dev", Resource: "chaospods"},
}

var (
	tests = framework.NewTests(1) // since some need that nothing reconciles
	open  = framework.Shared(openCluster)

	reconciler *framework.Replica // nil while none runs
)

func TestMain(m *testing.M) { os.Exit(tests.Main(m)) }

// openCluster opens what all tests share: a control plane, and one replica that serves webhooks and reconciles
// nothing.
func openCluster() (*framework.Cluster, error) {
	servers, err := tests.Servers() // nothing leaves this host
	if err != nil {
		return nil, err
	}
	c, err := tests.Open(framework.Options{Servers: servers})
	if err != nil {
		return nil, err
	}
	if _, err := c.StartReplica(tests.Context, "--set=controllers.enabled=false", framework.CloneSets); err != nil {
		return nil, err
	}
	return c, c.Reachable(tests.Context)
}

// suite is the namespace of one test.
type suite struct{ framework.Test }

func newSuite(t *testing.T) *suite {
	t.Helper()
	return &suite{framework.NewTest(t, open(t))}
}

// reconcile starts a replica that reconciles, if none does.
func (s *suite) reconcile() {
	s.Helper()
	if reconciler != nil {
		return
	}
	var err error
	reconciler, err = s.Launch(s.Context(), framework.Patient(framework.CloneSets)...)
	s.Must(err)
	s.Eventually(func() error { return reconciler.Started(s.Context()) })
}

// pause stops the replica that reconciles, if one does.
func (s *suite) pause() {
	s.Helper()
	if reconciler != nil {
		reconciler.Stop()
		reconciler = nil
	}
}

// at are the objects of a kind at a version.
func (s *suite) at(kind, version string) dynamic.ResourceInterface {
	return s.Dynamic.Resource(resources[kind].WithVersion(version)).Namespace(s.Namespace)
}

// get reads the object that a manifest is about, at a version.
func (s *suite) get(manifest *unstructured.Unstructured, version string) *unstructured.Unstructured {
	s.Helper()
	live, err := s.at(manifest.GetKind(), version).Get(s.Context(), manifest.GetName(), metav1.GetOptions{})
	s.Must(err)
	return live
}

// documents are the objects of Fairlead's kinds in a stream of YAML. What is no object is left out.
func documents(text string) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		if _, ours := resources[object.GetKind()]; ours {
			found = append(found, object)
		}
	}
}

// manifest parses one object, and puts it into the namespace.
func (s *suite) manifest(kind, version, name, spec string) *unstructured.Unstructured {
	s.Helper()
	all, err := documents(fmt.Sprintf("{apiVersion: %s/%s, kind: %s, metadata: {name: %s, namespace: %s}, spec: %s}",
		resources[kind].Group, version, kind, name, s.Namespace, spec))
	s.Must(err)
	return all[0]
}
