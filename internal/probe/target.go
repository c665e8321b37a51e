// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"math"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/types"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// State is Unknown, Healthy or Unhealthy.
type State = networkingv1.AddressHealth

// Target is one address of an object.
type Target struct {
	// ID distinguishes what has the same address at different times, such as pods by their UID. Targets of another
	// ID share nothing. Defaults to "": the address is all that there is.
	ID   string
	IP   netip.Addr
	Port uint16
	// Host is the DNS name of the address: the default of the Host header, of the server name and of the
	// authority. Empty for a static address. A target without IP is looked up by it before each probe.
	Host string
	// Authorized is that of the egress.Query for Dial.
	Authorized bool
	// InUse means that clients are led to the target unless it is Unhealthy. Defaults to false. If no target of an object is,
	// each keeps its own pace.
	InUse bool
	// Seed is the health that an earlier process found. It counts only for a target that is new to this one.
	Seed *Seed
}

// Seed is the health of a target that another process found.
type Seed struct {
	// State is Unknown where clients use the address, and what found it healthy was another check or port.
	State State
	Since time.Time
}

// Health of a target.
type Health struct {
	State State
	// Since is when State became what it is, or when the target was first seen.
	Since time.Time
	// Age is how long ago that was, also where the clock was set since then: compare it, and show Since.
	Age time.Duration
	// LastProbe is when the last result came; zero before the first.
	LastProbe time.Time
	// Reason is the last result (networkingv1.Probe...), or empty.
	Reason string
	// Falls is how often State has become Unhealthy after Healthy, or after failures that were held back. It stays
	// at 65535.
	Falls uint16
}

// object has targets, such as an ExternalService.
type object struct {
	key    types.NamespacedName
	timing timing
	plan   *checkPlan
	// targets are different from each other. The target of the i-th Target of the last Set is positions[i].
	targets   []*target
	positions []int32
	counts    *targetCounts
	namespace *namespace
	group     string
	// succeeding is how many targets have a success as their last result.
	succeeding int
	// used counts the targets that are in use, and needsReplacement is what it was last.
	used             usedTargets
	needsReplacement bool
	// results counts the results, and lastSuccess is the number of the last success.
	results, lastSuccess uint64
	// requireThreshold is Options.RequireThreshold.
	requireThreshold bool
	// tallies are those of Prober.Count, by their names; nil for most objects.
	tallies map[string]*tally
}

// target is a Target with its results. There may be 50,000: it has no timer, no closure and no copy of the check,
// and times are numbers.
type target struct {
	object *object
	identity
	removed bool
	// inUse is Target.InUse of any Target that is probed as this one.
	inUse bool
	// awaitsReference means that its last failure waits for the reference.
	awaitsReference bool
	result          outcome
	// failure is the reason of an unhealthy target. others counts the failures in a row that were of another kind.
	failure outcome
	others  uint8
	counter
	destination *destination
	// since and lastProbe are wall clock times. changed, which is the same time as since, and due count from
	// Prober.startTime.
	since, lastProbe int64
	changed, due     time.Duration
	// firstFailure is the number of the result that began the current failures.
	firstFailure uint64
}

// identity identifies a probe. Targets with equal identities share one.
type identity struct {
	id string
	ip netip.Addr
	// host is empty where neither the check nor the lookup of the address uses it.
	host       string
	port       uint16
	authorized bool
}

// identity returns what a Target is probed as.
func (plan *checkPlan) identity(t *Target) identity {
	is := identity{id: t.ID, ip: t.IP, host: t.Host, port: t.Port, authorized: t.Authorized}
	if t.IP.IsValid() && !plan.UsesHost() {
		is.host = ""
	}
	return is
}

// destinationKey returns the key of the target's destination.
func (t *target) destinationKey() destinationKey {
	switch {
	case t.object.group != "":
		return destinationKey{host: t.object.group}
	case t.ip.IsValid():
		return destinationKey{ip: t.ip, port: t.port}
	}
	return destinationKey{host: t.host, port: t.port}
}

// setCounter replaces the counter, and keeps the counts of the object.
func (t *target) setCounter(c counter) {
	t.object.succeeding += int(toInt(c.count > 0) - toInt(t.count > 0))
	t.object.used.add(t, -1)
	t.counter = c
	t.object.used.add(t, 1)
}

// usedTargets counts the targets of an object that are in use, those of them that are not unhealthy, and of these the ones
// whose last result is a failure.
type usedTargets struct{ all, usable, failing int }

func (u *usedTargets) add(t *target, sign int) {
	if !t.inUse {
		return
	}
	u.all += sign
	if t.condition != unhealthy {
		u.usable += sign
		u.failing += sign * int(toInt(t.count < 0))
	}
}

// needReplacement reports whether clients have no target, or may soon have one less.
func (u *usedTargets) needReplacement() bool { return u.all > 0 && (u.usable == 0 || u.failing > 0) }

// setInUse replaces whether clients are led to the target.
func (t *target) setInUse(isInUse bool) {
	t.object.used.add(t, -1)
	t.inUse = isInUse
	t.object.used.add(t, 1)
}

