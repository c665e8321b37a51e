// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/internal/disruption"
	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/freeze"
	"github.com/fairlead-dev/fairlead/internal/panics"
	"github.com/fairlead-dev/fairlead/internal/probe"
	"github.com/fairlead-dev/fairlead/internal/retry"
)

// disruptions holds what the controllers that disrupt workloads share. Its ledger has everything that they have under
// way before any of them decides.
type disruptions struct {
	cluster cluster.Cluster
	kinds   kinds
	logger  logr.Logger
	freeze  *freeze.Freeze // the blackouts of the whole cluster
	ledger  *disruption.Ledger
	// suspicions are the results of all kinds about whether this process or its network is at fault for failed checks.
	suspicions probe.Suspicions

	mu       sync.Mutex
	restored map[string]bool // the kinds, by name
	wakes    []func(disruption.Holder)
}

func newDisruptions(from cluster.Cluster, blackouts *freeze.Freeze, of kinds, c options.RebootPolicies, logger logr.Logger) *disruptions {
	d := &disruptions{cluster: from, kinds: of, logger: logger, freeze: blackouts, restored: map[string]bool{}}
	d.ledger = disruption.New(disruption.Options{MaxDisrupted: c.MaxRestarts, SlotTimeout: c.SlotTimeout.Duration, Wake: d.wakeAll})
	return d
}

// addWake adds the function that enqueues the objects of one kind that hold claims.
func (d *disruptions) addWake(wake func(disruption.Holder)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wakes = append(d.wakes, wake)
}

func (d *disruptions) wakeAll(h disruption.Holder) {
	d.mu.Lock()
	wakes := slices.Clone(d.wakes)
	d.mu.Unlock()
	for _, wake := range wakes {
		wake(h)
	}
}

// restore fills the ledger from the status of all objects, once for each kind. It runs before the first decision:
// otherwise a controller that starts later would take a workload that another one has claimed. A kind without a CRD has
// nothing under way. While a kind cannot be read, restore waits.
func (d *disruptions) restore(ctx context.Context) error {
	return retry.Until(ctx, retry.Policy{Log: d.logger, MaxDelay: maxPause, AttemptTimeout: -1, Forever: true}, d.restoreKinds)
}

func (d *disruptions) restoreKinds(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.kinds {
		if !one.disrupts || d.restored[one.Kind] {
			continue
		}
		switch err := checkServed(d.cluster, one.object); {
		case errors.Is(err, errNotServed):
			continue
		case err != nil:
			return fmt.Errorf("list what is under way: %w", err)
		}
		if _, err := d.cluster.GetCache().GetInformer(ctx, one.object); err != nil { // this waits until they have been listed
			return fmt.Errorf("list what is under way: %w", err)
		}
		if err := one.restore(ctx, d.cluster.GetCache(), d.ledger); err != nil {
			return err
		}
		d.restored[one.Kind] = true
	}
	return nil
}

// newFreeze creates the Freeze with the blackouts of the whole cluster.
func (b *controllerBuilder) newFreeze(registry prometheus.Registerer) (*freeze.Freeze, error) {
	client, err := kubernetes.NewForConfig(binary(b.assembly.controllersConfig()))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.assembly.api.origin, err)
	}
	c := b.assembly.config.Calendar
	configMap := corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: b.assembly.identity.namespace, Name: c.ConfigMap}
	made, err := freeze.New(freeze.Options{
		Configured: c.Blackouts,
		ConfigMaps: client.CoreV1().ConfigMaps(b.assembly.identity.namespace),
		Name:       c.ConfigMap,
		OnUnreadable: func(cause string) {
			if b.assembly.recordEvent == nil {
				return
			}
			b.assembly.recordEvent(events.Event{
				Regarding: configMap, Reason: common.EventCalendarUnreadable, Action: "Read", PerNote: true,
				Note: "The blackouts of the cluster cannot be read: those that were read last stay in force, and a replica that has read none starts no restart: " + cause,
			})
		},
		Logger:     b.assembly.logger.WithName("calendar"),
		Registerer: registry,
	})
	if err != nil {
		return nil, fmt.Errorf("calendar: %w", err)
	}
	return made, nil
}

// reference reports whether this process reaches the API server and a nameserver. No tenant controls either. If it
// reaches both, its own network works.
func (a *assembly) reference(ctx context.Context) bool {
	var asking sync.WaitGroup
	var nameserver bool
	asking.Go(func() {
		nameserver = true // stays true if reading a reply panics
		panics.Go("nameserver", func() { nameserver = a.egress.resolver.Reachable(ctx) })
	})
	err := a.client.Discovery().RESTClient().Get().AbsPath("/version").MaxRetries(0).Do(ctx).Error()
	asking.Wait()
	var refused apierrors.APIStatus // a refusal is a reply as well
	return nameserver && (err == nil || errors.As(err, &refused))
}

// suspects returns a function for the checks of a kind. It logs, and writes an Event on the operator's Lease, when
// failed checks begin or cease to count as a fault of this process.
func (a *assembly) suspects(kind string) func(suspect bool, cause string) {
	logger := a.logger.WithName("health checks")
	lease := a.lease()
	return func(suspect bool, cause string) {
		notice := events.Event{
			Regarding: lease, Reason: kind + common.EventProbesInconclusive, Action: "Probe",
			Note: "Failed health checks of " + kind + " objects are taken for a fault of the operator's own network and decide nothing, but where another address of the object is healthy: " + cause + ".",
		}
		if suspect {
			logger.Info("Failed checks decide nothing: the fault is probably the operator's own", "kind", kind, "cause", cause)
		} else {
			logger.Info("Failed checks decide again", "kind", kind, "cause", cause)
			notice.Reason = kind + common.EventProbesBelieved
			notice.Note = "Failed health checks of " + kind + " objects decide again. They were taken for a fault of the operator's own network: " + cause + "."
		}
		if a.recordEvent != nil {
			a.recordEvent(notice)
		}
	}
}
