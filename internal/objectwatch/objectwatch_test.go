// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package objectwatch

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

func TestAWatchSignalsItsStartAndEachEvent(t *testing.T) {
	client, stream := fake.NewClientset(), watch.NewFake()
	selector := ""
	var asked metav1.ListOptions
	client.PrependWatchReactor("secrets", func(action clienttesting.Action) (bool, watch.Interface, error) {
		selector = action.(clienttesting.WatchAction).GetWatchRestrictions().Fields.String()
		asked = action.(clienttesting.WatchActionImpl).GetListOptions()
		return true, stream, nil
	})
	changed, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() { ended <- Watch(t.Context(), client.CoreV1().Secrets("shop"), "ca", changed) }()
	<-changed
	if selector != "metadata.name=ca" {
		t.Errorf("the field selector is %q", selector)
	}
	if limit := time.Duration(ptr.Deref(asked.TimeoutSeconds, 0)) * time.Second; !asked.AllowWatchBookmarks || limit < timeout || limit > 2*timeout {
		t.Errorf("the watch has bookmarks: %v, and ends after %s", asked.AllowWatchBookmarks, limit)
	}
	stream.Action(watch.Bookmark, &corev1.Secret{})
	select {
	case <-changed:
		t.Error("a bookmark is a signal")
	default:
	}
	stream.Modify(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "ca"}})
	<-changed
	stream.Stop()
	if err := <-ended; err != nil {
		t.Errorf("a watch that the API server closed: %v", err)
	}
}

func TestAnErrorInAWatchIsReturned(t *testing.T) {
	client, stream := fake.NewClientset(), watch.NewFake()
	client.PrependWatchReactor("secrets", func(clienttesting.Action) (bool, watch.Interface, error) { return true, stream, nil })
	ended := make(chan error, 1)
	go func() { ended <- Watch(t.Context(), client.CoreV1().Secrets("shop"), "ca", make(chan struct{}, 1)) }()
	stream.Error(runtime.Object(&metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Message: "too old"}))
	if err := <-ended; err == nil || err.Error() != "too old" {
		t.Errorf("got %v", err)
	}
}

func TestAWatchEndsWithItsContext(t *testing.T) {
	client := fake.NewClientset()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Watch(ctx, client.CoreV1().Secrets("shop"), "ca", make(chan struct{}, 1)); err != nil {
		t.Errorf("the end of its context: %v", err)
	}
}

func TestRunStartsAWatchAgainLaterAfterEachFailureAndReportsAnErrorOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		began := time.Now()
		var starts []time.Duration
		client.PrependWatchReactor("secrets", func(clienttesting.Action) (bool, watch.Interface, error) {
			starts = append(starts, time.Since(began))
			switch len(starts) {
			case 1: // the API server closes it
				stream := watch.NewFake()
				stream.Stop()
				return true, stream, nil
			case 6:
				panic("a defect") //nolint:forbidigo // what it tests
			}
			return true, nil, errors.New("forbidden")
		})
		ctx, cancel := context.WithTimeout(t.Context(), 31*time.Second)
		defer cancel()
		var reported []string
		Run(ctx, Options{
			Client: client.CoreV1().Secrets("shop"), Name: "ca", Changed: make(chan struct{}, 1), Work: "test",
			Clock: clock.RealClock{}, MinDelay: time.Second, MaxDelay: 8 * time.Second,
			OnError: func(err error) { reported = append(reported, err.Error()) },
		})
		want := []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second, 23 * time.Second}
		if !slices.Equal(starts, append(want, 31*time.Second)) && !slices.Equal(starts, want) {
			t.Errorf("watches start at %v, want %v", starts, want)
		}
		if len(reported) != 2 || reported[0] != "forbidden" {
			t.Errorf("reported %q", reported)
		}
	})
}
