// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"pgregory.net/rapid"
)

// The steps of a history: changes by administrators, the API server and time to the targets, and to the replicas of two sources
// of certificates. The second source replaces the first.
const (
	stepPass    = "time passes"
	stepWipe    = "another writer removes the bundle of a target"
	stepReplace = "another writer puts its own bundle in a target"
	stepRotate  = "the first source has another authority"
	stepServe   = "the first source serves by its newest authority"
	stepPrune   = "the first source trusts that one alone"
	stepUpdate  = "a replica of the second source starts"
	stepBack    = "a replica of the second source ends"
	stepRestart = "a replica of the first source starts again"
	stepRefuse  = "writes of a target are refused"
	stepFail    = "a target cannot be read"
	stepAllow   = "nothing is refused any more"
	stepDelete  = "a target is deleted"
	stepInstall = "a target is installed again"
)

type lawStep struct {
	What   string
	Target int
	Span   time.Duration
}

// lawRefusals are how a request may fail.
var lawRefusals = []error{
	apierrors.NewForbidden(crdKind.resource.GroupResource(), "x", errors.New("exceeded quota")),
	apierrors.NewInvalid(crdKind.resource.GroupVersion().WithKind("X").GroupKind(), "x", nil),
	apierrors.NewInternalError(errors.New("failed calling webhook")),
	context.DeadlineExceeded,
}

// maxAttempts is how many refused writes a minute may have: a process that starts attempts them every 5 seconds or so, and
// each of the two others twice.
const maxAttempts = 18

// lawSource is a source of certificates: the authorities that its replicas serve by and trust.
type lawSource struct {
	serving []byte
	trusted [][]byte
}

func (s *lawSource) bundle() []byte { return slices.Concat(s.trusted...) }

// lawReplica is a running injector and what its source has published to it.
type lawReplica struct {
	*Injector
	wanted atomic.Pointer[[]byte]
	stop   func()
}

// lawCluster is the targets, and the replicas that write them.
type lawCluster struct {
	*testing.T
	client   *fake.FakeDynamicClient
	mu       sync.Mutex
	first    lawSource
	second   lawSource
	replicas [3]*lawReplica // two of the first source, and one of the second
	unread   [][]byte       // authorities that no source has had yet
	refused  map[string]error
	failing  map[string]error
	failure  string
	attempts int
}

func (c *lawCluster) fail(format string, args ...any) {
	if c.failure == "" {
		c.failure = fmt.Sprintf(format, args...)
	}
}

// sourceOf returns the source of a replica.
func (c *lawCluster) sourceOf(n int) *lawSource {
	if n == 2 {
		return &c.second
	}
	return &c.first
}

// start starts a replica in the place of one that is ended.
func (c *lawCluster) start(n int) {
	c.end(n)
	source := c.sourceOf(n)
	latest := func(context.Context) ([]byte, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return source.bundle(), nil
	}
	jitter := func(d time.Duration) time.Duration { return d + time.Duration(n)*time.Second }
	r := &lawReplica{Injector: newInjector(c.T, c.client, Options{Latest: latest, Jitter: jitter})}
	ctx, cancel := context.WithCancel(c.Context())
	var running sync.WaitGroup
	r.stop = func() { cancel(); running.Wait() }
	bundle := source.bundle()
	r.wanted.Store(&bundle)
	running.Go(func() {
		bounded, cancel := context.WithTimeout(ctx, time.Minute)
		_ = r.Publish(bounded, bundle) // once, as the operator does: Run goes on with the bundle that is wanted then
		cancel()
		r.Trigger() // as a source does whose bundle has changed from none
		_ = r.Run(ctx, func() []byte { return *r.wanted.Load() })
	})
	c.replicas[n] = r
}

func (c *lawCluster) end(n int) {
	if c.replicas[n] != nil {
		c.replicas[n].stop()
		c.replicas[n] = nil
	}
}

// change changes the first source, which its replicas are notified of.
func (c *lawCluster) change(change func()) {
	c.mu.Lock()
	change()
	bundle := c.first.bundle()
	c.mu.Unlock()
	for _, r := range c.replicas[:2] {
		r.wanted.Store(&bundle)
		r.Trigger()
	}
}

// needed returns the authorities that running replicas serve by.
func (c *lawCluster) needed() (all [][]byte) {
	for n, r := range c.replicas {
		if r != nil {
			all = append(all, c.sourceOf(n).serving)
		}
	}
	return all
}

// checkWrite requires of a write that it takes away no authority that a running replica serves by, and is of a target
// that could be read.
func (c *lawCluster) checkWrite(patch clienttesting.PatchActionImpl) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attempts++
	name := patch.GetName()
	if c.failing[name] != nil {
		c.fail("%s is written, and could not be read", name)
	}
	if err := c.refused[name]; err != nil {
		return err
	}
	before, err := c.client.Tracker().Get(patch.GetResource(), "", name)
	if err != nil {
		return err
	}
	after := &unstructured.Unstructured{}
	if err := json.Unmarshal(patch.GetPatch(), &after.Object); err != nil {
		return err
	}
	if before.(*unstructured.Unstructured).GetResourceVersion() != after.GetResourceVersion() {
		return nil // it will be refused
	}
	old, written := c.bundlesOf(before.(*unstructured.Unstructured)), c.bundlesOf(after)
	for _, authority := range c.needed() {
		if includes(old, authority) && !includes(written, authority) {
			c.fail("a write of %s takes away an authority that is served by", name)
		}
	}
	return nil
}

