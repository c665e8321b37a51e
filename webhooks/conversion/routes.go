// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/internal/spelling"
)

// route is the way of one kind from one version to another.
type route struct {
	table     spelling.Table
	group     string
	toVersion string
	same      bool // from and to are one version: nothing to convert
	counts    counts
}

// counts are the metrics of a route. They are made when the routes are, which keeps the labels to
// what is registered, whatever a caller sends.
type counts struct {
	seconds   prometheus.Observer
	converted prometheus.Counter
	failed    prometheus.Counter
}

// ends are the apiVersion and the kind of an object, and the apiVersion that is desired.
type ends struct{ apiVersion, kind, desired string }

// routes are all ways there are. They are written once, by newRoutes.
type routes struct {
	all    map[ends]*route
	kinds  []schema.GroupKind
	target map[string]bool // apiVersions that some kind can be converted to
}

var versions = []string{spelling.Hub, spelling.V1alpha1}

func newRoutes(kinds []schema.GroupKind, m conversionMetrics) routes {
	r := routes{all: make(map[ends]*route), kinds: slices.Clone(kinds), target: make(map[string]bool)}
	slices.SortFunc(r.kinds, func(a, b schema.GroupKind) int { return cmp.Compare(a.String(), b.String()) })
	for _, id := range r.kinds {
		table, _ := spelling.Of(id)
		for _, from := range versions {
			for _, to := range versions {
				r.target[id.Group+"/"+to] = true
				r.all[ends{id.Group + "/" + from, id.Kind, id.Group + "/" + to}] = &route{
					table: table, group: id.Group, toVersion: to, same: from == to, counts: m.of(id.Kind, from, to),
				}
			}
		}
	}
	return r
}

// find returns the route of an object of apiVersion and kind.
func (r routes) find(apiVersion, kind, desired string) (*route, error) {
	if way, known := r.all[ends{apiVersion, kind, desired}]; known {
		return way, nil
	}
	if _, known := r.all[ends{apiVersion, kind, apiVersion}]; known {
		return nil, fmt.Errorf("%s %s cannot be converted to %.100q", apiVersion, kind, desired)
	}
	return nil, fmt.Errorf("apiVersion %.100q, kind %.100q is not converted here; the kinds are %s", apiVersion, kind, r.names())
}

func (r routes) names() string {
	names := make([]string, len(r.kinds))
	for i, id := range r.kinds {
		names[i] = id.String()
	}
	return strings.Join(names, ", ")
}
