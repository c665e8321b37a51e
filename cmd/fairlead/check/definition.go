// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/config/crd"
)

// hub is the version at which objects are stored.
const hub = "v1"

// served are the versions that the API server serves.
func (d definition) served() (all []string) {
	for _, version := range d.crd.Spec.Versions {
		if version.Served {
			all = append(all, version.Name)
		}
	}
	return all
}

// checkDefinitions checks the versions of the CRDs, and compares these with those of this binary.
func (r *run) checkDefinitions(context.Context) {
	for _, d := range r.definitions {
		result := d.check()
		if service := d.service(); result.Status == OK && service != nil && r.namespace != "" && service.Namespace != r.namespace {
			result.Status, result.Message = Failed, "its conversion webhook is in namespace "+service.Namespace+", and the operator in "+r.namespace
			result.Remedy = "apply the CRDs of this installation, and remove the other one"
		}
		r.results = append(r.results, result)
	}
}

func (d definition) check() Result {
	served, storage := d.served(), ""
	for _, version := range d.crd.Spec.Versions {
		if version.Storage {
			storage = version.Name
		}
	}
	result := Result{CheckDefinition, d.object(), OK, "serves " + strings.Join(served, " and ") + ", stores " + storage, ""}
	const apply = "apply the CRDs that belong to the operator's version"
	fail := func(status Status, message, remedy string) Result {
		result.Status, result.Message, result.Remedy = status, message, remedy
		return result
	}
	converts := d.crd.Spec.Conversion != nil && d.crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter
	switch reason := d.refused(); {
	case reason != "":
		return fail(Failed, "the API server does not serve it: "+reason, "look at its status.conditions")
	case !slices.Contains(served, hub):
		return fail(Failed, hub+" is not served", apply)
	case storage != hub:
		return fail(Failed, "objects are stored at "+storage+", and must be at "+hub, apply)
	case len(served) > 1 && !converts:
		return fail(Failed, "it serves several versions without the conversion webhook: objects at other versions than "+hub+" lose fields", apply)
	}
	switch different, err := d.differsAt(); {
	case err != nil:
		return fail(Unchecked, "it could not be compared with this binary: "+brief(err), "")
	case different != "":
		return fail(Warning, "it is of another version than this binary: "+different+" differs",
			apply+", or use the fairlead command of that version")
	}
	return result
}

// refused is why the API server does not serve the kind; "" where it does.
func (d definition) refused() string {
	established := "it is not Established yet"
	for _, condition := range d.crd.Status.Conditions {
		isTrue := condition.Status == apiextensionsv1.ConditionTrue
		switch condition.Type {
		case apiextensionsv1.Established:
			if established = ""; !isTrue {
				established = condition.Message
			}
		case apiextensionsv1.NamesAccepted:
			if !isTrue {
				return condition.Message
			}
		case apiextensionsv1.NonStructuralSchema:
			if isTrue {
				return condition.Message
			}
		}
	}
	return established
}

// differsAt is the path of the first field of a served version's schema that differs from the CRD in this binary;
// "" where there is none. Versions that are not served are not compared, as an installation may leave one out.
func (d definition) differsAt() (string, error) {
	own, err := definitionOf(d.Group, d.Plural)
	if err != nil {
		return "", err
	}
	for _, version := range d.crd.Spec.Versions {
		if !version.Served {
			continue
		}
		i := slices.IndexFunc(own.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version.Name })
		if i < 0 {
			return "version " + version.Name, nil
		}
		here, err := asJSON(own.Spec.Versions[i].Schema)
		if err != nil {
			return "", err
		}
		there, err := asJSON(version.Schema)
		if err != nil {
			return "", err
		}
		if where, differs := difference(here, there); differs {
			return version.Name + strings.ReplaceAll(strings.TrimPrefix(where, ".openAPIV3Schema"), ".properties.", "."), nil
		}
	}
	return "", nil
}

// parsed holds the CRDs of this binary by name: to parse one takes a good part of a second.
var parsed sync.Map

func definitionOf(group, plural string) (*apiextensionsv1.CustomResourceDefinition, error) {
	if known, found := parsed.Load(plural + "." + group); found {
		if own, ok := known.(*apiextensionsv1.CustomResourceDefinition); ok {
			return own, nil
		}
	}
	text, err := crd.Definition(group, plural)
	if err != nil {
		return nil, err
	}
	own := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(text, own); err != nil {
		return nil, err
	}
	parsed.Store(plural+"."+group, own)
	return own, nil
}

func asJSON(value any) (decoded any, err error) {
	raw, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(raw, &decoded)
	}
	return decoded, err
}

// difference is the path of the first field at which two values of JSON differ.
func difference(a, b any) (path string, differs bool) {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return "", true
		}
		all := maps.Clone(x)
		maps.Copy(all, y)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if path, differs := difference(x[key], y[key]); differs {
				return "." + key + path, true
			}
		}
		return "", false
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return "", true
		}
		for i := range x {
			if path, differs := difference(x[i], y[i]); differs {
				return fmt.Sprintf("[%d]%s", i, path), true
			}
		}
		return "", false
	}
	return "", !reflect.DeepEqual(a, b)
}
