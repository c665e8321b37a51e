// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/tolerantcache"
)

// contained are the kinds of which one broken object may hide no other.
func contained() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		networkingv1.GroupVersion.WithKind("ExternalService"),
		autorebootv1.GroupVersion.WithKind("RebootPolicy"),
		chaosv1.GroupVersion.WithKind("ChaosPod"),
	}
}

// nameBroken makes what names broken objects, and adds what runs for it.
func (a *assembly) nameBroken(p *parts) error {
	told, err := events.New(events.Options{
		Client: a.client.EventsV1(), Instance: a.place.identity, Clock: a.Clock,
		Logger: a.Logger.WithName("notices"), Registerer: a.Metrics,
	})
	if err != nil {
		return fmt.Errorf("notices: %w", err)
	}
	a.tell, a.conversions.tell = told.Tell, told.Tell
	a.undecodable = tolerantcache.NewRegister(tolerantcache.RegisterOptions{
		Logger: a.Logger.WithName("containment"),
		Tell:   func(e tolerantcache.Entry) { told.Tell(undecodable(e)) },
	})
	if err := a.Metrics.Register(a.undecodable); err != nil {
		return fmt.Errorf("metrics of undecodable objects: %w", err)
	}
	p.follow = append(p.follow, named{"events of broken objects", told.Run})
	return nil
}

func undecodable(e tolerantcache.Entry) events.Notice {
	return events.Notice{
		Regarding: corev1.ObjectReference{
			APIVersion: e.Kind.GroupVersion().String(), Kind: e.Kind.Kind, Namespace: e.Key.Namespace, Name: e.Key.Name,
			UID: e.UID, ResourceVersion: e.ResourceVersion,
		},
		Reason: "Undecodable", Action: "Decode",
		Note: fmt.Sprintf("This object is left as it is until it is mended, and so is what was made from it: %s. `%s` names all that is wrong.",
			e.Fault, tolerantcache.Remedy),
	}
}

// containing has a cluster's informers decode item by item where they must, and its client refuse what
// did not decode. The configuration is the cluster's own.
func (a *assembly) containing(api *rest.Config, o *cluster.Options) (err error) {
	if o.HTTPClient, err = rest.HTTPClientFor(api); err != nil {
		return err
	}
	informers, err := tolerantcache.NewInformers(tolerantcache.Options{
		Config: api, HTTPClient: o.HTTPClient, Scheme: a.scheme, Kinds: contained(), Register: a.undecodable,
	})
	if err != nil {
		return err
	}
	o.Cache.NewInformer = informers.New
	o.NewClient = func(config *rest.Config, options client.Options) (client.Client, error) {
		made, err := client.New(config, options)
		if err != nil {
			return nil, err
		}
		return tolerantcache.Client(made), nil
	}
	return nil
}
