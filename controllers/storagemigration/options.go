// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package storagemigration

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/client-go/metadata"
	recorder "k8s.io/client-go/tools/events"
)

// Name is the name of the controller, and of the field manager of what it writes.
const Name = "fairlead-storage-migration"

const (
	// pageSize is how many objects are listed at once.
	pageSize = 500
	// maxFailed is how many objects that failed are attempted again by themselves. With more of them all are.
	maxFailed = 1000
	// minRetry is the pause after a first error. It doubles, up to the interval.
	minRetry = 2 * time.Second
	// maxFailures is how many failures in a row, of a cause that is not known, pause a pass.
	maxFailures = 5
)

// Options of a Migrator.
type Options struct {
	// Definitions reads the CRDs and writes their annotations and status. Required.
	Definitions apiextensionsclient.CustomResourceDefinitionInterface
	// Objects lists objects by their metadata, and patches them. Required.
	Objects metadata.Interface
	// Names are those of the CRDs. Required.
	Names []string

	// Rate is how many objects are rewritten in a second. Defaults to 20.
	Rate int
	// Interval is the time between two looks at the CRDs. Defaults to 1 minute.
	Interval time.Duration
	// Settle is how long the storage version must have been seen here before a pass begins: with
	// several API servers, one may store objects at the old version for a moment longer. The
	// default is 30 seconds.
	Settle time.Duration
	// Healthy returns why objects should not be rewritten now, such as that conversions fail. It is
	// asked before each object, and must return soon after ctx has ended. Defaults to nil: they always
	// may.
	Healthy func(ctx context.Context) error

	// Events records what happens to a CRD. Defaults to nil: none are written.
	Events recorder.EventRecorder
	// Logger gets what happens. Defaults to logr.Discard().
	Logger logr.Logger
	// Registerer gets the metrics. Defaults to nil: metrics are not registered.
	Registerer prometheus.Registerer
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Definitions == nil:
		return o, errors.New("storage migration: Options.Definitions is nil")
	case o.Objects == nil:
		return o, errors.New("storage migration: Options.Objects is nil")
	case len(o.Names) == 0:
		return o, errors.New("storage migration: Options.Names is empty")
	}
	if o.Rate <= 0 {
		o.Rate = 20
	}
	if o.Interval <= 0 {
		o.Interval = time.Minute
	}
	if o.Settle <= 0 {
		o.Settle = 30 * time.Second
	}
	if o.Healthy == nil {
		o.Healthy = func(context.Context) error { return nil }
	}
	return o, nil
}
