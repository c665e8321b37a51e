// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package folder

import (
	"errors"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/certs/trust"
)

// Options of a Folder. Only Path must be set.
type Options struct {
	// Path is the folder with tls.crt, tls.key and optionally ca.crt.
	Path string

	// ServerName is the name that clients connect to. Where it is set, a certificate that is not valid for
	// it is refused.
	ServerName string

	// PrepareTimeout is how long Prepare waits for valid files, since the kubelet or cert-manager may
	// still be writing them. Defaults to 1 minute.
	PrepareTimeout time.Duration

	// Interval is how often the files are read, in addition to the watch. Defaults to 10 seconds.
	Interval time.Duration

	// NewWatcher makes the watch of the folder. Defaults to fsnotify.NewWatcher.
	NewWatcher func() (*fsnotify.Watcher, error)

	// Secrets are those of Namespace, where the authorities are kept that replicas serve by: kubelets update the folders of
	// replicas minutes apart. Defaults to nil: another component distributes the bundle.
	Secrets   corev1client.SecretInterface
	Namespace string

	// Validity is the validity of certificates that other sources sign. Defaults to 7 days.
	Validity time.Duration

	// Targets is how to find out who trusts the certificate, and to change it.
	trust.Targets

	// OnChange is called after the bundle has changed; CABundle then returns the new one. It must not
	// block. Defaults to nil.
	OnChange func()

	// OnFailure is called with each new reason why what was read cannot be used, while the last good certificate stays
	// in use. It must not block. Defaults to nil.
	OnFailure func(error)

	// Clock defaults to the real clock.
	Clock clock.Clock

	// Log defaults to logr.Discard().
	Log logr.Logger

	// Registerer registers the metrics. Defaults to nil: they are not published.
	Registerer prometheus.Registerer
}

const (
	// settleDelay is the time between a notification and reading: an update of a mounted Secret causes
	// several.
	settleDelay = 100 * time.Millisecond

	// retryInterval is how soon invalid files are read again, and those whose authority is not trusted yet.
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
	if o.NewWatcher == nil {
		o.NewWatcher = fsnotify.NewWatcher
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o, nil
}
