// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package folder

import (
	"errors"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

// Options of a Folder. Only Path must be set.
type Options struct {
	// Path is the folder that holds tls.crt, tls.key and perhaps ca.crt.
	Path string

	// ServerName is the name by which clients will call. Where it is set, a certificate that is
	// not good for it is refused.
	ServerName string

	// PrepareTimeout is how long Prepare waits for files that can be used, since the kubelet and
	// cert-manager may be at it. Default: 1 minute.
	PrepareTimeout time.Duration

	// Interval is how often the files are read, beside being watched. Default: 10 seconds.
	Interval time.Duration

	// OnChange is called after the bundle has changed; CABundle then returns the new one. It
	// must not block. Default: nothing is called.
	OnChange func()

	// Clock tells the time. Default: the real one.
	Clock clock.Clock

	// Log takes what happens. Default: nothing is logged.
	Log logr.Logger

	// Registerer publishes the metrics. Default: they are not published.
	Registerer prometheus.Registerer
}

const (
	// settleDelay is how long after a notification the files are read: the swap of a mounted Secret
	// comes as several.
	settleDelay = 100 * time.Millisecond

	// retryInterval is how soon files that cannot be used are read once more.
	retryInterval = time.Second
)

func (o Options) withDefaults() (Options, error) {
	if o.Path == "" {
		return o, errors.New("folder: Options.Path is empty")
	}
	if o.PrepareTimeout <= 0 {
		o.PrepareTimeout = time.Minute
	}
	if o.Interval <= 0 {
		o.Interval = 10 * time.Second
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o, nil
}
