// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// addresses is how many there are: 250 of each /24 of 198.18.0.0/15.
	addresses = 2 * 256 * 250
	// namespaces that the objects are spread over: one may not use all of the workers.
	namespaces = 10
	// writers that make objects.
	writers = 8
)

// address is one of 198.18.0.0/15.
func address(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{198, byte(18 + i/250/256), byte(i / 250 % 256), byte(1 + i%250)})
}

// own are the addresses of an object.
func own(object int) []netip.Addr {
	all := make([]netip.Addr, perObject)
	for i := range all {
		all[i] = address(object*perObject + i)
	}
	return all
}

func namespace(object int) string { return fmt.Sprintf("probes-%d", object%namespaces) }

// manifest of an object. Its Service is headless, since for each ClusterIP that it gives away the API
// server goes through all that it has given away before: 10,000 of them would measure that. Those that are watched are checked by HTTP: a failure of theirs is seen at
// the other end, where a connection that is refused is not.
func (r *run) manifest(object int) ([]byte, error) {
	check, port := map[string]any{"tcp": map[string]any{}}, r.tcp.Port()
	if slices.Contains(r.watched, object) {
		check, port = map[string]any{"http": map[string]any{}}, r.http.Port()
	}
	check["interval"], check["unhealthyThreshold"] = interval.String(), failures
	return json.Marshal(map[string]any{
		"apiVersion": "networking.fairlead.dev/v1", "kind": "ExternalService",
		"metadata": map[string]any{"name": fmt.Sprintf("object-%d", object)},
		"spec": map[string]any{
			"service":     map[string]any{"type": "Headless"},
			"ports":       []any{map[string]any{"name": "main", "port": port}},
			"endpoints":   []any{map[string]any{"name": "all", "addresses": own(object)}},
			"healthCheck": check,
		},
	})
}

// populate makes the objects, by way of the webhooks of a replica that reconciles none of them.
func (r *run) populate(ctx context.Context) error {
	for i := range namespaces {
		made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace(i)}}
		if _, err := r.client.CoreV1().Namespaces().Create(ctx, made, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	replica, err := r.stage.StartReplica(ctx, unresolved, "--namespaces=default")
	if err != nil {
		return err
	}
	defer r.stage.Retire(replica)
	if err := r.stage.Reachable(ctx); err != nil {
		return err
	}
	return r.createAll(ctx)
}

func (r *run) createAll(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	objects := make(chan int)
	var work sync.WaitGroup
	for range writers {
		work.Go(func() {
			for object := range objects {
				if err := r.create(ctx, object); err != nil {
					fail(err)
				}
			}
		})
	}
	for object := range r.Objects {
		if object > 0 && object%1000 == 0 {
			r.say("%d of %d objects made", object, r.Objects)
		}
		objects <- object
	}
	close(objects)
	work.Wait()
	return context.Cause(ctx)
}

func (r *run) create(ctx context.Context, object int) error {
	body, err := r.manifest(object)
	if err != nil {
		return err
	}
	for {
		err = r.client.Discovery().RESTClient().Post().
			AbsPath("/apis/networking.fairlead.dev/v1/namespaces", namespace(object), "externalservices").
			SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
		switch {
		case err == nil || apierrors.IsAlreadyExists(err): // the second where an answer got lost
			return nil
		case ctx.Err() == nil && retriable(err):
			continue
		}
		return fmt.Errorf("create object %d: %w", object, err)
	}
}

// retriable failures are those of a machine with too much to do.
func retriable(err error) bool {
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err)
}
