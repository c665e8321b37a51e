// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"crypto/elliptic"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"pgregory.net/rapid"

	"github.com/fairlead-dev/fairlead/certs"
)

// lawStep is a step of a history.
type lawStep struct {
	What    string
	Replica int           // which it is about
	Span    time.Duration // how long it takes; a disconnection lasts as long, over the steps that follow
}

func (s lawStep) passes() time.Duration {
	if s.What == stepDisconnect {
		return min(s.Span, time.Minute)
	}
	return s.Span
}

// The steps of a history: what administrators, the network and time do to several replicas.
const (
	stepPass       = "time passes"
	stepCrash      = "a replica crashes, and another starts"
	stepDisconnect = "a replica is disconnected"
	stepRotate     = "a rotation is requested"
	stepDelete     = "the Secret is deleted"
	stepUnlabel    = "the Secret belongs to another owner"
	stepRelabel    = "the Secret is ours again"
	stepJunk       = "the key of the Secret is junk"
)

// Whatever happens to the Secret, to replicas and to the network, and with each clock wrong by up to an hour: no replica
// serves what a published bundle does not trust, at any step. When the world is at rest, all agree within a bound.
func TestLawsOfTheAuthority(t *testing.T) {
	what := []string{stepPass, stepCrash, stepDisconnect, stepRotate, stepDelete, stepUnlabel, stepRelabel, stepJunk}
	checkLaw(t, func(r *rapid.T) {
		offsets := rapid.SliceOfN(rapid.Int64Range(-60, 60), 2, 4).Draw(r, "clocks, in minutes")
		history := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) lawStep {
			return lawStep{
				rapid.SampledFrom(what).Draw(r, "what"), rapid.IntRange(0, len(offsets)-1).Draw(r, "replica"),
				time.Duration(rapid.SampledFrom([]int64{1, 30, 300, 3600, 6 * 3600}).Draw(r, "seconds")) * time.Second,
			}
		}), 1, 12).Draw(r, "history")
		seed := rapid.Uint64().Draw(r, "order of requests")
		var failure string
		synctest.Test(t, func(t *testing.T) { failure = playLaws(t, offsets, history, seed) })
		if failure != "" {
			r.Fatal(failure)
		}
	})
}

// lawChecks is how many histories the law is checked on, unless the flag rapid.checks says otherwise.
const lawChecks = "30"

func checkLaw(t *testing.T, law func(*rapid.T)) {
	t.Helper()
	isSet := false
	flag.Visit(func(f *flag.Flag) { isSet = isSet || f.Name == "rapid.checks" })
	if !isSet {
		if err := flag.Set("rapid.checks", lawChecks); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, law)
}

// laws is a schedule whose steps are given, and whose failure is returned.
type laws struct {
	*simulation
	offsets  []int64
	options  Options
	replicas []*replica
	random   *rand.Rand
	lag      time.Duration
	started  int
}

func playLaws(t *testing.T, offsets []int64, history []lawStep, seed uint64) string {
	const leaf = 24 * time.Hour
	options, err := Options{LeafValidity: leaf, RootValidity: 1000 * leaf, Interval: leaf / 24, Client: replicaKube{}, rootCurve: elliptic.P256()}.withDefaults()
	if err != nil {
		return err.Error()
	}
	l := &laws{simulation: newSimulation(t, options), offsets: offsets, options: options, random: rand.New(rand.NewPCG(seed, 0))}
	l.lag = options.delays().Settle * 3 / 4
	for i := range offsets {
		l.replicas = append(l.replicas, l.launch(i))
	}
	defer func() {
		for _, r := range l.replicas {
			r.stop()
		}
	}()
	if failure := l.settles("the start"); failure != "" {
		return failure
	}
	for n, step := range history {
		l.apply(step, n)
		if failure := l.passes(step.passes()); failure != "" {
			return fmt.Sprintf("after %q of replica %d (step %d): %s", step.What, step.Replica, n, failure)
		}
	}
	l.apply(lawStep{What: stepRelabel}, 0)
	return l.settles("the end")
}

func (l *laws) launch(i int) *replica {
	l.started++
	return l.startReplica(fmt.Sprintf("replica %d", l.started), l.options, replicaOptions{time.Duration(l.offsets[i]) * time.Minute, logr.Discard()})
}

func (l *laws) apply(step lawStep, n int) {
	if step.What == stepCrash {
		l.replicas[step.Replica].stop()
		l.replicas[step.Replica] = l.launch(step.Replica)
		return
	}
	if step.What == stepRotate {
		l.requestRotation(fmt.Sprint(n))
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if step.What == stepDisconnect {
		l.replicas[step.Replica].disconnectedUntil = time.Now().Add(step.Span)
	}
	if l.secret == nil {
		return
	}
	changed := l.secret.DeepCopy()
	switch step.What {
	case stepDelete:
		l.secret = nil
		for _, watcher := range l.watchers {
			watcher.Delete(newSecret(namespace, name))
		}
		return
	case stepUnlabel:
		changed.Labels["app.kubernetes.io/managed-by"] = "helm"
	case stepRelabel:
		changed.Labels = newSecret(namespace, name).Labels
	case stepJunk:
		changed.Data[certs.PrivateKey] = []byte("junk")
	default:
		return
	}
	l.log("%s", step.What)
	l.store(changed)
}

// passes lets time pass in which requests are handled, and returns how a law was broken; empty where none was.
func (l *laws) passes(span time.Duration) string {
	for until, turns := time.Now().Add(span), 0; ; turns++ {
		if turns > 20000 {
			return "it is never at rest:\n" + strings.Join(l.trace[max(0, len(l.trace)-40):], "\n")
		}
		if failure := l.broken(); failure != "" {
			return failure
		}
		left := time.Until(until)
		if left <= 0 {
			return ""
		}
		if l.releaseOne(l.random, 2*time.Second) {
			continue
		}
		select {
		case <-l.arrived:
		case <-time.After(min(left, l.options.Interval/8)):
		}
	}
}

func (l *laws) broken() string {
	synctest.Wait()
	for _, r := range l.replicas {
		served := r.served()
		if served == nil {
			continue
		}
		if err := l.checkAccepted(served, l.lag); err != nil {
			return fmt.Sprintf("the certificate of %s is refused: %v", r.id, err)
		}
	}
	return ""
}

// settles waits until all replicas agree.
func (l *laws) settles(what string) string {
	for began := time.Now(); ; {
		err := l.unsettled(l.replicas)
		if err == nil {
			return ""
		}
		if time.Since(began) > 10*l.options.LeafValidity {
			return fmt.Sprintf("%s: it never settles: %v", what, err)
		}
		if failure := l.passes(l.options.Interval); failure != "" {
			return what + ": " + failure
		}
	}
}
