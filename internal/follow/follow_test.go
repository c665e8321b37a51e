// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestAWatchLeavesANoteAtItsBeginningAndForEachEvent(t *testing.T) {
	client, stream := fake.NewClientset(), watch.NewFake()
	selector := ""
	client.PrependWatchReactor("secrets", func(action clienttesting.Action) (bool, watch.Interface, error) {
		selector = action.(clienttesting.WatchAction).GetWatchRestrictions().Fields.String()
		return true, stream, nil
	})
	changed, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() { ended <- Object(t.Context(), client.CoreV1().Secrets("shop"), "ca", changed) }()
	<-changed
	if selector != "metadata.name=ca" {
		t.Errorf("it asks for %q", selector)
	}
	stream.Modify(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "ca"}})
	<-changed
	stream.Stop()
	if err := <-ended; err != nil {
		t.Errorf("a watch that has ended in good order: %v", err)
	}
}

func TestAnErrorInAWatchIsAnswered(t *testing.T) {
	client, stream := fake.NewClientset(), watch.NewFake()
	client.PrependWatchReactor("secrets", func(clienttesting.Action) (bool, watch.Interface, error) { return true, stream, nil })
	ended := make(chan error, 1)
	go func() { ended <- Object(t.Context(), client.CoreV1().Secrets("shop"), "ca", make(chan struct{}, 1)) }()
	stream.Error(runtime.Object(&metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Message: "too old"}))
	if err := <-ended; err == nil || err.Error() != "too old" {
		t.Errorf("got %v", err)
	}
}

func TestAWatchEndsWithItsContext(t *testing.T) {
	client := fake.NewClientset()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Object(ctx, client.CoreV1().Secrets("shop"), "ca", make(chan struct{}, 1)); err != nil {
		t.Errorf("the end of its context: %v", err)
	}
}
