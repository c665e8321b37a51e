// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/cache"
)

const (
	// ShardLabel is on the Lease of each claim, with the name of the shard.
	ShardLabel = "fairlead.dev/shard"
	// claimPrefix is followed by the namespace in the name of a claim.
	claimPrefix = "fairlead-namespace-"
	// retryClaim is when a claim of another shard is read again, if no watch event has removed it.
	retryClaim = 15 * time.Second
	// reportAfter is how long another shard may have a namespace before an Event reports it: a shard that was told
	// of the same change of labels needs a moment.
	reportAfter = 10 * time.Second
)

func claimName(namespace string) string { return claimPrefix + namespace }

// claims are the namespaces that are claimed. Only the shard that holds a claim deletes it, so what a leader
// has read of its own shard's claims after it was elected stays true.
type claims struct {
	client kubernetes.Interface
	leases coordinationclient.LeaseInterface
	shard  string

	mu   sync.Mutex
	mine map[string]types.UID // the claims of this shard, by namespace
}

func newClaims(client kubernetes.Interface, namespace, shard string) *claims {
	return &claims{client: client, leases: client.CoordinationV1().Leases(namespace), shard: shard}
}

// run reads the claims and follows them until ctx ends. It calls started once they are known, and changed with
// the namespaces that the shard has and with those whose claims are gone.
func (c *claims) run(ctx context.Context, started func(), changed func(namespace string)) error {
	informer := newInformer(c.client, c.leases, &coordinationv1.Lease{}, ShardLabel)
	c.mu.Lock()
	c.mine = map[string]types.UID{}
	c.mu.Unlock()
	handled, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		// Later claims are noted by acquire. Their events may come after the claim was given back.
		AddFunc: func(object any, isInInitialList bool) {
			if lease, ok := object.(*coordinationv1.Lease); ok && isInInitialList && holderOf(lease) == c.shard {
				c.mu.Lock()
				c.mine[namespaceOf(lease.Name)] = lease.UID
				c.mu.Unlock()
			}
		},
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			lease, ok := object.(*coordinationv1.Lease)
			if !ok {
				return
			}
			namespace := namespaceOf(lease.Name)
			c.mu.Lock()
			if c.mine[namespace] == lease.UID {
				delete(c.mine, namespace)
			}
			c.mu.Unlock()
			changed(namespace)
		},
	})
	if err != nil {
		return err
	}
	follow(ctx, informer, handled.HasSynced, func() {
		started()
		c.mu.Lock()
		known := slices.Collect(maps.Keys(c.mine))
		c.mu.Unlock()
		for _, namespace := range known { // an earlier leader may not have come to release all
			changed(namespace)
		}
	})
	return nil
}

func (c *claims) has(namespace string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mine[namespace] != ""
}

// acquire returns the shard that has the namespace, which is this one where none had it.
func (c *claims) acquire(ctx context.Context, namespace string) (holder string, err error) {
	if c.has(namespace) {
		return c.shard, nil
	}
	now := metav1.NowMicro()
	lease, err := c.leases.Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: claimName(namespace), Labels: map[string]string{ShardLabel: c.shard}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &c.shard, AcquireTime: &now},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		lease, err = c.leases.Get(ctx, claimName(namespace), metav1.GetOptions{})
	}
	if err != nil {
		return "", fmt.Errorf("claim namespace %s: %w", namespace, err)
	}
	holder = holderOf(lease)
	if holder == c.shard {
		c.mu.Lock()
		c.mine[namespace] = lease.UID
		c.mu.Unlock()
	}
	return holder, nil
}

// release deletes the claim of this shard, if it has one.
func (c *claims) release(ctx context.Context, namespace string) error {
	c.mu.Lock()
	uid, ok := c.mine[namespace]
	c.mu.Unlock()
	if !ok {
		return nil
	}
	err := c.leases.Delete(ctx, claimName(namespace), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("release namespace %s: %w", namespace, err)
	}
	c.mu.Lock()
	delete(c.mine, namespace)
	c.mu.Unlock()
	return nil
}

// holderOf is empty for a claim that was edited and has no holder: it counts as that of another shard.
func holderOf(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

func namespaceOf(claim string) string { return strings.TrimPrefix(claim, claimPrefix) }
