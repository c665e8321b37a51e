// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
)

// drawn returns the drawing of policies that restart a Deployment and wait for a database.
func drawn(policies int, q query, chosen inspect.Key) *graph {
	metadata := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "shop", Name: name} }
	all := []client.Object{&networkingv1.ExternalService{ObjectMeta: metadata("db")}}
	for i := range policies {
		all = append(all, &autorebootv1.RebootPolicy{ObjectMeta: metadata(fmt.Sprintf("p%02d", i)), Spec: autorebootv1.RebootPolicySpec{
			Targets: []autorebootv1.Target{{Kind: "Deployment", Name: "api"}},
			Gates: []autorebootv1.Gate{
				{Name: "database", Condition: &autorebootv1.ObjectCondition{APIVersion: "networking.fairlead.dev/v1", Kind: "ExternalService", Name: "db", Type: "Healthy"}},
				{Name: "chaos", Condition: &autorebootv1.ObjectCondition{APIVersion: "chaos.fairlead.dev/v1", Kind: "ChaosPod", Name: "api", Type: "Survived"}},
			},
		}})
	}
	g := inspect.New(&inspect.Snapshot{Objects: all})
	return draw(q, &view{graph: g, status: g.Status(labels.Everything())}, g.Find(chosen))
}

func TestAnArrowPassesBetweenTheNodesOfAColumn(t *testing.T) {
	t.Parallel()
	d := drawn(2, query{}, inspect.Key{Kind: inspect.RebootPolicy, Namespace: "shop", Name: "p00"})
	at := map[string]*node{}
	for _, n := range d.Nodes {
		at[n.Kind+" "+n.Name] = n
		if n.X+n.Width > d.Width || n.Y+n.Height > d.Height || n.X < 0 || n.Y < 0 {
			t.Errorf("%s is outside of the drawing: %d, %d", n.Key, n.X, n.Y)
		}
	}
	policy, api, db, pod := at["RebootPolicy p00"], at["Deployment api"], at["ExternalService db"], at["ChaosPod api"]
	if len(at) != 5 || policy.X >= api.X || api.X >= db.X || pod.X != policy.X || !policy.IsSelected || db.IsSelected {
		t.Fatalf("%d nodes; %+v", len(at), at)
	}
	gates := 0
	for _, a := range d.Arrows {
		switch {
		case strings.HasSuffix(a.Text, "gate database: ExternalService shop/db"):
			gates++
			var lane int
			if n, err := fmt.Sscanf(a.Path[strings.Index(a.Path, "L"):], fmt.Sprintf("L%d %%d", api.X+nodeWidth), &lane); n != 1 || lane > api.Y && lane < api.Y+nodeHeight {
				t.Errorf("%s crosses the Deployment: %v", a.Path, err)
			}
		case strings.Contains(a.Text, "gate chaos") && strings.Count(a.Path, "C") != 1:
			t.Error(a)
		}
	}
	if gates != 2 || len(d.Arrows) != 6 {
		t.Errorf("%d gates, %d arrows", gates, len(d.Arrows))
	}
	if again := fmt.Sprint(drawn(2, query{}, inspect.Key{Kind: inspect.RebootPolicy, Namespace: "shop", Name: "p00"}).Arrows); again != fmt.Sprint(d.Arrows) {
		t.Error("it is drawn in another way each time")
	}
}

func TestADrawingIsBoundedAndSaysSo(t *testing.T) {
	t.Parallel()
	for _, chosen := range []string{"", "db"} {
		d := drawn(100, query{}, inspect.Key{Kind: inspect.ExternalService, Namespace: "shop", Name: chosen})
		if len(d.Nodes) != maxNodes || d.More != 103-maxNodes-map[bool]int{true: 1}[chosen == ""] {
			t.Errorf("%q: %d nodes, %d more", chosen, len(d.Nodes), d.More)
		}
	}
	if d := drawn(100, query{filter: "p07"}, inspect.Key{}); len(d.Nodes) > 4 || d.More != 0 {
		t.Errorf("%d nodes, %d more", len(d.Nodes), d.More)
	}
	if d := drawn(3, query{filter: "none"}, inspect.Key{}); len(d.Nodes) != 0 || d.Height < 0 || d.Width < 0 {
		t.Errorf("%+v", d)
	}
}
