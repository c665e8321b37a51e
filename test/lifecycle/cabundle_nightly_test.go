// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// Another writer takes the bundle away as soon as it is there. Each write of a CRD has the API server
// convert all stored objects, so the two replicas give in ever longer, and heal it when the other has ended.
func TestAFightOverACABundleIsBounded(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	r, other := s.start(), s.start()
	for _, one := range []*replica{r, other} {
		one.reaches("ca-published", "done")
	}
	good := s.bundle(framework.Definitions[2])
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := s.Dynamic.Resource(crds).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + framework.Definitions[2]})
	s.Must(err)
	defer stream.Stop()
	var taken atomic.Int32
	rival := make(chan error, 1)
	go func() {
		rival <- func() error {
			for event := range stream.ResultChan() {
				object, ok := event.Object.(*unstructured.Unstructured)
				if ctx.Err() != nil {
					return ctx.Err() // the watch ends with an error of its own then
				}
				if !ok {
					return fmt.Errorf("the watch told %s: %v", event.Type, event.Object)
				}
				if bundle, _, _ := unstructured.NestedString(object.Object, "spec", "conversion", "webhook", "clientConfig", "caBundle"); bundle == "" {
					continue
				}
				_, err := s.Dynamic.Resource(crds).Patch(ctx, framework.Definitions[2], types.MergePatchType,
					[]byte(`{"spec":{"conversion":{"webhook":{"clientConfig":{"caBundle":null}}}}}`), metav1.PatchOptions{FieldManager: "rival"})
				if err != nil {
					return err
				}
				taken.Add(1)
			}
			return nil
		}()
	}()
	select {
	case err := <-rival:
		t.Fatalf("the other writer ended: %v", err)
	case <-time.After(45 * time.Second):
	}
	written := taken.Load() - 1
	r.degraded(framework.Definitions[2], "in a row, last by") // while the other writer goes on: once it has ended, the bundle is soon healed
	cancel()
	if err := <-rival; err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	t.Logf("written %d times in 45 s", written)
	if written < 1 || written > 5 {
		t.Errorf("written %d times in 45 s, want at once, after 20 s, and no more than one more each by the two replicas", written)
	}
	t.Logf("healed %s after the other writer had ended", s.healed(good))
}

// The webhooks' own account may watch and heal the bundle; the reconcilers' need not.
func TestSplitALostCABundleIsHealedByTheWebhooks(t *testing.T) {
	t.Parallel()
	a := newSuite(t).split()
	webhooks := a.webhook()
	webhooks.reaches("ca-published", "done")
	good := a.bundle(framework.Definitions[0])
	a.wipe(framework.Definitions[0])
	took := a.healed(good)
	t.Logf("healed after %s", took)
	if took > healing {
		t.Errorf("healed after %s", took)
	}
	webhooks.permitted()
}