// bundlesOf returns the bundle of the first slot.
func (c *lawCluster) bundlesOf(object *unstructured.Unstructured) []byte {
	t := targetOf(c.T, object)
	if t.kind == crdKind {
		_ = unstructured.SetNestedField(object.Object, "Webhook", "spec", "conversion", "strategy")
	}
	slots, err := t.kind.slots(object)
	if err != nil || len(slots) == 0 {
		return nil
	}
	return slots[0].current
}

func (c *lawCluster) do(s lawStep) {
	switch s.What {
	case stepRotate, stepServe, stepPrune, stepRestart:
		if c.replicas[2] != nil { // a bundle that has changed replaces that of the second source for a second
			return
		}
	}
	object := standard()[s.Target].(*unstructured.Unstructured)
	kind, name := targetOf(c.T, object).kind, object.GetName()
	_, err := c.client.Tracker().Get(kind.resource, "", name)
	exists := err == nil
	switch s.What {
	case stepWipe:
		if exists {
			store(c.T, c.client, object)
		}
	case stepReplace:
		if exists {
			store(c.T, c.client, withBundle(c.T, object, c.unread[0], "kubectl-patch"))
		}
	case stepDelete:
		if exists {
			_ = c.client.Tracker().Delete(kind.resource, "", name)
		}
	case stepInstall:
		if !exists {
			object.SetUID(types.UID(fmt.Sprint(time.Now().UnixNano())))
			_ = c.client.Tracker().Create(kind.resource, object, "")
		}
	case stepRotate:
		if len(c.first.trusted) == 1 && len(c.unread) > 1 {
			c.change(func() { c.first.trusted = append(c.first.trusted, c.unread[len(c.unread)-1]) })
			c.unread = c.unread[:len(c.unread)-1]
		}
	case stepServe:
		if newest := c.first.trusted[len(c.first.trusted)-1]; c.hasEverywhere(newest) {
			c.change(func() { c.first.serving = newest })
		}
	case stepPrune:
		c.change(func() { c.first.trusted = [][]byte{c.first.serving} })
	case stepUpdate:
		// What has changed and not reached every target replaces the bundle of the second source, too.
		if c.replicas[2] == nil && len(c.failing)+len(c.refused) == 0 && c.isQuiet() {
			c.second.trusted = append([][]byte{c.second.serving}, c.first.trusted...)
			c.start(2)
		}
	case stepBack:
		c.end(2)
	case stepRestart:
		c.start(s.Target % 2)
	case stepRefuse:
		c.refused[name] = lawRefusals[int(s.Span.Seconds())%len(lawRefusals)]
	case stepFail:
		c.failing[name] = lawRefusals[int(s.Span.Seconds())%len(lawRefusals)]
	case stepAllow:
		c.allow()
	}
}

func (c *lawCluster) allow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.refused)
	clear(c.failing)
}

// isQuiet reports whether every target has the bundle of the first source, after a pass in which nothing failed.
func (c *lawCluster) isQuiet() bool {
	<-time.After(2 * time.Minute)
	for _, r := range c.replicas[:2] {
		if r.Missing() != nil {
			return false
		}
	}
	return c.hasEverywhere(c.first.bundle())
}

// isLeftToOthers reports whether every replica tells that another writer owns the bundle of a target, which none of them has
// seen with its own.
func (c *lawCluster) isLeftToOthers() bool {
	return !slices.ContainsFunc(c.replicas[:], func(r *lawReplica) bool {
		return r != nil && (r.Missing() == nil || !strings.Contains(r.Missing().Error(), "another field manager owns"))
	})
}

// hasEverywhere reports whether every target trusts an authority.
func (c *lawCluster) hasEverywhere(authority []byte) bool {
	for _, object := range standard() {
		t := targetOf(c.T, object.(*unstructured.Unstructured))
		stored, err := c.client.Tracker().Get(t.kind.resource, "", t.name)
		if err != nil || !includes(c.bundlesOf(stored.(*unstructured.Unstructured)), authority) {
			return false
		}
	}
	return true
}

// checkTold requires, once a pass was made, that each target that lacks the bundle is named by /readyz, and with the words
// of the API server where it refuses the write.
func (c *lawCluster) checkTold() {
	for _, object := range standard() {
		t := targetOf(c.T, object.(*unstructured.Unstructured))
		stored, err := c.client.Tracker().Get(t.kind.resource, "", t.name)
		for n, r := range c.replicas {
			if r == nil || c.failing[t.name] != nil {
				continue
			}
			missing := r.Missing()
			if lacks := err != nil || !includes(c.bundlesOf(stored.(*unstructured.Unstructured)), c.sourceOf(n).bundle()); lacks && missing == nil {
				c.fail("%s lacks the bundle of replica %d, which tells nothing", t, n)
			} else if refused := c.refused[t.name]; lacks && err == nil && refused != nil && !strings.Contains(missing.Error(), refused.Error()) {
				c.fail("%s refuses the bundle of replica %d, which tells %v", t, n, missing)
			}
		}
	}
}

