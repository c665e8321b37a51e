// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"k8s.io/client-go/rest"
)

// kind is a kind to watch. Only the fields of T are decoded: to decode whole objects would use processors that the measurement
// needs.
type kind[T any] struct {
	path string
	// selector is of the labels of the objects; none where it is empty.
	selector string
	// show gets each state of each object, in the order in which the API server had them: what holds
	// after each call was so at some time. An informer would not keep that order.
	show func(object *T)
	// gap is called when a watch has ended and another begins: between the two, states may be missed.
	gap func()
}

// follow lists the objects, calls listed, and shows every change until ctx ends. The API server ends
// the watches of a kind whose CRD has changed.
func (k kind[T]) follow(ctx context.Context, api rest.Interface, listed func()) error {
	for {
		from, err := k.list(ctx, api)
		if err != nil {
			return err
		}
		listed()
		if err := k.watch(ctx, api, from); ctx.Err() != nil || !errors.Is(err, io.EOF) {
			return err
		}
		k.gap()
	}
}

// list returns the version that a watch may begin from.
func (k kind[T]) list(ctx context.Context, api rest.Interface) (string, error) {
	var list struct {
		Metadata struct{ ResourceVersion string }
		Items    []T
	}
	page, err := k.request(api).DoRaw(ctx)
	if err == nil {
		err = json.Unmarshal(page, &list)
	}
	if err != nil {
		return "", fmt.Errorf("list %s: %w", k.path, err)
	}
	for i := range list.Items {
		k.show(&list.Items[i])
	}
	return list.Metadata.ResourceVersion, nil
}

// watch ends with io.EOF where the API server ends it, and with nil when ctx does.
func (k kind[T]) watch(ctx context.Context, api rest.Interface, from string) error {
	stream, err := k.request(api).Param("watch", "true").Param("timeoutSeconds", "36000").
		Param("resourceVersion", from).Stream(ctx)
	if err != nil {
		return fmt.Errorf("watch %s: %w", k.path, err)
	}
	defer func() { _ = stream.Close() }()
	for events := json.NewDecoder(stream); ; {
		var event struct {
			Type   string
			Object json.RawMessage
		}
		var object T
		err := events.Decode(&event)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil && event.Type == "ERROR" {
			err = errors.New(string(event.Object))
		}
		if err == nil {
			err = json.Unmarshal(event.Object, &object)
		}
		if err != nil {
			return fmt.Errorf("watch %s: %w", k.path, err)
		}
		if event.Type != "DELETED" {
			k.show(&object)
		}
	}
}

func (k kind[T]) request(api rest.Interface) *rest.Request {
	return api.Verb(http.MethodGet).AbsPath(k.path).Param("labelSelector", k.selector).SetHeader("Accept", "application/json")
}
