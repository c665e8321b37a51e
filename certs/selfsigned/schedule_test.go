// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"crypto/elliptic"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
)

// The generated schedules, each with a seed. A seed repeats all random choices; the order in which
// goroutines that are due at one instant run is Go's.
var (
	schedules = flag.Uint64("schedules", 100, "how many schedules are generated")
	seedFrom  = flag.Uint64("seed-from", 1, "the seed of the first of them")
)

// TestNoScheduleMakesAClientMeetACertificateThatItDoesNotTrust generates schedules of two to five
// replicas with clocks that differ: requests and responses in any order, replicas that end at any
// point of a request and start again, replicas that are disconnected, requested rotations, and deleted
// Secrets. After each step the certificate of each replica must be accepted by the bundle of each target,
// and by those it had within the time that API servers may lag behind.
func TestNoScheduleMakesAClientMeetACertificateThatItDoesNotTrust(t *testing.T) {
	var total counts
	count := *schedules
	for n := range count {
		seed := *seedFrom + n
		synctest.Test(t, func(t *testing.T) {
			s := newSchedule(t, seed)
			defer s.stop()
			s.run()
			total.add(s)
		})
		if t.Failed() {
			t.Fatalf("seed %d: go on from it with -seed-from", seed)
		}
	}
	t.Logf("%+v", total)
	for what, tried := range map[string]int{"rotations": total.Rotations, "crashes": total.Crashes, "disconnections": total.Disconnections, "deleted Secrets": total.Deleted} {
		if tried < int(count)/5 {
			t.Errorf("%d %s in %d schedules: they try too little", tried, what, count)
		}
	}
}

// counts counts the steps of the schedules and their effects.
type counts struct{ Steps, Rotations, Crashes, Disconnections, Deleted, Writes int }

func (c *counts) add(s *schedule) {
	c.Steps += s.counts.Steps
	c.Rotations += s.counts.Rotations
	c.Crashes += s.counts.Crashes
	c.Disconnections += s.counts.Disconnections
	c.Deleted += s.counts.Deleted
	c.Writes += s.counts.Writes
}

// schedule is one course of events.
type schedule struct {
	*simulation
	random   *rand.Rand
	seed     uint64
	options  Options
	lag      time.Duration
	replicas []*replica
	started  int
	counts   counts
}

func newSchedule(t *testing.T, seed uint64) *schedule {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	leaf := []time.Duration{time.Minute, 5 * time.Minute, 24 * time.Hour}[random.IntN(3)]
	options, err := Options{LeafValidity: leaf, RootValidity: 1000 * leaf, Interval: leaf / 4, Client: replicaKube{}, rootCurve: elliptic.P256()}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	s := &schedule{random: random, seed: seed, options: options, simulation: newSimulation(t, options)}
	s.lag = options.delays().Settle * 3 / 4
	for range 2 + random.IntN(4) {
		s.addReplica()
	}
	return s
}

// addReplica starts another replica, whose clock differs from the others' by as much as is allowed.
func (s *schedule) addReplica() {
	s.started++
	allowed := int64(s.options.skew() / 3)
	s.replicas = append(s.replicas, s.startReplica(fmt.Sprintf("replica %d", s.started), s.options,
		replicaOptions{time.Duration(s.random.Int64N(2*allowed) - allowed), logr.Discard()}))
}

func (s *schedule) stop() {
	for _, r := range s.replicas {
		r.stop()
	}
}

func (s *schedule) run() {
	s.until("the start", 10*s.options.Interval, func() error { return s.unsettled(s.replicas) })
	if s.random.IntN(3) == 0 {
		s.remove()
	} else {
		s.counts.Rotations++
		s.requestRotation(strconv.FormatUint(s.seed, 10))
		s.injectFaults()
	}
	s.until("the end", 10*s.options.LeafValidity, func() error { return s.unsettled(s.replicas) })
	want := 2 * (s.counts.Rotations + s.counts.Deleted)
	for kind, target := range s.targets {
		s.counts.Writes += target.changes
		if target.changes != want {
			s.fail("%s was written %d times in %d changes of the root", kind, target.changes, want/2)
		}
	}
}

