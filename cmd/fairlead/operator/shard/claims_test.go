// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"testing"
	"testing/synctest"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// The watch tells of a claim that was made and given back since: the shard must not take itself for its holder.
func TestTheLateEventOfAClaimDoesNotBringItBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewSimpleClientset()
		events := watch.NewFake()
		api.PrependWatchReactor("leases", clienttesting.DefaultWatchReactor(events, nil))
		c := newClaims(api, "fairlead-system", "a")
		ctx, cancel := context.WithCancel(t.Context())
		started, ended := make(chan struct{}), make(chan error)
		go func() { ended <- c.run(ctx, func() { close(started) }, func(string) {}) }()
		<-started

		if holder, err := c.acquire(ctx, "shop"); holder != "a" || err != nil {
			t.Fatal(holder, err)
		}
		claim, err := api.CoordinationV1().Leases("fairlead-system").Get(ctx, claimName("shop"), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.release(ctx, "shop"); err != nil {
			t.Fatal(err)
		}
		claim.UID = "1" // which the fake does not give
		events.Add(claim)
		synctest.Wait()
		if c.has("shop") {
			t.Error("a claim that was given back is back")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A leader takes over the claims of the one before it.
func TestTheClaimsOfTheShardAreReadAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := func(namespace, holder string) runtime.Object {
			return &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Namespace: "fairlead-system", Name: claimName(namespace), Labels: map[string]string{ShardLabel: holder}, UID: "1"},
				Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder},
			}
		}
		c := newClaims(fake.NewSimpleClientset(of("shop", "a"), of("bank", "b")), "fairlead-system", "a")
		ctx, cancel := context.WithCancel(t.Context())
		started, ended := make(chan struct{}), make(chan error)
		var changed []string
		go func() {
			ended <- c.run(ctx, func() { close(started) }, func(namespace string) { changed = append(changed, namespace) })
		}()
		<-started
		if !c.has("shop") || c.has("bank") {
			t.Errorf("shop %t, bank %t", c.has("shop"), c.has("bank"))
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if len(changed) != 1 || changed[0] != "shop" {
			t.Errorf("changed %q", changed)
		}
	})
}
