// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/injection"
	"github.com/fairlead-dev/fairlead/certs/internal/rotation"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
)

// replica is one replica: an authority and an injector, wired as the operator does.
type replica struct {
	simulation        *simulation
	id                string
	crashed           bool
	disconnectedUntil time.Time

	authority *Authority
	prepared  atomic.Bool // its webhook server runs
	cancel    context.CancelFunc
	running   sync.WaitGroup
}

// skewedClock is a clock that is ahead of the others or late.
type skewedClock struct {
	clock.RealClock
	by time.Duration
}

func (s skewedClock) Now() time.Time { return s.RealClock.Now().Add(s.by) }

// replicaOptions are the options that differ between replicas.
type replicaOptions struct {
	ahead time.Duration
	log   logr.Logger
}

// startReplica runs a replica until it is ended.
func (s *simulation) startReplica(id string, options Options, by replicaOptions) *replica {
	r := &replica{simulation: s, id: id}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	at := skewedClock{by: by.ahead}
	var injector *injection.Injector
	injector, err := injection.New(injection.Options{
		Client:   replicaDynamic{replica: r},
		Webhooks: []string{"webhooks"}, CRDs: []string{"crd"},
		Latest: func(ctx context.Context) ([]byte, error) { return r.authority.Latest(ctx) },
		Jitter: func(pause time.Duration) time.Duration { return pause },
		// With long validities there would be little but passes in which nothing changes.
		Interval: options.LeafValidity,
		Clock:    at,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	options.Client, options.Clock, options.Log = replicaKube{replica: r}, at, by.log
	options.Observe, options.OnChange = injector.Observed, injector.Trigger
	options.Publish, options.Published = injector.Publish, injector.Published
	if r.authority, err = New(options); err != nil {
		s.t.Fatal(err)
	}
	r.running.Go(func() {
		for r.authority.Prepare(ctx) != nil { // as the operator attempts it
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Minute):
			}
		}
		r.prepared.Store(true)
		r.running.Go(func() { _ = r.authority.Run(ctx) })
		r.running.Go(func() { _ = injector.Run(ctx, r.authority.CABundle) })
	})
	return r
}

// served is the certificate that clients are presented; nil before Prepare has succeeded.
func (r *replica) served() *x509.Certificate {
	if !r.prepared.Load() {
		return nil
	}
	served, err := r.authority.GetCertificate(nil)
	if err != nil {
		r.simulation.t.Error(err)
		return nil
	}
	return served.Leaf
}

// stop ends the replica at whatever it is doing.
func (r *replica) stop() {
	r.simulation.mu.Lock()
	r.crashed = true
	r.simulation.mu.Unlock()
	r.cancel()
	r.running.Wait()
	r.simulation.mu.Lock()
	delete(r.simulation.watchers, r)
	r.simulation.mu.Unlock()
}

// releaseOne releases one request or response, a random one among all that are pending, but one that has
// waited long first. It reports whether there was any.
func (s *simulation) releaseOne(random *rand.Rand, long time.Duration) bool {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) == 0 {
		return false
	}
	// The order in which they arrived is the Go scheduler's, and cannot be repeated.
	slices.SortStableFunc(s.pending, func(a, b *pendingRequest) int {
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.replica.id, b.replica.id), cmp.Compare(a.what, b.what))
	})
	chosen := s.pending[0]
	if time.Since(chosen.since) < long {
		chosen = s.pending[random.IntN(len(s.pending))]
	}
	s.pending = slices.DeleteFunc(s.pending, func(one *pendingRequest) bool { return one == chosen })
	close(chosen.open)
	return true
}

// phase is that of the Secret.
func (s *simulation) phase() rotation.Phase {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.secret == nil {
		return ""
	}
	var found rotationStatus
	text, there := s.secret.Annotations[RotationAnnotation]
	if !there {
		return rotation.Stable
	}
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return rotation.Phase(err.Error())
	}
	return found.Phase
}

// unsettled returns why the rotation is not over: one root that is trusted everywhere and served by every
// replica, and the phase Stable.
func (s *simulation) unsettled(replicas []*replica) error {
	if phase := s.phase(); phase != rotation.Stable {
		return fmt.Errorf("the phase is %s", phase)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if requested := s.secret.Annotations[RotateAnnotation]; requested != s.secret.Annotations[RotatedAnnotation] {
		return fmt.Errorf("%s was not processed", requested)
	}
	bundle := s.secret.Data[certs.CAKey]
	if roots, err := pemfile.ParseCertificates(bundle); err != nil || len(roots) != 1 {
		return fmt.Errorf("%d roots are trusted: %w", len(roots), err)
	}
	for kind, target := range s.targets {
		if last := target.history[len(target.history)-1]; !bytes.Equal(last.bundle, bundle) {
			return fmt.Errorf("%s has another bundle", kind)
		}
	}
	for _, r := range replicas {
		leaf := r.served()
		if leaf == nil {
			return fmt.Errorf("%s does not serve", r.id)
		}
		if err := s.signedBy(leaf, bundle, time.Now()); err != nil || !bytes.Equal(r.authority.CABundle(), bundle) {
			return fmt.Errorf("%s is behind: %w", r.id, err)
		}
	}
	return nil
}

// requestRotation sets the annotation that requests a rotation to another value.
func (s *simulation) requestRotation(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.secret != nil {
		requested := s.secret.DeepCopy()
		requested.Annotations[RotateAnnotation] = value
		s.log("requested for rotation %s", value)
		s.store(requested)
	}
}
