// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// kind is one of Fairlead's kinds.
type kind struct{ name, resource, group string }

var (
	externalServices = kind{"ExternalService", "externalservices", "networking.fairlead.dev"}
	rebootPolicies   = kind{"RebootPolicy", "rebootpolicies", "autoreboot.fairlead.dev"}
	chaosPods        = kind{"ChaosPod", "chaospods", "chaos.fairlead.dev"}

	kinds = []kind{externalServices, rebootPolicies, chaosPods}
)

// at names the resource at a version the way kubectl takes it.
func (k kind) at(version string) string { return k.resource + "." + version + "." + k.group }

// definition is the name of the CustomResourceDefinition.
func (k kind) definition() string { return k.resource + "." + k.group }

// object makes one, with a spec in YAML, flow or block.
func (k kind) object(version, name, spec string) string {
	object := map[string]any{
		"apiVersion": k.group + "/" + version, "kind": k.name, "metadata": map[string]any{"name": name},
	}
	if spec != "" {
		object["spec"] = parse(spec)
	}
	return framework.Text(object)
}

// parse reads YAML that the tests hold themselves.
func parse(s string) any {
	var value any
	if err := yaml.Unmarshal([]byte(s), &value); err != nil {
		panic(err) //nolint:forbidigo // the YAML is our own
	}
	return value
}

// manifests reads a file of testdata.
func (s *suite) manifests(name string) []*unstructured.Unstructured {
	s.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	s.Must(err)
	return s.Objects(string(raw))
}

// view reads an object at a version, without what the API server keeps for itself.
func (s *suite) view(k kind, version, name string) *unstructured.Unstructured {
	s.Helper()
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(k.group + "/" + version)
	object.SetKind(k.name)
	s.Must(s.Get(name, object))
	object.SetManagedFields(nil)
	return object
}

// field returns a part of an object as JSON, given its path with dots, or "" where there is none.
func field(object *unstructured.Unstructured, path string) string {
	value, found, err := unstructured.NestedFieldNoCopy(object.Object, strings.Split(path, ".")...)
	if err != nil || !found {
		return ""
	}
	return framework.Text(value)
}

// sameField wants a part of an object to be what is given in YAML.
func (s *suite) sameField(object *unstructured.Unstructured, path, wanted string) {
	s.Helper()
	if got, want := field(object, path), framework.Text(parse(wanted)); got != want {
		s.Errorf("%s of %s %s:\n got %s\nwant %s", path, object.GetAPIVersion(), object.GetName(), got, want)
	}
}
