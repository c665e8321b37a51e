// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/apistatus"
	"github.com/fairlead-dev/fairlead/internal/fieldpath"
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
	dynamic  dynamic.Interface // nil for none
	metadata metadata.Interface
}

var _ reader = (*apiReader)(nil)

func (a *apiReader) read(ctx context.Context, ref Ref) (*content, error) {
	if ref.Kind == autorebootv1.SourceObject {
		return a.readObject(ctx, ref)
	}
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

// readObject reads one field of an object, whose path is the key. An object without the field has no key.
func (a *apiReader) readObject(ctx context.Context, ref Ref) (*content, error) {
	group, version := rules.GroupVersionOf(&ref.Object)
	resource := schema.GroupVersionResource{Group: group, Version: version, Resource: ref.Object.Resource}
	notServed := errNotServed{fmt.Sprintf("the API server does not serve %s (%s): install its CRD, or correct object.apiVersion and object.resource",
		resource.Resource, ref.Object.APIVersion)}
	if a.dynamic == nil {
		return nil, notServed
	}
	path, err := fieldpath.Parse(ref.Object.FieldPath)
	if err != nil {
		return nil, err
	}
	found, err := a.dynamic.Resource(resource).Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return nil, apierrors.NewForbidden(resource.GroupResource(), ref.Name, fmt.Errorf("the operator may not get it: grant its ServiceAccount get on %s", resource.GroupResource()))
	case apierrors.IsNotFound(err) && !apistatus.IsAbsent(err, resource.GroupResource(), ref.Name):
		return nil, notServed
	case err != nil:
		return nil, err
	}
	out := &content{version: found.GetResourceVersion(), data: map[string][]byte{}}
	if value, has := path.Get(found.Object); has {
		if out.data[ref.Object.FieldPath], err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func contentOf(meta *metav1.ObjectMeta, data map[string][]byte) *content {
	has := func(annotation string) bool { return meta.Annotations[annotation] == "true" }
	return &content{version: meta.ResourceVersion, created: meta.CreationTimestamp.Time, fields: meta.ManagedFields, data: data, marks: Marks{
		Ignore: has(common.IgnoreAnnotation), ReloaderIgnore: has(rules.ReloaderIgnoreAnnotation),
		ReloaderMatch: has(rules.ReloaderMatchAnnotation),
	}}
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
