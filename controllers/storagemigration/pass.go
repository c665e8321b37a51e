// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package storagemigration

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

// errPaused means that a pass stopped on its way, to go on later from where it was.
var errPaused = errors.New("paused")

// pass is one walk over all objects of a kind. What a page's workers share is guarded by mu.
type pass struct {
	*Migrator
	goal  goal
	name  string // of the CRD
	every bool   // rewrite all, not only those whose managedFields need it
	after string // the last object that was come to, as namespace/name

	mu    sync.Mutex
	left  []string // those that failed, maxLeft+1 at most
	first error    // of them
	row   int      // failures in a row
	tally map[result]int
}

// walk goes over all objects that come after p.after, in the order in which they are listed.
func (p *pass) walk(ctx context.Context) error {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := p.Objects.Resource(p.goal.through[0]).List(ctx, options)
		if apierrors.IsResourceExpired(err) && options.Continue != "" {
			options.Continue = "" // from the beginning, past what was done already
			continue
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", p.goal.resource.GroupResource(), err)
		}
		ahead := int64(0)
		if page.RemainingItemCount != nil {
			ahead = *page.RemainingItemCount
		}
		if err := p.page(ctx, page.Items, ahead); err != nil {
			return err
		}
		if options.Continue = page.Continue; options.Continue == "" {
			p.metrics.pending.DeleteLabelValues(p.goal.kind)
			return nil
		}
		if err := p.advanced(ctx); err != nil {
			return fmt.Errorf("keep the position: %w", err)
		}
	}
}

// advanced keeps how far the pass has come, and what it left behind. Where that is too much to keep, the
// position stays before it: a pass that goes on from there must come to all of it again.
func (p *pass) advanced(ctx context.Context) error {
	if len(p.left) > maxKept {
		return nil
	}
	return p.keep(ctx, p.name, record{Goal: p.goal.String(), Generation: p.goal.generation, After: p.after, Left: p.left})
}

// page rewrites what a page holds, some at a time. Where it has to pause, what was not reached is
// come to again.
func (p *pass) page(ctx context.Context, items []metav1.PartialObjectMetadata, ahead int64) error {
	var due []*metav1.PartialObjectMetadata
	for i := range items {
		if p.after == "" || keyOf(&items[i]) > p.after {
			due = append(due, &items[i])
		}
	}
	p.metrics.pending.WithLabelValues(p.goal.kind).Set(float64(ahead) + float64(len(due)))
	if err := p.objects(ctx, due); err != nil {
		return err
	}
	p.metrics.pending.WithLabelValues(p.goal.kind).Set(float64(ahead))
	if len(due) > 0 {
		p.after = keyOf(due[len(due)-1])
	}
	return nil
}

// objects rewrites some, by a few workers. It fails where the pass must pause.
func (p *pass) objects(ctx context.Context, due []*metav1.PartialObjectMetadata) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan *metav1.PartialObjectMetadata)
	var working sync.WaitGroup
	for range min(workers, len(due)) {
		working.Go(func() {
			for object := range next {
				if err := p.object(ctx, object); err != nil {
					stop(err)
				}
			}
		})
	}
feed:
	for _, object := range due {
		select {
		case next <- object:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	working.Wait()
	return context.Cause(ctx)
}

// object rewrites one, and reports whether to pause. What fails for reasons of its own is noted.
func (p *pass) object(ctx context.Context, object *metav1.PartialObjectMetadata) error {
	if err := p.Healthy(ctx); err != nil {
		return fmt.Errorf("%w: %w", errPaused, err)
	}
	outcome := failed
	err := panics.Try("storage migration", func() (err error) {
		outcome, err = p.rewrite(ctx, p.goal, object, p.every)
		return err
	})
	if ctx.Err() != nil {
		return nil // it will be come to again
	}
	p.metrics.objects.WithLabelValues(p.goal.kind, string(outcome)).Inc()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tally[outcome]++
	if err == nil {
		p.row = 0
		return nil
	}
	if !ownFault(err) {
		p.row++
	}
	if p.first == nil {
		p.first = fmt.Errorf("%s %s: %w", p.goal.kind, keyOf(object), err)
	}
	if len(p.left) <= maxLeft {
		p.left = append(p.left, keyOf(object))
	}
	if p.row >= maxFailures {
		return fmt.Errorf("%w after %d failures in a row: %w", errPaused, p.row, p.first)
	}
	return nil
}

// ownFault reports whether the API server refused an object for what it is. However many of these there are
// in a row, the next may fare better.
func ownFault(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// keyOf sorts as the API server lists.
func keyOf(object metav1.Object) string { return object.GetNamespace() + "/" + object.GetName() }
