// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Names returns the names of the objects of a kind that begin with a prefix, in a namespace, without reading more of them than
// their metadata. With an error it returns those that it has read until then.
func Names(ctx context.Context, from client.Reader, kind, namespace, prefix string) ([]string, error) {
	k := kindOf(kind)
	return names(ctx, from, k.group.WithKind(k.Kind), namespace, prefix)
}

// Namespaces returns the names of the namespaces that begin with a prefix, as Names does.
func Namespaces(ctx context.Context, from client.Reader, prefix string) ([]string, error) {
	return names(ctx, from, corev1.SchemeGroupVersion.WithKind("Namespace"), metav1.NamespaceAll, prefix)
}

func names(ctx context.Context, from client.Reader, of schema.GroupVersionKind, namespace, prefix string) (found []string, err error) {
	page := &metav1.PartialObjectMetadataList{}
	for {
		page.SetGroupVersionKind(of.GroupVersion().WithKind(of.Kind + "List"))
		if err := from.List(ctx, page, &client.ListOptions{Namespace: namespace, Limit: pageSize, Continue: page.Continue}); err != nil {
			return found, err
		}
		for i := range page.Items {
			if name := page.Items[i].Name; strings.HasPrefix(name, prefix) {
				found = append(found, name)
			} else if name > prefix { // they come in the order of their names
				return found, nil
			}
		}
		if page.Continue == "" {
			slices.Sort(found)
			return found, nil
		}
	}
}
