// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/internal/events"
)

// namespaceFile is the file to which the kubelet writes the namespace of a pod.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// identity holds the names of this process, and the namespaces in which it runs and has rights.
type identity struct {
	namespace      string // of the operator's Service, Secrets and pods
	leaseNamespace string
	id             string
	pod            string // empty outside a pod
}

// newIdentity determines the names that the configuration leaves to the environment.
func newIdentity(c *options.Configuration, getenv func(string) string, file string) (identity, error) {
	p := identity{
		namespace: c.Service.Namespace,
		id:        c.LeaderElection.ID,
		pod:       getenv("POD_NAME"),
	}
	if p.namespace == "" {
		p.namespace = getenv("POD_NAMESPACE")
	}
	if p.namespace == "" {
		content, err := os.ReadFile(file) //nolint:gosec // a constant, except in tests
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return identity{}, fmt.Errorf("namespace of the operator: %w", err)
		}
		p.namespace = strings.TrimSpace(string(content))
	}
	if p.namespace == "" {
		return identity{}, errors.New("the namespace of the operator is not known outside a pod: give it by service.namespace or POD_NAMESPACE")
	}
	if p.leaseNamespace = c.LeaderElection.ResourceNamespace; p.leaseNamespace == "" {
		p.leaseNamespace = p.namespace
	}
	if p.id == "" {
		host, err := os.Hostname()
		if err != nil {
			return identity{}, fmt.Errorf("identity of this replica: %w; give one by leaderElection.id", err)
		}
		p.id = host + "_" + string(uuid.NewUUID())
	}
	return p, nil
}

// webhookExemptNamespaces returns the namespaces for which the webhooks are not called. In these, annotations that
// approve something prove nothing, since any writer can set them.
func webhookExemptNamespaces(self identity) []string {
	return []string{metav1.NamespaceSystem, self.namespace}
}

// lease returns a reference to the operator's Lease. Events about the operator itself are about this Lease.
func (a *assembly) lease() corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: "Lease",
		Namespace: a.identity.leaseNamespace, Name: a.config.LeaderElection.ResourceName,
	}
}

// rightsInterval is how often the rights in a namespace without them are checked again.
const rightsInterval = time.Minute

// openNamespaces returns the namespaces whose objects are cached; none means all. A namespace in which the operator has
// no rights is returned as closed: its Role may be missing or deleted. Its informers would never sync, and all other
// namespaces would wait for them. It fails if all namespaces are closed.
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
		a.logger.Error(err, "a namespace is left out: grant the operator its Role there (config/namespaced/rights), or take it out of the field namespaces", "namespace", namespace)
		a.recordEvent(events.Event{
			Regarding: a.lease(), Reason: common.EventNamespaceForbidden, Action: "Watch",
			Note: "The operator has no rights in namespace " + namespace + ", and leaves it out until it has.",
		})
	}
	if len(open) == 0 {
		return nil, nil, fmt.Errorf("the operator has no rights in any of its namespaces, %s: grant it its Role there (config/namespaced/rights): %w", strings.Join(closed, ", "), err)
	}
	return open, closed, nil
}

// mayWatch returns an error if the API server denies the operator access to a namespace. It returns nil if that is not
// known.
func (a *assembly) mayWatch(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	var err error
	if first := (metav1.ListOptions{Limit: 1}); a.kinds.disrupt() {
		_, err = a.client.CoreV1().Pods(namespace).List(ctx, first)
	} else {
		_, err = a.client.CoreV1().Services(namespace).List(ctx, first)
	}
	if apierrors.IsForbidden(err) {
		return err
	}
	return nil
}

// awaitRights returns an error once the operator has rights in a closed namespace. The process then ends, and watches
// the namespace after its next start. Otherwise it waits until ctx ends.
func (a *assembly) awaitRights(ctx context.Context, closed []string) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.clock.After(rightsInterval):
		}
		opened := slices.IndexFunc(closed, func(namespace string) bool { return a.mayWatch(ctx, namespace) == nil })
		if opened >= 0 && ctx.Err() == nil {
			return fmt.Errorf("the operator has rights in namespace %s now: it starts again to watch it", closed[opened])
		}
	}
}

// withinRights returns a function that passes on only the Events that the operator may write. An operator of some
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
