// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/trust"
	"github.com/fairlead-dev/fairlead/internal/objectwatch"
	"github.com/fairlead-dev/fairlead/internal/panics"
	"github.com/fairlead-dev/fairlead/internal/retry"
)

// Source is the certs.Source of this package.
type Source struct {
	options Options
	secrets corev1client.SecretInterface
	reads   *certs.Reads

	*trust.Holder // what is served and published

	mu        sync.Mutex // guards what follows and Use, also while the Secrets are read
	ensuredAt time.Time  // when the objects were last found
}

var _ certs.Keeper = (*Source)(nil)

// New returns a Source. It fails where options are missing or contradict each other, and sends no request.
func New(options Options) (*Source, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	metrics, err := certs.NewMetrics(options.Registerer)
	if err != nil {
		return nil, err
	}
	secrets := options.Client.CoreV1().Secrets(options.Namespace)
	return &Source{
		options: options, secrets: secrets, reads: certs.NewReads(metrics, options.Log, options.OnFailure),
		Holder: trust.NewHolder(trust.Options{
			Source: options.secret(), Secrets: secrets, Namespace: options.Namespace, Validity: options.Validity, Targets: options.Targets,
			Fallback: options.Fallback, OnChange: options.OnChange, Metrics: metrics, Clock: options.Clock, Log: options.Log,
		}),
	}, nil
}

// Prepare requests a certificate from cert-manager, or finds the existing one, and waits for it. It retries
// a server that does not respond until ctx ends, and other errors for PrepareTimeout. An existing
// certificate is served although cert-manager is unavailable, and not while no target trusts it that could be read:
// other replicas may serve one that is trusted.
func (s *Source) Prepare(ctx context.Context) error {
	err := retry.Until(ctx, s.policy(), func(ctx context.Context) error {
		_, err := s.synchronize(ctx, true)
		if errors.Is(err, errNotInstalled) && s.options.Fallback != nil {
			return retry.Final(err)
		}
		return err
	})
	if errors.Is(err, errNotInstalled) && s.options.Fallback != nil {
		s.options.Log.Info("the fallback serves until cert-manager is installed", "reason", err.Error())
		s.UseFallback()
		return s.options.Fallback.Prepare(ctx)
	}
	if err == nil {
		err = s.AwaitTrust(ctx)
	}
	if err != nil {
		return fmt.Errorf("prepare the webhook's certificate: %w", err)
	}
	return nil
}

func (s *Source) policy() retry.Policy {
	return retry.Policy{
		Clock: s.options.Clock, Log: s.options.Log.WithValues("certificate", s.options.Namespace+"/"+s.options.Certificate),
		MaxDelay: retryInterval, AttemptTimeout: attemptTimeout, BoundedTimeout: s.options.PrepareTimeout,
	}
}

// Run loads what cert-manager issues until ctx ends. Both Secrets are watched so that a change counts at
// once, and read at every interval, in case a watch is refused or broken.
func (s *Source) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	changed := make(chan struct{}, 1)
	var running sync.WaitGroup
	defer func() { cancel(); running.Wait() }()
	for _, name := range []string{s.options.SecretName, trust.SecretName} {
		running.Go(func() { panics.Go("certificates", func() { s.watchSecret(ctx, name, changed) }) })
	}
	endFallback := s.runFallback(ctx, &running)

	timer := s.options.Clock.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C():
		case <-changed:
		}
		waits, err := s.synchronize(ctx, false)
		if !s.IsFallback() {
			endFallback()
		}
		if ctx.Err() == nil && (!s.IsFallback() || !errors.Is(err, errNotInstalled)) { // that is as it was at the start
			s.reads.Record(err, "what cert-manager issues could not be taken up; the last good certificate stays in use")
		}
		timer.Reset(s.pause(waits, err))
	}
}

// withTimeout bounds one request. A bound on a whole pass would be exceeded where each request is slow.
func (s *Source) withTimeout(ctx context.Context, f func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	return f(bounded)
}

// Err returns why what cert-manager issued last is not in use, and that of the fallback while it serves.
func (s *Source) Err() error {
	if s.IsFallback() {
		return errors.Join(s.reads.Err(), s.options.Fallback.Err())
	}
	return s.reads.Err()
}

// pause is the time until everything is read again.
func (s *Source) pause(waits bool, err error) time.Duration {
	switch {
	case waits:
		return retryInterval
	case s.IsFallback():
		return fallbackInterval
	case err != nil:
		return interval / 10
	}
	return interval
}

// runFallback runs the fallback, where it serves, until the returned function is called or ctx ends.
func (s *Source) runFallback(ctx context.Context, running *sync.WaitGroup) context.CancelFunc {
	if !s.IsFallback() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	running.Go(func() {
		err := panics.Try("certificates", func() error { return s.options.Fallback.Run(ctx) })
		if err != nil && ctx.Err() == nil {
			s.options.Log.Error(err, "the fallback has ended; its last certificate stays in use")
		}
	})
	return cancel
}

// watchSecret signals changes of a Secret until ctx ends. A watch that the API server has closed starts
// again soon: until then a bundle that another replica has extended would be published as it was.
func (s *Source) watchSecret(ctx context.Context, name string, changed chan<- struct{}) {
	objectwatch.Run(ctx, objectwatch.Options{
		Client: s.secrets, Name: name, Changed: changed, Work: "certificates", Clock: s.options.Clock,
		MinDelay: retryInterval, MaxDelay: interval,
		OnError: func(err error) {
			s.options.Log.Info("the Secret cannot be watched, so changes count only when it is next read",
				"secret", s.options.Namespace+"/"+name, "interval", interval.String(), "reason", err.Error())
		},
	})
}
