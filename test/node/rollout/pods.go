// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	terminating = "terminating"
	unready     = "not ready"
)

// watchPods tells the routes which pods come and go. It ends with ctx, or with the error that keeps it
// from going on.
func (d *deployment) watchPods(ctx context.Context, r *routes) error {
	for {
		var list corev1.PodList
		events, err := d.client.Watch(ctx, &list, client.InNamespace(framework.Namespace), serving)
		if err != nil {
			return fmt.Errorf("watch the pods: %w", err)
		}
		err = tell(ctx, events, r)
		events.Stop()
		if err != nil {
			return err
		}
	}
}

func tell(ctx context.Context, events watch.Interface, r *routes) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case event, open := <-events.ResultChan():
			if !open {
				return nil // the API server ends every watch once in a while
			}
			if event.Type == watch.Error {
				return errors.New("watch the pods: the API server ended it with an error")
			}
			if pod, ok := event.Object.(*corev1.Pod); ok && pod.Status.PodIP != "" {
				note(pod, r, time.Now())
			}
		}
	}
}

func note(pod *corev1.Pod, r *routes, now time.Time) {
	switch {
	case pod.DeletionTimestamp != nil:
		r.departs(pod.Status.PodIP, terminating, now)
	case isReady(pod):
		r.returns(pod.Status.PodIP)
	default:
		r.departs(pod.Status.PodIP, unready, now)
	}
}
