// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/apistatus"
	"github.com/fairlead-dev/fairlead/internal/objectwatch"
	"github.com/fairlead-dev/fairlead/internal/panics"
)

// claimInterval is how often the CRDs are read, in addition to the watches.
const claimInterval = 5 * time.Minute

// claim decides which of several installations in a cluster reconciles: the one whose Service the CRDs call for
// conversion. If two reconciled the same objects, each workload would be restarted twice. An installation reconciles if
// the CRDs have no conversion, or if it may not read them. One without rights in the whole cluster does not read them.
type claim struct {
	definitions dynamic.ResourceInterface
	names       []string             // of the CRDs
	own         types.NamespacedName // the Service of this installation's webhooks
	clock       clock.WithTicker
	logger      logr.Logger

	mu   sync.Mutex
	seen map[string]types.NamespacedName // the Service that each CRD called when it was last read; none where it calls none
}

var definitionResource = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

// foreignClaim is the error that another installation reconciles.
type foreignClaim struct {
	definition string
	service    types.NamespacedName
	own        types.NamespacedName
}

func (f *foreignClaim) Error() string {
	return fmt.Sprintf("CustomResourceDefinition %s calls Service %s and not %s: another installation of Fairlead reconciles, and this one does not; remove one of the two, or apply the CRDs of this one", f.definition, f.service, f.own)
}

// check returns nil if this installation reconciles, and a *foreignClaim if another does. Any other error means that it
// is not known.
func (c *claim) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	for _, name := range c.names {
		object, err := c.definitions.Get(ctx, name, metav1.GetOptions{})
		if err != nil && !apistatus.IsAbsent(err, definitionResource.GroupResource(), name) && !apierrors.IsForbidden(err) {
			return fmt.Errorf("whether another installation reconciles: CustomResourceDefinition %s: %w", name, err)
		}
		by := types.NamespacedName{}
		if err == nil {
			by = calledBy(object)
		}
		c.mu.Lock()
		c.seen[name] = by
		c.mu.Unlock()
		if c.isForeign(by) {
			return &foreignClaim{name, by, c.own}
		}
	}
	return nil
}

// calledBy returns the Service that a CRD calls for conversion.
func calledBy(definition *unstructured.Unstructured) types.NamespacedName {
	path := []string{"spec", "conversion", "webhook", "clientConfig", "service"}
	namespace, _, _ := unstructured.NestedString(definition.Object, append(path, "namespace")...) // the API server has checked them
	name, _, _ := unstructured.NestedString(definition.Object, append(path, "name")...)
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func (c *claim) isForeign(by types.NamespacedName) bool {
	return by != types.NamespacedName{} && by != c.own
}

// concerns reports whether a CRD may call another Service than when it was last read. Other changes, such as of its CA
// bundle, are no reason to read all CRDs: they are large.
func (c *claim) concerns(name string, event watch.Event) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, known := c.seen[name]
	switch definition, _ := event.Object.(*unstructured.Unstructured); {
	case !known:
		return true
	case event.Type == watch.Deleted:
		return last != types.NamespacedName{}
	case definition == nil: // a watch has started, and sends what there is: no event tells of a CRD that is gone
		return c.isForeign(last)
	default:
		return calledBy(definition) != last
	}
}

// hold returns an error once another installation reconciles. The process then ends, and waits after its next start.
func (c *claim) hold(ctx context.Context) error {
	return c.follow(ctx, func(err error) bool {
		var foreign *foreignClaim
		return errors.As(err, &foreign)
	})
}

// wait returns nil once this installation reconciles. Until then, it calls waiting with each reason for which it does
// not.
func (c *claim) wait(ctx context.Context, waiting func(error)) error {
	isFinal := func(err error) bool {
		if err != nil {
			waiting(err)
		}
		return err == nil
	}
	if isFinal(c.check(ctx)) {
		return nil
	}
	return c.follow(ctx, isFinal)
}

// follow checks again whenever a CRD calls another Service. It returns the first result that is final, or when ctx
// ends.
func (c *claim) follow(ctx context.Context, isFinal func(error) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	changed := make(chan struct{}, 1)
	var watching sync.WaitGroup
	defer func() { cancel(); watching.Wait() }()
	for _, name := range c.names {
		watching.Go(func() {
			panics.Go("claim", func() { c.watch(ctx, name, changed) })
		})
	}
	timer := c.clock.NewTicker(claimInterval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-timer.C():
		}
		if err := c.check(ctx); isFinal(err) && ctx.Err() == nil {
			return err
		}
	}
}

func (c *claim) watch(ctx context.Context, name string, changed chan<- struct{}) {
	objectwatch.Run(ctx, objectwatch.Options{
		Client: c.definitions, Name: name, Changed: changed, Work: "claim",
		Concerns: func(event watch.Event) bool { return c.concerns(name, event) },
		Clock:    c.clock, MinDelay: time.Second, MaxDelay: claimInterval,
		OnError: func(err error) {
			c.logger.Info("a CRD cannot be watched, so that another installation is noticed only when it is next read",
				"name", name, "interval", claimInterval.String(), "reason", err.Error())
		},
	})
}
