// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package objectwatch

import (
	"context"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/panics"
	"github.com/fairlead-dev/fairlead/internal/retry"
)

// Watcher starts watches, as the client of a resource does.
type Watcher interface {
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// Options of Run. All but Concerns and Jitter are required.
type Options struct {
	Client Watcher
	// Name is the name of the object.
	Name string
	// Changed gets the signals; see Watch.
	Changed chan<- struct{}
	// Concerns reports whether an event is a signal, of those that Follow has. Defaults to nil: each is.
	Concerns func(watch.Event) bool
	// Work is the label of a panic in the metrics.
	Work  string
	Clock clock.Clock
	// MinDelay is the time between a watch that the API server closed and the next one. It doubles with
	// each watch that fails, up to MaxDelay.
	MinDelay, MaxDelay time.Duration
	// Jitter lengthens a delay. Defaults to nil: it is used as it is.
	Jitter func(time.Duration) time.Duration
	// OnError is called once for each distinct error of a watch.
	OnError func(error)
}

// Run watches until ctx ends, and starts the watch again whenever it ends.
func Run(ctx context.Context, o Options) {
	var reported retry.Distinct
	for failures := 0; ctx.Err() == nil; {
		began := o.Clock.Now()
		err := panics.Try(o.Work, func() error {
			return Follow(ctx, o.Client, o.Name, func(event watch.Event) {
				if o.Concerns == nil || o.Concerns(event) {
					Signal(o.Changed)
				}
			})
		})
		if err == nil || o.Clock.Since(began) > o.MaxDelay {
			failures = 0
		}
		if err != nil && ctx.Err() == nil {
			failures++
			if reported.Add(err) {
				o.OnError(err)
			}
		}
		delay := min(o.MinDelay<<min(failures, 12), o.MaxDelay)
		if o.Jitter != nil {
			delay = o.Jitter(delay)
		}
		select {
		case <-ctx.Done():
		case <-o.Clock.After(delay):
		}
	}
}

// Watch sends to changed when the watch starts, since no earlier change was seen, and on each event of
// the object. It never blocks: changed needs room for one signal, and is not sent another while one is
// pending. It returns nil where ctx ends or the API server closes the watch.
func Watch(ctx context.Context, client Watcher, name string, changed chan<- struct{}) error {
	return Follow(ctx, client, name, func(watch.Event) { Signal(changed) })
}

// Signal sends to a channel with room for one signal, unless one is pending.
func Signal(changed chan<- struct{}) {
	select {
	case changed <- struct{}{}:
	default:
	}
}

// Follow calls onEvent with an empty event when the watch starts, and with each event of the object. It returns as Watch
// does.
func Follow(ctx context.Context, client Watcher, name string, onEvent func(watch.Event)) error {
	events, err := client.Watch(ctx, ListOptions(name))
	if err != nil {
		return err
	}
	defer events.Stop()
	onEvent(watch.Event{})
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-events.ResultChan():
			switch {
			case !open:
				return nil
			case event.Type == watch.Error:
				return apierrors.FromObject(event.Object)
			case event.Type != watch.Bookmark:
				onEvent(event)
			}
		}
	}
}

// timeout of a watch is that of the API server for who names none. It takes some random time more, so that not all end
// at once.
const timeout = 30 * time.Minute

// ListOptions returns the options of a watch of one object. They request bookmarks, without which a watch that the
// network has lost would look like an object that does not change.
func ListOptions(name string) metav1.ListOptions {
	seconds := int64((timeout + rand.N(timeout)) / time.Second) //nolint:gosec // no secret depends on it
	return metav1.ListOptions{
		FieldSelector:       fields.OneTermEqualSelector(metav1.ObjectNameField, name).String(),
		AllowWatchBookmarks: true, TimeoutSeconds: &seconds,
	}
}
