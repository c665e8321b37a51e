// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/panics"
)

// reference says whether this process reaches the API server and some nameserver, which no tenant has
// a say in. Where it reaches both, its own network works.
func (a *assembly) reference(ctx context.Context) bool {
	var asking sync.WaitGroup
	var nameserver bool
	asking.Go(func() {
		nameserver = true // a reply that has the reading of it panic is one
		panics.Go("nameserver", func() { nameserver = a.outside.resolver.Reachable(ctx) })
	})
	err := a.client.Discovery().RESTClient().Get().AbsPath("/version").MaxRetries(0).Do(ctx).Error()
	asking.Wait()
	var refused apierrors.APIStatus // which is a reply as well
	return nameserver && (err == nil || errors.As(err, &refused))
}

// suspects tells in the log and by an Event on the operator's Lease when the checks of a kind of object
// begin and cease to be taken for a fault of this process.
func (a *assembly) suspects(kind string) func(suspect bool, cause string) {
	logger := a.Logger.WithName("health checks")
	lease := corev1.ObjectReference{
		APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: "Lease",
		Namespace: a.place.leaseNamespace, Name: a.config.LeaderElection.ResourceName,
	}
	return func(suspect bool, cause string) {
		notice := events.Notice{
			Regarding: lease, Reason: kind + "ProbesSuspect", Action: "Probe",
			Note: "Failed health checks of " + kind + " objects are taken for a fault of the operator's own network and decide nothing, but where another address of the object is healthy: " + cause + ".",
		}
		if suspect {
			logger.Info("Failed checks decide nothing: the fault is probably the operator's own", "kind", kind, "cause", cause)
		} else {
			logger.Info("Failed checks decide again", "kind", kind, "cause", cause)
			notice.Reason = kind + "ProbesBelieved"
			notice.Note = "Failed health checks of " + kind + " objects decide again. They were taken for a fault of the operator's own network: " + cause + "."
		}
		if a.conversions.tell != nil {
			a.conversions.tell(notice)
		}
	}
}
