// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/internal/clientprobe"
	"github.com/fairlead-dev/fairlead/internal/dns"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

const (
	// defaultWorkers is used where Options.Workers is not positive.
	defaultWorkers = 256
	// maxSuspicion is how long failures are held back for their number alone.
	maxSuspicion = time.Hour
)

// Options of Checks.
type Options struct {
	// Dial opens the TCP connection of a check. It must end when ctx ends, and its error is an
	// egress.DeniedError where the policy refuses the address. Required.
	Dial func(ctx context.Context, to egress.Query) (net.Conn, error)
	// Lookup resolves a name, and ends soon after ctx has. Defaults to nil: hosts must be IPs.
	Lookup func(ctx context.Context, name string, records networkingv1.RecordType) dns.Answer
	// Workers is how many checks run at once at most; one namespace may use half of what others leave. Defaults to
	// 256.
	Workers int
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Rand returns a number from 0 up to but not including 1, concurrently. Defaults to that of math/rand/v2.
	Rand func() float64
	// Notify is called with a policy when Firing or Unsupported of one of its results changed, or a pod is healthy for
	// the first time, except by Set, and when IsSuspect changed while one fires; and when requests of Verification may decide
	// something. It must not block, nor call Set or Forget. Defaults to nil: it is not called.
	Notify func(policy types.NamespacedName)
	// Reference and OnSuspect are those of package probe. A restart for nothing harms more than a late one, so that
	// failures may be held back for an hour.
	Reference func(ctx context.Context) bool
	OnSuspect func(suspect bool, cause string)
	// Registerer of metrics. Defaults to nil: metrics are not registered.
	Registerer prometheus.Registerer
}

// Checks are the checks of all RebootPolicies. All methods are safe for concurrent use.
type Checks struct {
	options Options

	// Verification sends the requests of verification.probes, by the same prober.
	Verification *clientprobe.Sender

	network clientprobe.Network
	prober  *probe.Prober
	// setMu serializes Set and Forget. It is locked before mu, and mu is never held while the prober may notify.
	setMu sync.Mutex

	mu       sync.Mutex
	policies map[types.NamespacedName]map[wantKey]*check
	byKey    map[types.NamespacedName]*check
}

// New returns Checks of nothing. Nothing is checked before Run.
func New(o Options) *Checks {
	if o.Workers <= 0 {
		o.Workers = defaultWorkers
	}
	if o.Notify == nil {
		o.Notify = func(types.NamespacedName) {}
	}
	c := &Checks{
		options:  o,
		policies: map[types.NamespacedName]map[wantKey]*check{},
		byKey:    map[types.NamespacedName]*check{},
		network:  clientprobe.Network{Dial: o.Dial, Lookup: o.Lookup},
	}
	c.prober = probe.New(probe.Options{
		Dial: c.dial, Lookup: c.network.LookupAll, RequireThreshold: true, Group: clientprobe.Group, Kind: "RebootPolicy",
		Reference: o.Reference, OnSuspect: o.OnSuspect, MaxSuspicion: maxSuspicion,
		Workers: o.Workers, Now: o.Now, Rand: o.Rand, Notify: c.onProbeChange, Registerer: o.Registerer,
	})
	c.Verification = clientprobe.New(c.prober, o.Notify)
	return c
}

// Run checks until ctx ends, and returns once no check is under way. It fails at once where the
// metrics could not be registered.
func (c *Checks) Run(ctx context.Context) error {
	if c.options.Dial == nil {
		return errors.New("podprobe: Options.Dial is required")
	}
	if err := c.prober.Run(ctx); err != nil {
		return fmt.Errorf("podprobe: %w", err)
	}
	return nil
}

// IsSuspect reports whether failures of some check of a policy decide nothing now: this process is suspect, and
// nothing that the check is about succeeds.
func (c *Checks) IsSuspect(policy types.NamespacedName) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, about := range c.policies[policy] {
		if about.unsupported == "" && c.prober.IsFrozen(about.key) {
			return true
		}
	}
	return false
}

// onProbeChange notifies about a check whose result has changed.
func (c *Checks) onProbeChange(key types.NamespacedName) {
	if c.Verification.OnChange(key) {
		return
	}
	c.mu.Lock()
	about, ok := c.byKey[key]
	if !ok {
		c.mu.Unlock()
		return
	}
	state := c.notifiedStateOf(about)
	changed := state != about.notified
	about.notified = state
	c.mu.Unlock()
	if changed {
		c.options.Notify(about.policy)
	}
}

// podsKey returns the prober's key for the pods of a workload: as that of a host, but with the workload's UID. None of its parts
// holds a slash.
func podsKey(policy types.NamespacedName, asked string, workload types.UID) types.NamespacedName {
	return types.NamespacedName{Namespace: policy.Namespace, Name: policy.Name + "/" + asked + "/" + string(workload)}
}
