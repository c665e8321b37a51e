// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package partialcache

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestThereIsNothingOfAKindThatIsLeftOut(t *testing.T) {
	whole := &informertest.FakeInformers{Scheme: clientscheme.Scheme}
	of := New(whole, clientscheme.Scheme, []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Secret")})
	err := of.Get(t.Context(), client.ObjectKey{Name: "one"}, &corev1.Secret{})
	var leftOut *LeftOutError
	if !errors.As(err, &leftOut) || leftOut.Kind != "Secret" || !apierrors.IsNotFound(err) {
		t.Errorf("get: %v", err)
	}
	var list corev1.SecretList
	if err := of.List(t.Context(), &list); err != nil || len(list.Items) > 0 {
		t.Errorf("list: %d, %v", len(list.Items), err)
	}
	if _, err := of.GetInformer(t.Context(), &corev1.Secret{}); !errors.As(err, &leftOut) {
		t.Errorf("informer: %v", err)
	}
	if _, err := of.GetInformer(t.Context(), &corev1.ConfigMap{}); err != nil {
		t.Errorf("informer of another kind: %v", err)
	}
	if !LeavesOut(of, &corev1.Secret{}) || LeavesOut(of, &corev1.ConfigMap{}) || LeavesOut(whole, &corev1.Secret{}) {
		t.Error("it does not tell which kinds are left out")
	}
	if New(whole, clientscheme.Scheme, nil) != whole {
		t.Error("a cache of all kinds is wrapped")
	}
}
