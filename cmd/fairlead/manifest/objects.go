// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxNested bounds lists within lists.
const maxNested = 4

// Objects calls visit with each object of a document: with itself, or with the items of a list, which may leave to the list what
// they are. What is no object of Kubernetes has no kind.
func (n *Node) Objects(visit func(object *Node, kind schema.GroupVersionKind)) {
	n.objects(visit, schema.GroupVersionKind{}, 0)
}

func (n *Node) objects(visit func(*Node, schema.GroupVersionKind), implied schema.GroupVersionKind, nested int) {
	if n.Kind == Sequence && nested < maxNested {
		for _, item := range n.Items {
			item.objects(visit, implied, nested+1)
		}
		return
	}
	gv, err := schema.ParseGroupVersion(n.Text("apiVersion"))
	gvk := gv.WithKind(n.Text("kind"))
	if err != nil {
		gvk.Group = n.Text("apiVersion")
	}
	if n.Text("apiVersion") == "" && gvk.Kind == "" {
		gvk = implied
	}
	if items, list := strings.CutSuffix(gvk.Kind, "List"); list && n.Get("items") != nil && nested < maxNested {
		for _, item := range n.Get("items").Items {
			gvk.Kind = items
			item.objects(visit, gvk, nested+1)
		}
		return
	}
	visit(n, gvk)
}
