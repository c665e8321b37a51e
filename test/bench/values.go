// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
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

// view is an object's spec at v1alpha1.
func view(obj *v1.ExternalService) v1alpha1.ExternalServiceSpec {
	s := &obj.Spec
	return v1alpha1.ExternalServiceSpec{
		Suspend: s.Suspend, Service: s.Service, Ports: s.Ports, Endpoints: s.Endpoints, Resolution: s.Resolution, Probe: s.HealthCheck,
		Failover: s.Failover, DeletionPolicy: s.DeletionPolicy, HistoryLimit: s.HistoryLimit,
	}
}

// atHub is the spec at v1 of an object at v1alpha1.
func atHub(obj *v1alpha1.ExternalService) v1.ExternalServiceSpec {
	s := &obj.Spec
	return v1.ExternalServiceSpec{
		Suspend: s.Suspend, Service: s.Service, Ports: s.Ports, Endpoints: s.Endpoints, Resolution: s.Resolution, HealthCheck: s.Probe,
		Failover: s.Failover, DeletionPolicy: s.DeletionPolicy, HistoryLimit: s.HistoryLimit,
	}
}
