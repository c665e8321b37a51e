// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Secret leaves a note in changed when it begins to watch, since whatever came before was seen by nobody,
// and whenever something happens to the Secret. It returns nil when ctx ends, or the API server ends the
// watch in good order. The caller gives changed room for one note; where one waits, no other is left.
func Secret(ctx context.Context, secrets corev1client.SecretInterface, name string, changed chan<- struct{}) error {
	stream, err := secrets.Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()})
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
