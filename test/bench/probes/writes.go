// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// writes counts requests that write, by verb and resource. Renewals of Leases and dry runs are excluded.
type writes map[string]float64

// written reads the counts from the API server. It does not check who sent a request: only the operator writes while it
// is measured.
func (r *run) written(ctx context.Context) (writes, error) {
	page, err := r.client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	return writesOf(text(page)), nil
}

func writesOf(t text) writes {
	w := writes{}
	t.each("apiserver_request_total", func(labels map[string]string, n float64) {
		verb, resource := labels["verb"], labels["resource"]
		if !slices.Contains(writing, verb) || resource == "leases" || labels["dry_run"] != "" {
			return
		}
		if labels["subresource"] != "" {
			resource += "/" + labels["subresource"]
		}
		w[verb+" "+resource] += n
	})
	return w
}

// writing are the verbs that do.
var writing = []string{"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"}

// since are the writes that have been added.
func (w writes) since(before writes) writes {
	added := writes{}
	for name, n := range w {
		if n > before[name] {
			added[name] = n - before[name]
		}
	}
	return added
}

// of is how often a resource was written, by any verb.
func (w writes) of(resource string) float64 {
	total := 0.0
	for name, n := range w {
		if strings.HasSuffix(name, " "+resource) {
			total += n
		}
	}
	return total
}

func (w writes) total() float64 {
	total := 0.0
	for _, n := range w {
		total += n
	}
	return total
}

func (w writes) String() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(w)) {
		list = append(list, fmt.Sprintf("%s: %.0f", name, w[name]))
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// announcements are the events that tell who leads: one when it begins, and one when it ends.
func (r *run) announcements(ctx context.Context) (int, error) {
	events, err := r.client.EventsV1().Events(framework.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	n := 0
	for i := range events.Items {
		if events.Items[i].Regarding.Kind == "Lease" {
			n++
		}
	}
	return n, nil
}
