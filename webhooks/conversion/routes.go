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

// route is how objects of one kind are converted from one version to another.
type route struct {
	table     spelling.Table
	group     string
	toVersion string
	same      bool // whether both versions are the same, so that nothing is converted
	counts    counts
}

// counts are the metrics of a route. They are created with the routes, so that a sender cannot create series.
type counts struct {
	seconds   prometheus.Observer
	converted prometheus.Counter
	failed    prometheus.Counter
}

// ends identifies a route: the apiVersion and kind of an object, and the desired apiVersion.
type ends struct{ apiVersion, kind, desired string }

// routes holds all routes. newRoutes fills it once.
type routes struct {
	all    map[ends]*route
	kinds  []schema.GroupKind
	target map[string]bool // the apiVersions that at least one kind can be converted to
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

// find returns the route for an object of an apiVersion and a kind.
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
