// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/test/framework"
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

// Own are the addresses of an object, which no other has.
func Own(object int) []netip.Addr {
	all := make([]netip.Addr, PerObject)
	for i := range all {
		all[i] = address(object*PerObject + i)
	}
	return all
}

func namespace(object int) string { return fmt.Sprintf("probes-%d", object%namespaces) }

// spec of an object, with some fields replaced. Its Service is headless, since for each ClusterIP that it gives away
// the API server goes through all that it has given away before: 10,000 of them would measure that. Those that are
// watched are checked by HTTP: a failure of theirs is seen at the other end, where a connection that is refused is not.
func (r *run) spec(object int, with map[string]any) map[string]any {
	check, port := map[string]any{"tcpSocket": map[string]any{}}, r.tcp.Port()
	if with == nil && slices.Contains(r.watched, object) {
		check, port = map[string]any{"httpGet": map[string]any{}}, r.http.Port()
	}
	check["interval"], check["failureThreshold"] = interval.String(), failures
	spec := map[string]any{
		"service":     map[string]any{"clusterIP": "None"},
		"ports":       []any{map[string]any{"name": "main", "port": port}},
		"endpoints":   []any{map[string]any{"name": "all", "addresses": Own(object)}},
		"healthCheck": check,
	}
	maps.Copy(spec, with)
	return spec
}

// lease is the one that replicas elect their leader by.
var lease = metav1.ObjectMeta{Namespace: framework.Namespace, Name: "fairlead-manager"}

// populate makes the objects, by way of the webhooks of a replica that does not lead, since another holds the Lease.
func (r *run) populate(ctx context.Context) error {
	for i := range namespaces {
		made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace(i)}}
		if _, err := r.client.CoreV1().Namespaces().Create(ctx, made, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	leases := r.client.CoordinationV1().Leases(lease.Namespace)
	_, err := leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: lease, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("another-holder"), LeaseDurationSeconds: ptr.To(int32(r.options.Limit.Seconds())), RenewTime: ptr.To(metav1.NowMicro()),
	}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	replica, err := r.stage.StartReplica(ctx, r.nameserver(), "--set=controllers.warmup=false")
	if err != nil {
		return err
	}
	if err := r.stage.Reachable(ctx); err != nil {
		return err
	}
	err = each(ctx, r.options.Objects, func(ctx context.Context, object int) error {
		if object > 0 && object%1000 == 0 {
			r.say("%d of %d objects made", object, r.options.Objects)
		}
		return r.create(ctx, namespace(object), fmt.Sprintf("object-%d", object), r.spec(object, nil))
	})
	if err != nil {
		return err
	}
	if err := r.floor(ctx); err != nil {
		return err
	}
	r.stage.Retire(replica) // before the Lease can be had
	return leases.Delete(ctx, lease.Name, metav1.DeleteOptions{})
}

// each calls do with every number below n, by several writers at a time, until one fails.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	writing, ctx := errgroup.WithContext(ctx)
	writing.SetLimit(writers)
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		writing.Go(func() error { return do(ctx, i) })
	}
	return writing.Wait()
}

func (r *run) create(ctx context.Context, namespace, name string, spec map[string]any) error {
	body, err := json.Marshal(map[string]any{
		"apiVersion": "networking.fairlead.dev/v1", "kind": "ExternalService",
		"metadata": map[string]any{"name": name}, "spec": spec,
	})
	if err != nil {
		return err
	}
	for {
		err = r.client.Discovery().RESTClient().Post().
			AbsPath("/apis/networking.fairlead.dev/v1/namespaces", namespace, "externalservices").
			SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
		switch {
		case err == nil || apierrors.IsAlreadyExists(err): // the second where an answer got lost
			return nil
		case ctx.Err() == nil && retriable(err):
			continue
		}
		return fmt.Errorf("create %s: %w", name, err)
	}
}

// retriable failures are those of a machine with too much to do.
func retriable(err error) bool {
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err)
}
