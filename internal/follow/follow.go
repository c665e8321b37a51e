// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
)

// Watcher begins watches, as every client of a resource does.
type Watcher interface {
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// Object leaves a note in changed when it begins to watch, since nothing that came before was seen, and
// whenever something happens to the object of that name. It returns nil when ctx ends, or the API server
// ends the watch in good order. The caller gives changed room for one note; where one waits, no other is
// left.
func Object(ctx context.Context, objects Watcher, name string, changed chan<- struct{}) error {
	stream, err := objects.Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()})
	if err != nil {
		return err
	}
	defer stream.Stop()
	note(changed)
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-stream.ResultChan():
			if !open {
				return nil
			}
			if event.Type == watch.Error {
				return apierrors.FromObject(event.Object)
			}
			note(changed)
		}
	}
}

func note(changed chan<- struct{}) {
	select {
	case changed <- struct{}{}:
	default: // one is waiting already
	}
}
