// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func version(v string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a", UID: "1", ResourceVersion: v}}
}

func TestACacheIsWaitedForUntilItHasWhatWasWritten(t *testing.T) {
	written := time.Date(2026, time.March, 2, 14, 0, 0, 0, time.UTC)
	var none, mark LastWrite
	mark.Record(version("10"), written)
	for name, test := range map[string]struct {
		mark   LastWrite
		cached string
		passed time.Duration
		behind bool
	}{
		"nothing was written": {none, "1", 0, false},
		"older":               {mark, "9", 0, true},
		"the same":            {mark, "10", 0, false},
		"newer":               {mark, "11", 0, false},
		"older for long":      {mark, "9", StaleTimeout, false},
		"no order":            {mark, "x", 0, false},
	} {
		if got := test.mark.NewerThan(version(test.cached), written.Add(test.passed)); got != test.behind {
			t.Errorf("%s: behind %t", name, got)
		}
	}
}

func TestWhatIsNotStoredAsItWasIsNotActedOn(t *testing.T) {
	store := fake.NewClientBuilder().WithObjects(version("10")).Build()
	other := version("10")
	other.UID = "2"
	gone := version("10")
	gone.Name = "b"
	if err := ConfirmStored(t.Context(), store, version("10"), &corev1.Pod{}); err != nil {
		t.Error(err)
	}
	for name, object := range map[string]*corev1.Pod{"older": version("9"), "another of that name": other} {
		if err := ConfirmStored(t.Context(), store, object, &corev1.Pod{}); !errors.Is(err, ErrStale) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := ConfirmStored(t.Context(), store, gone, &corev1.Pod{}); !apierrors.IsNotFound(err) {
		t.Errorf("one that is gone: %v", err)
	}
}

func TestWhatAFailedReconcileReturns(t *testing.T) {
	resource, other := schema.GroupResource{Resource: "things"}, errors.New("other")
	terminating := apierrors.NewForbidden(resource, "one", other)
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, c := range map[string]struct {
		err   error
		again time.Duration
		fails bool
	}{
		"changed meanwhile":   {apierrors.NewConflict(resource, "one", other), StaleRetry, false},
		"behind":              {ErrStale, StaleRetry, false},
		"the namespace goes":  {terminating, 0, false},
		"not allowed":         {apierrors.NewForbidden(resource, "one", other), 0, true},
		"what it cannot know": {other, 0, true},
	} {
		got, err := ResultOf(fmt.Errorf("thing shop/one: %w", c.err))
		if got.RequeueAfter != c.again || (err != nil) != c.fails || c.fails && !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
