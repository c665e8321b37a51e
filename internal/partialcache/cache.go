// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package partialcache

import (
	"context"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// LeftOutError means that the operator leaves a kind out. A caller that only checks whether an object exists finds none.
type LeftOutError struct{ Kind string }

func (e *LeftOutError) Error() string {
	return "the operator's configuration leaves " + e.Kind + " out (kinds)"
}

// Status has apierrors.IsNotFound be true.
func (e *LeftOutError) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound, Message: e.Error()}
}

// New returns a cache without the kinds, which are given at the version at which they are read. No kinds: from itself.
func New(from cache.Cache, scheme *runtime.Scheme, leftOut []schema.GroupVersionKind) cache.Cache {
	if len(leftOut) == 0 {
		return from
	}
	return &partial{from, scheme, leftOut}
}

// LeavesOut reports whether New has made a cache without the kind of an object.
func LeavesOut(from cache.Cache, object runtime.Object) bool {
	p, ok := from.(*partial)
	return ok && p.leavesOut(object) != nil
}

type partial struct {
	cache.Cache
	scheme  *runtime.Scheme
	leftOut []schema.GroupVersionKind
}

// leavesOut returns a *LeftOutError for an object or a list of a kind that is left out.
func (p *partial) leavesOut(object runtime.Object) error {
	gvk, err := apiutil.GVKForObject(object, p.scheme)
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	if err != nil || !slices.Contains(p.leftOut, gvk) {
		return nil //nolint:nilerr // the cache itself refuses it
	}
	return &LeftOutError{gvk.Kind}
}

// Get implements client.Reader.
func (p *partial) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if err := p.leavesOut(object); err != nil {
		return err
	}
	return p.Cache.Get(ctx, key, object, options...)
}

// List implements client.Reader. It adds nothing to a list of a kind that is left out.
func (p *partial) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if p.leavesOut(list) != nil {
		return nil //nolint:nilerr // a list of what is left out is empty
	}
	return p.Cache.List(ctx, list, options...)
}

// GetInformer implements cache.Informers. It refuses a kind that is left out.
func (p *partial) GetInformer(ctx context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	if err := p.leavesOut(object); err != nil {
		return nil, err
	}
	return p.Cache.GetInformer(ctx, object, options...)
}
