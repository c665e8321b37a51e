// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package storagemigration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

// errPaused means that a pass ended on its way, to go on later from where it was.
var errPaused = errors.New("paused")

// pass goes over objects of a kind, one after the other.
type pass struct {
	*Migrator
	*migration
	every bool // rewrite all, not only those whose managedFields need it
	inRow int  // failures of a cause that is not known
}

// run comes to all objects, or, where an earlier pass has come to all, to those that failed. It fails where it must
// pause.
func (p *pass) run(ctx context.Context) error {
	p.failure = nil
	if p.walked && len(p.failed) > maxFailed {
		p.walked, p.failed = false, nil // too many to know them all
	}
	if !p.walked {
		return p.walk(ctx)
	}
	failed := p.failed
	p.failed = nil
	for i, key := range failed {
		if err := p.again(ctx, key); err != nil {
			for _, rest := range failed[i:] {
				p.note(rest)
			}
			return err
		}
	}
	return nil
}

// walk goes over all objects that come after p.after, in the order in which they are listed.
func (p *pass) walk(ctx context.Context) error {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := p.options.Objects.Resource(p.goal.through[0]).List(ctx, options)
		if apierrors.IsResourceExpired(err) && options.Continue != "" {
			options.Continue = "" // from the beginning, past what was done already
			continue
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", p.goal.resource.GroupResource(), err)
		}
		remaining := len(page.Items)
		if page.RemainingItemCount != nil {
			remaining += int(*page.RemainingItemCount)
		}
		for i := range page.Items {
			p.metrics.pending.WithLabelValues(p.goal.kind).Set(float64(remaining - i))
			key := keyOf(&page.Items[i])
			if key <= p.after {
				continue
			}
			if err := p.object(ctx, &page.Items[i]); err != nil {
				return err
			}
			p.after = key
		}
		if options.Continue = page.Continue; options.Continue == "" {
			p.metrics.pending.DeleteLabelValues(p.goal.kind)
			p.walked, p.after = true, ""
			return nil
		}
	}
}

// again rewrites an object that failed in an earlier pass.
func (p *pass) again(ctx context.Context, key string) error {
	namespace, name, _ := strings.Cut(key, "/")
	object, err := p.objectsOf(p.goal.through[0], namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return p.fail(key, err)
	default:
		return p.object(ctx, object)
	}
}

// object rewrites one. It fails where the pass must pause; what fails for reasons of its own is noted.
func (p *pass) object(ctx context.Context, object *metav1.PartialObjectMetadata) error {
	if err := p.options.Healthy(ctx); err != nil {
		return fmt.Errorf("%w: %w", errPaused, err)
	}
	outcome := failed
	err := panics.Try("storage migration", func() (err error) {
		outcome, err = p.rewrite(ctx, p.goal, object, p.every)
		return err
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p.metrics.objects.WithLabelValues(p.goal.kind, string(outcome)).Inc()
	if err != nil {
		return p.fail(keyOf(object), err)
	}
	p.inRow = 0
	if outcome == rewritten {
		p.rewritten++
	}
	return nil
}

// fail notes that an object could not be rewritten. It fails after some in a row.
func (p *pass) fail(key string, err error) error {
	p.note(key)
	if apierrors.IsConflict(err) { // it was written meanwhile
		return nil
	}
	if p.failure == nil {
		p.failure = fmt.Errorf("%s %s: %w", p.goal.kind, key, err)
	}
	if isRefusal(err) {
		return nil
	}
	if p.inRow++; p.inRow >= maxFailures {
		return fmt.Errorf("%w after %d failures in a row: %w", errPaused, p.inRow, p.failure)
	}
	return nil
}

// note adds an object to those that failed, once: one at which a pass pauses is come to again.
func (p *pass) note(key string) {
	if len(p.failed) <= maxFailed && !slices.Contains(p.failed, key) {
		p.failed = append(p.failed, key)
	}
}

// isRefusal reports whether the API server refused an object for what it is. However many of these there are in a row,
// the next may fare better.
func isRefusal(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// keyOf sorts as the API server lists.
func keyOf(object metav1.Object) string { return object.GetNamespace() + "/" + object.GetName() }
