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

	"github.com/fairlead-dev/fairlead/webhooks/conversion/hubspoke"
)

// route is the way of one kind from one version to another.
type route struct {
	converter *hubspoke.Converter
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
	panicked  prometheus.Counter
	restore   prometheus.Observer
	dropped   prometheus.Counter
}

type endpoint struct{ apiVersion, kind string }

// routes are all ways there are. They are written once, by newRoutes.
type routes struct {
	from   map[endpoint]map[string]*route // by the desired apiVersion
	kinds  []schema.GroupKind
	target map[string]bool // apiVersions that some kind can be converted to
}

func newRoutes(converters []*hubspoke.Converter, m conversionMetrics) routes {
	all := routes{from: make(map[endpoint]map[string]*route), target: make(map[string]bool)}
	for _, converter := range converters {
		id, versions := converter.Kind(), converter.Versions()
		all.kinds = append(all.kinds, id)
		for _, from := range versions {
			ways := make(map[string]*route, len(versions))
			for _, to := range versions {
				ways[id.Group+"/"+to] = &route{
					converter: converter,
					toVersion: to,
					same:      from == to,
					counts:    m.of(id.Kind, from, to),
				}
				all.target[id.Group+"/"+to] = true
			}
			all.from[endpoint{id.Group + "/" + from, id.Kind}] = ways
		}
	}
	slices.SortFunc(all.kinds, func(a, b schema.GroupKind) int { return cmp.Compare(a.String(), b.String()) })
	return all
}

// find returns the route of an object of apiVersion and kind.
func (r routes) find(apiVersion, kind, desired string) (*route, error) {
	ways, known := r.from[endpoint{apiVersion, kind}]
	if !known {
		return nil, fmt.Errorf("apiVersion %.100q, kind %.100q is not converted here; the kinds are %s", apiVersion, kind, r.names())
	}
	way, known := ways[desired]
	if !known {
		return nil, fmt.Errorf("%s %s cannot be converted to %.100q; its versions are %s", apiVersion, kind, desired, join(ways))
	}
	return way, nil
}

func (r routes) names() string {
	names := make([]string, len(r.kinds))
	for i, id := range r.kinds {
		names[i] = id.String()
	}
	return strings.Join(names, ", ")
}

func join(ways map[string]*route) string {
	versions := make([]string, 0, len(ways))
	for version := range ways {
		versions = append(versions, version)
	}
	slices.Sort(versions)
	return strings.Join(versions, ", ")
}
