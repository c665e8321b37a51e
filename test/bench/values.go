// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/externalservice"
)

// values are the scalars in spec and status, and the empty objects and lists, by path.
func values(obj *unstructured.Unstructured) map[string]any {
	found := map[string]any{}
	for _, part := range []string{"spec", "status"} {
		if value, has := obj.Object[part]; has {
			collect(part, value, found)
		}
	}
	return found
}

func collect(path string, value any, into map[string]any) {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			collect(path+"."+key, member, into)
		}
		if len(value) == 0 {
			into[path] = "{}"
		}
	case []any:
		for i, item := range value {
			collect(fmt.Sprintf("%s[%d]", path, i), item, into)
		}
		if len(value) == 0 {
			into[path] = "[]"
		}
	default:
		into[path] = value
	}
}

// missing are the paths whose value is not there or not the same.
func missing(wanted, got map[string]any) []string {
	var lost []string
	for path, value := range wanted {
		if got[path] != value {
			lost = append(lost, path)
		}
	}
	slices.Sort(lost)
	return lost
}

// view is what v1alpha1 shows of an object's spec.
func view(obj *v1.ExternalService) v1alpha1.ExternalServiceSpec {
	spec, _ := externalservice.PlainDown(obj.Spec, obj.Status)
	return spec
}
