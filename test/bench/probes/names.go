// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// mostNames is how many ExternalServices have a name whose addresses change.
	mostNames = 1000
	// namesNamespace has them.
	namesNamespace = "names"
	// ttl of their records.
	ttl = 5 * time.Second
)

// names has as many names as there are objects, at most mostNames, resolve to other addresses all at once, and
// counts what the operator writes for that.
func (r *run) names(ctx context.Context) error {
	n := min(r.options.Objects, mostNames)
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namesNamespace}}
	if _, err := r.client.CoreV1().Namespaces().Create(ctx, made, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := r.resolve(n, 0); err != nil {
		return err
	}
	known := r.board.readyNow()
	err := each(ctx, n, func(ctx context.Context, i int) error {
		return r.create(ctx, namesNamespace, fmt.Sprintf("name-%d", i), r.spec(i, map[string]any{
			"endpoints":  []any{map[string]any{"name": "all", "dns": map[string]any{"name": hostname(i)}}},
			"resolution": map[string]any{"minTTL": ttl.String()},
		}))
	})
	if err != nil {
		return err
	}
	if err := r.until(ctx, 100*time.Millisecond, func() (bool, error) { return r.board.readyNow() >= known+n*PerObject, nil }); err != nil {
		return fmt.Errorf("publish the names: %w (%s)", err, r.board)
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	before, err := r.written(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := r.resolve(n, n); err != nil {
		return err
	}
	// The board forgets no address: those from before stay ready on it.
	if err := r.until(ctx, 100*time.Millisecond, func() (bool, error) { return r.board.readyNow() >= known+2*n*PerObject, nil }); err != nil {
		return fmt.Errorf("publish the other addresses: %w (%s)", err, r.board)
	}
	r.result.NamesMoved = time.Since(began)
	if err := r.settle(ctx); err != nil {
		return err
	}
	after, err := r.written(ctx)
	if err != nil {
		return err
	}
	r.result.Names, r.result.NamesWritten = n, after.since(before)
	r.say("%d names resolve to other addresses: published after %.1fs; written: %s", n, r.result.NamesMoved.Seconds(), r.result.NamesWritten)
	return nil
}

func hostname(i int) string { return fmt.Sprintf("name-%d.example.com", i) }

// resolve has every name resolve to addresses that no other object has, shifted by so many objects.
func (r *run) resolve(n, by int) error {
	for i := range n {
		if err := r.dns.Addresses(hostname(i), ttl, texts(Own(r.options.Objects+by+i))...); err != nil {
			return err
		}
	}
	return nil
}

func texts(all []netip.Addr) []string {
	out := make([]string, len(all))
	for i, ip := range all {
		out[i] = ip.String()
	}
	return out
}
