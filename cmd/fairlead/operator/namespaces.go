// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/internal/events"
)

// rightsInterval is how often the rights in a namespace without them are checked again.
const rightsInterval = time.Minute

// openNamespaces returns the namespaces whose objects are cached; none means all. One in which the operator has no
// rights, since it was deleted with its Role or has none yet, is returned as closed: its informers would never sync,
// and those of all other namespaces wait with them. It fails where all are closed.
func (a *assembly) openNamespaces(ctx context.Context) (open, closed []string, err error) {
	if a.config.ClusterAccess {
		return a.config.Namespaces, nil, nil
	}
	for _, namespace := range a.config.Namespaces {
		if err = a.mayWatch(ctx, namespace); err == nil {
			open = append(open, namespace)
			continue
		}
		closed = append(closed, namespace)
		a.Logger.Error(err, "a namespace is left out: grant the operator its Role there (config/namespaced/rights), or take it out of the field namespaces", "namespace", namespace)
		a.recordEvent(events.Event{
			Regarding: leaseOf(a.config, a.identity), Reason: "NamespaceForbidden", Action: "Watch",
			Note: "The operator has no rights in namespace " + namespace + ", and leaves it out until it has.",
		})
	}
	if len(open) == 0 {
		return nil, nil, fmt.Errorf("the operator has no rights in any of its namespaces, %s: grant it its Role there (config/namespaced/rights): %w", strings.Join(closed, ", "), err)
	}
	return open, closed, nil
}

// mayWatch returns an error where the operator is refused in a namespace, and nil where that is not known.
func (a *assembly) mayWatch(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	if _, err := a.client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{Limit: 1}); apierrors.IsForbidden(err) {
		return err
	}
	return nil
}

// awaitRights returns an error once the operator has rights in one of the namespaces, so that this process ends and
// its next start watches it. Until ctx ends it waits otherwise.
func (a *assembly) awaitRights(ctx context.Context, closed []string) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.Clock.After(rightsInterval):
		}
		opened := slices.IndexFunc(closed, func(namespace string) bool { return a.mayWatch(ctx, namespace) == nil })
		if opened >= 0 && ctx.Err() == nil {
			return fmt.Errorf("the operator has rights in namespace %s now: it starts again to watch it", closed[opened])
		}
	}
}

// withinRights returns a function that passes on the Events that the operator may write. An operator of some
// namespaces converts objects of all.
func (a *assembly) withinRights(record func(events.Event)) func(events.Event) {
	if a.config.ClusterAccess {
		return record
	}
	return func(e events.Event) {
		if in := e.Regarding.Namespace; in == a.identity.namespace || in == a.identity.leaseNamespace ||
			slices.Contains(a.config.Namespaces, in) {
			record(e)
		}
	}
}
