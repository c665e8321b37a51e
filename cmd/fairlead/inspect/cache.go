// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/pager"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cache has a Snapshot as a controller has its cache. Pods and ReplicaSets are read when they are asked for, once in each
// namespace. What it returns must not be changed. It is not safe for concurrent use.
type Cache struct {
	live    client.Reader
	objects map[Key]client.Object
	byKind  map[Key][]client.Object // in a namespace, without a name
	unread  map[string]error        // by kind
	owned   map[Key]ownedObjects    // pods and ReplicaSets
}

// ownedObjects are objects by the UIDs of their controllers.
type ownedObjects struct {
	all     []client.Object
	byOwner map[string][]client.Object
	err     error
}

var _ client.Reader = (*Cache)(nil)

// NewCache returns a Cache of a Snapshot.
func NewCache(s *Snapshot, live client.Reader) *Cache {
	c := &Cache{
		live: live, objects: map[Key]client.Object{}, byKind: map[Key][]client.Object{}, unread: map[string]error{},
		owned: map[Key]ownedObjects{},
	}
	for _, u := range s.Unread {
		for _, k := range kinds {
			isAbsent := u.isMissing && u.IsBeyond // and has no objects
			if k.groupResource() == u.Resource && !isAbsent {
				c.unread[k.Kind] = errors.New(u.String())
			}
		}
	}
	for _, o := range s.Objects {
		key := KeyOf(o)
		if c.objects[key] == nil {
			c.objects[key] = o
			for _, namespace := range []string{key.Namespace, metav1.NamespaceAll} {
				in := Key{Kind: key.Kind, Namespace: namespace}
				c.byKind[in] = append(c.byKind[in], o)
			}
		}
	}
	return c
}

// Replace returns a Cache in which some objects are others.
func (c *Cache) Replace(others map[Key]client.Object) *Cache {
	r := *c
	r.objects, r.byKind = maps.Clone(c.objects), maps.Clone(c.byKind)
	maps.Copy(r.objects, others)
	for in, all := range r.byKind {
		r.byKind[in] = slices.Clone(all)
		for i, o := range all {
			if other := others[KeyOf(o)]; other != nil {
				r.byKind[in][i] = other
			}
		}
	}
	return &r
}

// Get copies an object without its parts.
func (c *Cache) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind := kindsByType[reflect.TypeOf(into)]
	if kind == "" {
		return fmt.Errorf("%T is not read here", into)
	}
	if err := c.unread[kind]; err != nil {
		return err
	}
	found := c.objects[Key{kind, key.Namespace, key.Name}]
	if found == nil {
		return apierrors.NewNotFound(Resource(kind), key.Name)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(found).Elem())
	return nil
}

// List copies the objects of a kind that the options select.
func (c *Cache) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	chosen := client.ListOptions{}
	chosen.ApplyOptions(options)
	of, err := c.kindOfList(ctx, into, &chosen)
	if err != nil {
		return err
	}
	var items []runtime.Object
	for _, o := range of {
		if chosen.LabelSelector == nil || chosen.LabelSelector.Matches(labels.Set(o.GetLabels())) {
			items = append(items, o)
		}
	}
	return meta.SetList(into, items)
}

// kindOfList returns the objects that a list is of.
func (c *Cache) kindOfList(ctx context.Context, list client.ObjectList, chosen *client.ListOptions) ([]client.Object, error) {
	for _, k := range kinds {
		if reflect.TypeOf(k.list()) == reflect.TypeOf(list) {
			return c.byKind[Key{Kind: k.Kind, Namespace: chosen.Namespace}], c.unread[k.Kind]
		}
	}
	gvk := list.GetObjectKind().GroupVersionKind()
	if _, is := list.(*corev1.PodList); is {
		gvk = corev1.SchemeGroupVersion.WithKind("PodList")
	}
	key := Key{gvk.Kind, chosen.Namespace, ""}
	found, known := c.owned[key]
	if !known {
		found = c.readOwned(ctx, gvk, list, chosen.Namespace)
		c.owned[key] = found
	}
	if chosen.FieldSelector != nil && len(chosen.FieldSelector.Requirements()) == 1 {
		return found.byOwner[chosen.FieldSelector.Requirements()[0].Value], found.err
	}
	return found.all, found.err
}

// readOwned reads the objects of a namespace that others control.
func (c *Cache) readOwned(ctx context.Context, gvk schema.GroupVersionKind, like client.ObjectList, namespace string) (found ownedObjects) {
	found.byOwner = map[string][]client.Object{}
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		page, is := reflect.New(reflect.TypeOf(like).Elem()).Interface().(client.ObjectList)
		if !is {
			return nil, fmt.Errorf("%T is not read here", like)
		}
		page.GetObjectKind().SetGroupVersionKind(gvk)
		return page, c.live.List(ctx, page, &client.ListOptions{Namespace: namespace, Limit: options.Limit, Continue: options.Continue})
	})
	pages.PageSize = pageSize
	found.err = pages.EachListItem(ctx, metav1.ListOptions{}, func(item runtime.Object) error {
		object, is := item.(client.Object)
		if !is {
			return nil
		}
		object.SetManagedFields(nil)
		found.all = append(found.all, object)
		if owner := metav1.GetControllerOf(object); owner != nil {
			found.byOwner[string(owner.UID)] = append(found.byOwner[string(owner.UID)], object)
		}
		return nil
	})
	if found.err != nil {
		resource := pods
		if gvk.Kind == "NamespaceList" {
			resource = namespaces
		}
		if gvk.Kind == "ReplicaSetList" {
			resource = replicaSets
		}
		found.err = errors.New(Unread{Resource: resource.groupResource(), Message: words(found.err, resource, "list", namespace)}.String())
	}
	return found
}