// setInUse replaces the set of targets in use: those that any Target marks as in use.
func (o *object) setInUse(wanted []Target) {
	isSame := true
	for i := range wanted {
		isSame = isSame && wanted[i].InUse == o.targets[o.positions[i]].inUse
	}
	if isSame {
		return
	}
	for _, t := range o.targets {
		t.setInUse(false)
	}
	for i := range wanted {
		if wanted[i].InUse {
			o.targets[o.positions[i]].setInUse(true)
		}
	}
}

// isConfirmed reports whether a failure is the target's own: another target of the object has succeeded between
// the first failure and the probe. succeeded is the object's last success before the probe.
func (t *target) isConfirmed(succeeded uint64) bool { return succeeded > t.firstFailure }

// health returns the health of a target. now counts from Prober.startTime.
func (t *target) health(now time.Duration) Health {
	return Health{State: t.state(), Since: moment(t.since), Age: now - t.changed, LastProbe: moment(t.lastProbe),
		Reason: t.reason(), Falls: t.falls}
}

// settledFailures is how many failures of another kind in a row become the reason of an unhealthy target. One that times
// out now and is refused then keeps its reason.
const settledFailures = 3

// recordFailure records the kind of a failure, and reports whether the reason of an unhealthy target has changed.
func (t *target) recordFailure() bool {
	switch {
	case t.condition != unhealthy:
		t.failure, t.others = t.result, 0
		return false
	case t.result == connected, t.result == t.failure:
		t.others = 0
		return false
	}
	if t.others++; t.others < settledFailures {
		return false
	}
	t.failure, t.others = t.result, 0
	return true
}

// reason returns how the last probe ended, and that of an unhealthy target how its probes fail.
func (t *target) reason() string {
	if t.condition == unhealthy && !t.isNotProbed() {
		return t.failure.reason()
	}
	return t.result.reason()
}

// isNotProbed reports whether the target cannot be probed, for a reason that is not its own.
func (t *target) isNotProbed() bool { return t.object.requireThreshold && t.result.isNotProbed() }

func (t *target) state() State {
	if t.isNotProbed() {
		return networkingv1.AddressUnknown
	}
	return t.condition.state()
}

// suspicionShare returns what the target contributes to the suspicion.
func (t *target) suspicionShare() suspicionShare {
	if t.object.requireThreshold {
		return t.thresholdShare()
	}
	return t.counter.suspicionShare(t.result == denied)
}

// thresholdShare counts Unknown targets with failures, too: those of a process that never reached anything must not
// decide once they are enough.
func (t *target) thresholdShare() suspicionShare {
	switch {
	case t.isNotProbed():
		return suspicionShare{}
	case t.condition == unknown && t.count < 0:
		return suspicionShare{member: true, failing: true, recent: t.count >= -maxRecentFailures}
	}
	return t.counter.suspicionShare(false)
}

func moment(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}

func (c condition) state() State {
	switch c {
	case healthy:
		return networkingv1.AddressHealthy
	case unhealthy:
		return networkingv1.AddressUnhealthy
	case unknown:
	}
	return networkingv1.AddressUnknown
}

func conditionOf(s State) condition {
	switch s {
	case networkingv1.AddressHealthy:
		return healthy
	case networkingv1.AddressUnhealthy:
		return unhealthy
	case networkingv1.AddressUnknown:
	}
	return unknown
}

// condition is the health of a target, in a byte.
type condition uint8

const (
	unknown condition = iota
	healthy
	unhealthy
)

// maxStreak streak that is counted; more than any threshold.
const maxStreak = 1000

// counter counts results in a row, and has the condition that they have decided.
type counter struct {
	condition condition
	// fell means that it became unhealthy by the current failures.
	fell bool
	// used means that the address was healthy before anything was known of this target: its failures are evidence of a
	// suspicion. It says nothing once the target has a health.
	used bool
	// falls is Health.Falls.
	falls uint16
	// count of successes in a row, or of failures where it is negative.
	count int16
}

// add returns the counter after one more result, which decides nothing yet.
func (c counter) add(success bool) counter {
	if success {
		c.fell = false
		c.count = min(max(c.count, 0)+1, maxStreak)
	} else {
		c.count = max(min(c.count, 0)-1, -maxStreak)
	}
	return c
}

// decide returns the counter with the condition that its results decide. requireThreshold means that one failure does not
// decide about an Unknown target.
func (c counter) decide(toHealthy, toUnhealthy int, requireThreshold bool) counter {
	switch {
	case requireThreshold && c.condition == unknown && c.count < 0:
		if -int(c.count) >= toUnhealthy {
			c = c.fall()
		}
	case c.condition == unknown && c.count > 0, c.condition == unhealthy && int(c.count) >= toHealthy:
		c.condition = healthy
	case c.condition == unknown && c.count < 0 && c.used:
		c = c.fall()
	case c.condition == unknown && c.count < 0:
		c.condition = unhealthy
	case c.condition == healthy && -int(c.count) >= toUnhealthy:
		c = c.fall()
	}
	return c
}

func (c counter) fall() counter {
	c.condition, c.fell = unhealthy, true
	if c.falls < math.MaxUint16 {
		c.falls++
	}
	return c
}