// injectFaults crashes and disconnects replicas for a while.
func (s *schedule) injectFaults() {
	left := s.random.IntN(6)
	s.crash = func(*replica, string) bool { // at a request rather than at a time
		if left > 0 && s.random.IntN(40) == 0 {
			left--
			return true
		}
		return false
	}
	for range 20 + s.random.IntN(200) {
		if s.t.Failed() {
			return
		}
		s.step()
		s.replaceCrashed()
		if s.random.IntN(60) == 0 {
			s.disconnect()
		}
	}
	s.crash = nil
	s.replaceCrashed()
}

// replaceCrashed starts another replica for each that has crashed.
func (s *schedule) replaceCrashed() {
	synctest.Wait()
	for i := 0; i < len(s.replicas); i++ {
		s.mu.Lock()
		crashed := s.replicas[i].crashed
		s.mu.Unlock()
		if crashed {
			s.replicas[i].stop()
			s.replicas = append(s.replicas[:i], s.replicas[i+1:]...)
			s.counts.Crashes++
			s.addReplica()
			i--
		}
	}
}

// disconnect disconnects a replica from the API server for less than the validity of certificates. That is longer than replicas
// need to learn who signs, and shorter than the trust in the previous root.
func (s *schedule) disconnect() {
	r := s.replicas[s.random.IntN(len(s.replicas))]
	s.mu.Lock()
	r.disconnectedUntil = time.Now().Add(time.Duration(s.random.Int64N(int64(s.options.LeafValidity))))
	s.log("%s is disconnected until %s", r.id, r.disconnectedUntil.Sub(s.began))
	s.mu.Unlock()
	s.counts.Disconnections++
}

// remove deletes the Secret, as if its key was compromised. No replica ends meanwhile: the previous key is in their memory
// only.
func (s *schedule) remove() {
	s.mu.Lock()
	s.secret = nil
	s.log("the Secret is deleted")
	for _, watcher := range s.watchers {
		watcher.Delete(newSecret(namespace, name))
	}
	s.mu.Unlock()
	s.counts.Deleted++
}

// step releases one request or lets time pass, and checks what clients would be presented.
func (s *schedule) step() {
	s.counts.Steps++
	switch {
	case s.random.IntN(12) == 0: // requests take their time
		time.Sleep(time.Duration(1 + s.random.Int64N(int64(2*time.Second)))) //nolint:forbidigo // the bubble's clock goes at once to its end
	case !s.releaseOne(s.random, 2*time.Second):
		select {
		case <-s.arrived:
		case <-time.After(time.Duration(1 + s.random.Int64N(int64(s.options.Interval/4)))):
		}
	}
	s.checkCertificates()
}

func (s *schedule) checkCertificates() {
	synctest.Wait()
	for _, r := range s.replicas {
		if r.crashed {
			continue
		}
		served := r.served()
		if served == nil {
			continue
		}
		if err := s.checkAccepted(served, s.lag); err != nil {
			s.fail("the certificate of %s is refused: %v", r.id, err)
		}
	}
}

// until steps until done returns nil.
func (s *schedule) until(what string, limit time.Duration, done func() error) {
	for began := time.Now(); !s.t.Failed(); s.step() {
		s.checkCertificates()
		err := done()
		if err == nil {
			return
		}
		if time.Since(began) > limit {
			s.fail("%s has not come within %s: %v", what, limit, err)
		}
	}
}

func (s *schedule) fail(format string, a ...any) {
	if s.t.Failed() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t.Errorf("seed %d, %s validity, %d replicas: %s\n%s", s.seed, s.options.LeafValidity, len(s.replicas),
		fmt.Sprintf(format, a...), strings.Join(s.trace[max(0, len(s.trace)-60):], "\n"))
}
