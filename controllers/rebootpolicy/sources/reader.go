// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// reader reads from the API server itself.
type reader interface {
	// read returns nil and an error where the source is missing too.
	read(ctx context.Context, ref Ref) (*content, error)
	list(ctx context.Context, from scope, selector labels.Selector, most int64) ([]string, error)
}

type apiReader struct {
	client   kubernetes.Interface
	metadata metadata.Interface
}

var _ reader = (*apiReader)(nil)

func (a *apiReader) read(ctx context.Context, ref Ref) (*content, error) {
	if ref.Kind == autorebootv1.SourceConfigMap {
		found, err := a.client.CoreV1().ConfigMaps(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		data := make(map[string][]byte, len(found.Data)+len(found.BinaryData))
		for key, value := range found.BinaryData {
			data[key] = value
		}
		for key, value := range found.Data {
			data[key] = []byte(value)
		}
		out := contentOf(&found.ObjectMeta, data)
		out.immutable = ptr.Deref(found.Immutable, false)
		return out, nil
	}
	found, err := a.client.CoreV1().Secrets(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	out := contentOf(&found.ObjectMeta, found.Data)
	out.immutable = ptr.Deref(found.Immutable, false)
	return out, nil
}

func contentOf(meta *metav1.ObjectMeta, data map[string][]byte) *content {
	return &content{version: meta.ResourceVersion, created: meta.CreationTimestamp.Time, fields: meta.ManagedFields, data: data,
		marks: rules.MarksOf(meta.Annotations)}
}

func (a *apiReader) list(ctx context.Context, from scope, selector labels.Selector, most int64) ([]string, error) {
	list, err := a.metadata.Resource(resource(from.kind)).Namespace(from.namespace).
		List(ctx, metav1.ListOptions{LabelSelector: selector.String(), Limit: most})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return names, nil
}

func resource(kind autorebootv1.SourceKind) schema.GroupVersionResource {
	if kind == autorebootv1.SourceConfigMap {
		return corev1.SchemeGroupVersion.WithResource("configmaps")
	}
	return corev1.SchemeGroupVersion.WithResource("secrets")
}

func gvk(kind autorebootv1.SourceKind) schema.GroupVersionKind {
	return corev1.SchemeGroupVersion.WithKind(string(kind))
}
