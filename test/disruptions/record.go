// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package disruptions

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// patience is how far the watches may be behind the API server.
const patience = 2 * time.Minute

// Record follows the pods, Deployments, ChaosPods and RebootPolicies of a namespace.
type Record struct {
	client    client.WithWatch
	namespace string
	cancel    context.CancelFunc
	watching  sync.WaitGroup
	planned   chan struct{}

	mu      sync.Mutex // guards what follows
	closing bool
	err     error
	first   []fact
	changes []fact
	there   map[types.UID]uint64 // the version of each object that was seen last
}

// Follow begins to follow a namespace, in which nothing must be under way, until Account is called or ctx
// ends.
func Follow(ctx context.Context, c client.WithWatch, namespace string) (*Record, error) {
	r := &Record{client: c, namespace: namespace, planned: make(chan struct{}, 1), there: map[types.UID]uint64{}}
	ctx, r.cancel = context.WithCancel(ctx)
	for _, list := range lists() {
		if err := r.follow(ctx, list); err != nil {
			r.Close()
			return nil, fmt.Errorf("follow %T of namespace %s: %w", list, namespace, err)
		}
	}
	return r, nil
}

func lists() []client.ObjectList {
	return []client.ObjectList{&corev1.PodList{}, &appsv1.DeploymentList{}, &chaosv1.ChaosPodList{}, &autorebootv1.RebootPolicyList{}}
}

func (r *Record) follow(ctx context.Context, list client.ObjectList) error {
	err := r.each(ctx, list, func(object client.Object) error {
		f, err := factOf(object, false)
		if err == nil {
			r.first = append(r.first, f)
			r.there[f.uid] = f.at
		}
		return err
	})
	if err != nil {
		return err
	}
	changes, err := r.client.Watch(ctx, list, client.InNamespace(r.namespace),
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}})
	if err != nil {
		return err
	}
	r.watching.Go(func() {
		defer changes.Stop()
		for change := range changes.ResultChan() {
			r.add(change)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.closing {
			r.err = errors.Join(r.err, fmt.Errorf("the watch of %T ended", list))
		}
	})
	return nil
}

// each lists objects and reads them, with the record locked.
func (r *Record) each(ctx context.Context, list client.ObjectList, read func(client.Object) error) error {
	if err := r.client.List(ctx, list, client.InNamespace(r.namespace)); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return meta.EachListItem(list, func(item runtime.Object) error {
		object, ok := item.(client.Object)
		if !ok {
			return fmt.Errorf("%T has no metadata", item)
		}
		return read(object)
	})
}

func (r *Record) add(change watch.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing { // what a watch that is stopped reports last is no change
		return
	}
	object, ok := change.Object.(client.Object)
	if !ok {
		r.err = errors.Join(r.err, fmt.Errorf("a watch reports %s: %v", change.Type, change.Object))
		return
	}
	f, err := factOf(object, change.Type == watch.Deleted)
	if err != nil {
		r.err = errors.Join(r.err, err)
		return
	}
	r.changes = append(r.changes, f)
	if r.there[f.uid] = f.at; f.deleted {
		delete(r.there, f.uid)
	}
	if c, ok := object.(*chaosv1.ChaosPod); ok && c.Status.CurrentRun != nil && c.Status.CurrentRun.Phase == chaosv1.RunPlanned {
		select {
		case r.planned <- struct{}{}:
		default:
		}
	}
}

// AwaitPlan returns as soon as a status is seen that names victims before any of them is known to have died.
func (r *Record) AwaitPlan(ctx context.Context) error {
	select {
	case <-r.planned: // of an earlier one
	default:
	}
	select {
	case <-r.planned:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Account waits until everything that the API server has now was seen, ends the watches, and judges what
// they saw. Floors are how many pods of each Deployment must be ready at any time, by its name.
func (r *Record) Account(ctx context.Context, floors map[string]int) (Account, error) {
	behind := framework.Eventually(ctx, patience, func(ctx context.Context) error {
		objects := 0
		for _, list := range lists() {
			err := r.each(ctx, list, func(object client.Object) error {
				objects++
				f, err := factOf(object, false)
				if err == nil && r.there[f.uid] < f.at {
					err = fmt.Errorf("version %d of %s was not seen", f.at, f.name)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if objects != len(r.there) {
			return fmt.Errorf("%d objects are known, and there are %d", len(r.there), objects)
		}
		return nil
	})
	r.Close()
	if err := errors.Join(behind, r.err); err != nil {
		return Account{}, fmt.Errorf("follow namespace %s: %w", r.namespace, err)
	}
	return account(r.first, r.changes, floors), nil
}

// Close ends the watches. It may be called more than once.
func (r *Record) Close() {
	r.mu.Lock()
	r.closing = true
	r.mu.Unlock()
	r.cancel()
	r.watching.Wait()
}