// playLaws plays a history, and returns which law it broke; empty for none.
func playLaws(t *testing.T, authorities [][]byte, history []lawStep) string {
	c := &lawCluster{
		T: t, client: newCluster(standard()...), unread: slices.Clone(authorities[2:]), refused: map[string]error{}, failing: map[string]error{},
	}
	c.first, c.second = lawSource{authorities[0], [][]byte{authorities[0]}}, lawSource{serving: authorities[1]}
	c.client.PrependReactor("patch", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		err := c.checkWrite(action.(clienttesting.PatchActionImpl))
		return err != nil, nil, err
	})
	c.client.PrependReactor("get", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		err := c.failing[action.(clienttesting.GetAction).GetName()]
		return err != nil, nil, err
	})
	defer func() {
		for n := range c.replicas {
			c.end(n)
		}
	}()
	c.start(0)
	c.start(1)
	<-time.After(time.Minute)
	for _, s := range history {
		c.attempts = 0
		c.do(s)
		<-time.After(s.Span)
		synctest.Wait()
		if s.Span >= 10*time.Minute {
			c.checkTold()
			if perMinute := c.attempts / int(s.Span.Minutes()); perMinute > maxAttempts {
				c.fail("%d writes in %s", c.attempts, s.Span)
			}
		}
		if c.failure != "" {
			return fmt.Sprintf("%q: %s", s.What, c.failure)
		}
	}
	c.allow()
	for n := range standard() {
		c.do(lawStep{What: stepInstall, Target: n})
	}
	<-time.After(3 * time.Hour)
	synctest.Wait()
	if c.isLeftToOthers() {
		return c.failure
	}
	for n, authority := range c.needed() {
		if !c.hasEverywhere(authority) {
			c.fail("with the world at rest, a target does not trust replica %d; the first tells %v", n, c.replicas[0].Missing())
		}
	}
	c.client.ClearActions()
	<-time.After(2 * time.Hour)
	synctest.Wait()
	if n := patches(c.client); n > 0 {
		c.fail("with the world at rest, %d writes", n)
	}
	for n, r := range c.replicas {
		if r != nil && r.Missing() != nil {
			c.fail("with the world at rest, replica %d tells %v", n, r.Missing())
		}
	}
	return c.failure
}

// lawChecks is how many histories the laws are checked on, unless the flag rapid.checks says otherwise.
const lawChecks = "15"

// Laws that hold whatever other writers, the API server and a rolling update to another source do. No write takes away an
// authority that a running replica serves by. Nothing is written that could not be read. A refused or missing target is
// reported with the API server's message, and tried again within bounds. With the world at rest, each target has all, and none
// is written.
func TestLawsOfTheInjector(t *testing.T) {
	isSet := false
	flag.Visit(func(f *flag.Flag) { isSet = isSet || f.Name == "rapid.checks" })
	if !isSet {
		if err := flag.Set("rapid.checks", lawChecks); err != nil {
			t.Fatal(err)
		}
	}
	var authorities [][]byte
	for range 6 {
		authorities = append(authorities, newBundle(t))
	}
	steps := []string{
		stepPass, stepWipe, stepReplace, stepRotate, stepServe, stepPrune, stepUpdate, stepBack, stepRestart,
		stepRefuse, stepFail, stepAllow, stepDelete, stepInstall,
	}
	rapid.Check(t, func(r *rapid.T) {
		history := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) lawStep {
			return lawStep{
				rapid.SampledFrom(steps).Draw(r, "what"), rapid.IntRange(0, 2).Draw(r, "target"),
				time.Duration(rapid.SampledFrom([]int64{0, 1, 3, 30, 301, 1802, 7203}).Draw(r, "seconds")) * time.Second,
			}
		}), 1, 12).Draw(r, "history")
		var failure string
		synctest.Test(t, func(t *testing.T) { failure = playLaws(t, authorities, history) })
		if failure != "" {
			r.Fatal(failure)
		}
	})
}

// The laws have found this history: a replica that started while a target was missing writes the bundle that is wanted now.
func TestAReplicaThatCouldNotPublishTakesTheNextBundle(t *testing.T) {
	authorities := [][]byte{newBundle(t), newBundle(t), newBundle(t), newBundle(t), newBundle(t), newBundle(t)}
	history := []lawStep{{stepDelete, 1, 30 * time.Second}, {stepRefuse, 0, 301 * time.Second}, {stepRestart, 1, 2 * time.Hour}, {stepRotate, 0, 30 * time.Minute}}
	synctest.Test(t, func(t *testing.T) {
		if failure := playLaws(t, authorities, history); failure != "" {
			t.Error(failure)
		}
	})
}
