// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

func TestADiagramHasArrowsFromWhatRefersToWhatIsReferredTo(t *testing.T) {
	s := shop(autorebootv1.ReasonCooldown)
	s.objects["chaospods"] = []client.Object{killer("killer", "api")}
	s.refuse = map[string]*apierrors.StatusError{"daemonsets": forbidden("daemonsets")}
	all, err := Read(t.Context(), s.client(t), "shop")
	if err != nil {
		t.Fatal(err)
	}
	graph := New(all)
	d := graph.Diagram(graph.Status(labels.Everything()))
	var mermaid, dot strings.Builder
	if err := d.WriteMermaid(&mermaid, false); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteDot(&dot, true); err != nil {
		t.Fatal(err)
	}
	want := `flowchart LR
  n0["ExternalService/db<br/>Degraded: Degraded"]:::Degraded
  n1["RebootPolicy/payments<br/>Waiting: Cooldown"]:::Waiting
  n2["ChaosPod/killer<br/>Unknown: no operator has observed it yet"]:::Unknown
  n3["Deployment/api<br/>Degraded: 2 of 3 pods available"]:::Degraded
  u0["Not known: daemonsets.apps could not be read: this user may not: grant list on daemonsets.apps in namespace shop"]:::Unknown
  n1 -->|"gate database"| n0
  n1 -->|"restarts"| n3
  n2 -->|"kills pods of"| n3
`
	if got, _, _ := strings.Cut(mermaid.String(), "  classDef"); got != want {
		t.Error(cmp.Diff(want, got))
	}
	for _, line := range []string{
		`  n0 [label="shop/ExternalService/db\nDegraded: Degraded", fillcolor="#a15c00"]`, `  n1 -> n0 [label="gate database"]`, `  n2 -> n3 [label="kills pods of"]`,
	} {
		if !strings.Contains(dot.String(), line+"\n") {
			t.Errorf("dot has no %q:\n%s", line, dot.String())
		}
	}
	if one, err := graph.StatusOf([]Key{{ChaosPod, "shop", "killer"}}); err != nil || len(graph.Diagram(one).nodes) != 2 {
		t.Error(err, len(graph.Diagram(one).nodes))
	}
}

func TestAWordWithQuotesStaysInItsNode(t *testing.T) {
	d := &Diagram{nodes: []*Object{{Key: Key{RebootPolicy, "shop", "a"}, Health: Unknown, Said: `a "b" \ <c>`}}}
	var mermaid, dot strings.Builder
	if err := d.WriteMermaid(&mermaid, false); err != nil || !strings.Contains(mermaid.String(), `Unknown: a #quot;b#quot; \ #lt;c#gt;"]`) {
		t.Error(mermaid.String(), err)
	}
	if err := d.WriteDot(&dot, false); err != nil || !strings.Contains(dot.String(), `Unknown: a \"b\" \\ <c>",`) {
		t.Error(dot.String(), err)
	}
}
