// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/injection"
	"github.com/fairlead-dev/fairlead/certs/internal/rotation"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
)

// replica is one replica of a world: an authority and an injector, wired as the operator does.
type replica struct {
	simulation        *simulation
	id                string
	crashed           bool
	disconnectedUntil time.Time

	authority *Authority
	cancel    context.CancelFunc
	running   sync.WaitGroup
}

// skewedClock is a clock that is ahead of the others, or late.
type skewedClock struct {
	clock.RealClock
	by time.Duration
}

func (o skewedClock) Now() time.Time { return o.RealClock.Now().Add(o.by) }

// replicaOptions is what differs between replicas.
type replicaOptions struct {
	ahead time.Duration
	log   logr.Logger
}

// startReplica runs a replica until it is ended.
func (w *simulation) startReplica(id string, options Options, by replicaOptions) *replica {
	m := &replica{simulation: w, id: id}
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	at := skewedClock{by: by.ahead}
	var injector *injection.Injector
	injector, err := injection.New(injection.Options{
		Client:   replicaDynamic{replica: m},
		Mutating: []string{"mutating"}, Validating: []string{"validating"}, CRDs: []string{"crd"},
		Latest: func(ctx context.Context) ([]byte, error) { return m.authority.Latest(ctx) },
		Jitter: func(pause time.Duration) time.Duration { return pause },
		// For long lives there would be little but looks in which nothing changes.
		Interval: options.LeafValidity,
		Clock:    at,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	options.Client, options.Clock, options.Log = replicaKube{replica: m}, at, by.log
	options.Observe, options.OnChange = injector.Observed, injector.Trigger
	if m.authority, err = New(options); err != nil {
		w.t.Fatal(err)
	}
	m.running.Go(func() {
		if m.authority.Prepare(ctx) != nil {
			return
		}
		m.running.Go(func() { _ = m.authority.Run(ctx) })
		m.running.Go(func() { _ = injector.Run(ctx, m.authority.CABundle) })
	})
	return m
}

// stop ends the replica at whatever it is doing.
func (m *replica) stop() {
	m.simulation.mu.Lock()
	m.crashed = true
	m.simulation.mu.Unlock()
	m.cancel()
	m.running.Wait()
	m.simulation.mu.Lock()
	delete(m.simulation.watchers, m)
	m.simulation.mu.Unlock()
}

// releaseOne lets one request or answer through, chosen by the generator among all that wait, but one
// that has waited long before others. It says whether there was any.
func (w *simulation) releaseOne(random *rand.Rand, long time.Duration) bool {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending) == 0 {
		return false
	}
	// The order in which they came is the Go scheduler's, and not to be repeated.
	slices.SortStableFunc(w.pending, func(a, b *pendingRequest) int {
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.replica.id, b.replica.id), cmp.Compare(a.what, b.what))
	})
	chosen := w.pending[0]
	if time.Since(chosen.since) < long {
		chosen = w.pending[random.IntN(len(w.pending))]
	}
	w.pending = slices.DeleteFunc(w.pending, func(one *pendingRequest) bool { return one == chosen })
	close(chosen.open)
	return true
}

// phase is that of the Secret.
func (w *simulation) phase() rotation.Phase {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.secret == nil {
		return ""
	}
	var found rotationStatus
	text, there := w.secret.Annotations[RotationAnnotation]
	if !there {
		return rotation.Stable
	}
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return rotation.Phase(err.Error())
	}
	return found.Phase
}

// unsettled says, where it is not nil, what keeps the world from being at rest: one root, trusted
// everywhere and by every replica, and no rotation.
func (w *simulation) unsettled(members []*replica) error {
	if phase := w.phase(); phase != rotation.Stable {
		return fmt.Errorf("the phase is %s", phase)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if asked := w.secret.Annotations[RotateAnnotation]; asked != w.secret.Annotations[RotatedAnnotation] {
		return fmt.Errorf("%s is not answered", asked)
	}
	bundle := w.secret.Data[certs.CAKey]
	if roots, err := pemfile.ParseCertificates(bundle); err != nil || len(roots) != 1 {
		return fmt.Errorf("%d roots are trusted: %w", len(roots), err)
	}
	for kind, target := range w.targets {
		if last := target.history[len(target.history)-1]; !bytes.Equal(last.bundle, bundle) {
			return fmt.Errorf("%s carries another bundle", kind)
		}
	}
	for _, m := range members {
		leaf, err := m.authority.GetCertificate(nil)
		if err != nil {
			return err
		}
		if err := w.signedBy(leaf.Leaf, bundle, time.Now()); err != nil || !bytes.Equal(m.authority.CABundle(), bundle) {
			return fmt.Errorf("%s is behind: %w", m.id, err)
		}
	}
	return nil
}

// requestRotation gives the annotation that asks for a rotation another value.
func (w *simulation) requestRotation(value string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.secret != nil {
		asked := w.secret.DeepCopy()
		asked.Annotations[RotateAnnotation] = value
		w.log("asked for rotation %s", value)
		w.store(asked)
	}
}
