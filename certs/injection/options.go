// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
)

// FieldOwner is the server-side-apply field manager that owns the caBundle fields.
const FieldOwner = "fairlead-ca-injector"

// Loss is a target that had the bundle and no longer has it.
type Loss struct {
	APIVersion, Kind, Name string
	UID                    types.UID // empty where the target is gone
	Message                string    // a sentence or two for people
}

// Options of an Injector. Only Client must be set.
type Options struct {
	// Client reads and patches the targets. It should have a rate limiter of its own.
	Client dynamic.Interface

	// Webhooks names the webhook configurations: a mutating and a validating one have each name. Defaults to none.
	Webhooks []string

	// CRDs names the CustomResourceDefinitions whose conversion the webhook serves. Defaults to none.
	CRDs []string

	// Service is that of the webhooks whose CA is published. A target that calls another Service belongs to another
	// installation, and is never written. Defaults to none: the Service is not compared.
	Service types.NamespacedName

	// PublishTimeout is how long Publish retries what fails while the API server responds: a missing target, a
	// missing permission, another owner, one target that cannot be read. Defaults to 1 minute.
	PublishTimeout time.Duration

	// Interval is how often Run checks the targets without an event, and the longest delay before a failed
	// watch is started again. After a failure it is a tenth at most. Defaults to 5 minutes.
	Interval time.Duration

	// OnLoss is called when a target that had the bundle was read without it, once for each loss. It must
	// not block. Defaults to nil.
	OnLoss func(Loss)

	// Latest returns the current bundle of the source. It is called after a target was read and before it
	// is written, so that a replica that was disconnected never restores an old bundle: the write fails
	// where the target has changed since it was read. Where it is nil or returns nil, the given bundle is
	// used.
	Latest func(ctx context.Context) ([]byte, error)

	// WriteBurst is how often one target may be written in a row, and WriteEvery the time until it may be
	// written once more: each write of a CRD makes the API server convert all stored objects again.
	// Defaults to 10 and 1 minute.
	WriteBurst int
	WriteEvery time.Duration

	// Jitter lengthens an interval, so that replicas do not act in step. Defaults to up to a fifth.
	Jitter func(time.Duration) time.Duration

	// Clock defaults to the real clock.
	Clock clock.Clock

	// Log defaults to logr.Discard().
	Log logr.Logger

	// Registerer registers the metrics. Defaults to nil: they are not published.
	Registerer prometheus.Registerer
}

func (o Options) withDefaults() (Options, error) {
	if o.Client == nil {
		return o, errors.New("injection: Options.Client is nil")
	}
	span := func(field *time.Duration, value time.Duration) {
		if *field <= 0 {
			*field = value
		}
	}
	span(&o.PublishTimeout, time.Minute)
	span(&o.Interval, 5*time.Minute)
	span(&o.WriteEvery, time.Minute)
	if o.WriteBurst <= 0 {
		o.WriteBurst = 10
	}
	if o.OnLoss == nil {
		o.OnLoss = func(Loss) {}
	}
	if o.Jitter == nil {
		o.Jitter = func(pause time.Duration) time.Duration { return wait.Jitter(pause, 0.2) }
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o, nil
}

// targets are all that the options name. CRDs come first: without their bundle an object cannot even be
// read at its other version.
func (o Options) targets() []target {
	var all []target
	add := func(kind *kind, names []string) {
		for _, name := range names {
			all = append(all, target{kind, name})
		}
	}
	add(crdKind, o.CRDs)
	add(mutatingKind, o.Webhooks)
	add(validatingKind, o.Webhooks)
	return all
}
