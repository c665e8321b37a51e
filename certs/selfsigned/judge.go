// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"fmt"
	"time"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/internal/rotation"
)

// meeting is when this replica first met a phase. Waits that are short count from there: the clock
// of the replica that wrote the phase may be ahead or late.
type meeting struct {
	phase string
	at    time.Time
}

// phase identifies the phase among all that ever were.
func (h *held) phase() string {
	return fmt.Sprintf("%s %s %s", h.record.Phase, h.record.Since, h.record.Root)
}

// meet notes when a phase is met for the first time.
func (a *Authority) meet(h *held, now time.Time) {
	if a.meeting.phase != h.phase() {
		a.meeting = meeting{h.phase(), now}
	}
}

// judge says what follows for the rotation from what is held.
func (a *Authority) judge(h *held, now time.Time) rotation.Verdict {
	a.meet(h, now)
	since := h.record.Since
	if h.record.Phase != rotation.Retiring && a.meeting.at.After(since) {
		since = a.meeting.at
	}
	pace := a.pace
	pace.Linger = max(pace.Linger, time.Duration(h.record.LeafSeconds)*time.Second+a.options.skew())
	return pace.Judge(
		rotation.State{Phase: h.record.Phase, Since: since, Vouched: h.record.Observed},
		rotation.Facts{
			Now:          now,
			Wanted:       h.wanted(now) != "",
			Sight:        a.looking.of(h),
			Blind:        a.options.Observe == nil,
			Expiry:       h.signer.expiry(),
			FormerExpiry: h.formerExpiry(),
		})
}

// signer is the root of the Secret, except while it is held back. The error is that of a root that
// must sign though it was not seen that clients trust it.
func (a *Authority) signer(now time.Time) (*root, error) {
	if a.current == nil || a.current.signer.certificate().Equal(a.held.signer.certificate()) {
		return a.held.signer, nil
	}
	if a.holdsBack(now) {
		return a.current.signer, nil
	}
	if a.trusted(now) {
		return a.held.signer, nil
	}
	if previous := a.current.signer; now.Before(previous.expiry()) {
		return a.held.signer, fmt.Errorf("secret %s: trusts the former root no more, serial %s, and its successor was not seen everywhere yet", a, previous.certificate().SerialNumber.Text(16))
	}
	return a.held.signer, fmt.Errorf("secret %s: the former root expired at %s, and its successor was not seen everywhere yet", a, a.current.signer.expiry().Format(time.RFC3339))
}

// holdsBack says whether the root of the Secret is new here and not yet to be used, as clients may
// not know it, while the previous one still serves.
func (a *Authority) holdsBack(now time.Time) bool {
	previous := a.current.signer
	return !previous.certificate().Equal(a.held.signer.certificate()) && !a.trusted(now) &&
		now.Before(previous.expiry()) && certs.Contains(a.held.trusts(), previous.certificate())
}

// trusted says whether clients trust the root of the Secret.
func (a *Authority) trusted(now time.Time) bool {
	at, known := a.trustedAt()
	return known && !now.Before(at)
}

// trustedAt is when clients will have come to trust the root of the Secret: by the record of a
// rotation, since it was seen where they look, or, where that cannot be read, by the time they need.
func (a *Authority) trustedAt() (time.Time, bool) {
	record := a.held.record
	switch {
	case record.Phase == rotation.Retiring, record.Phase == rotation.Signing && record.Settled:
		return a.since, true
	case a.options.Observe == nil:
		return a.since.Add(a.options.Overlap), true
	case record.Phase == rotation.Signing && record.Observed:
		return a.meeting.at.Add(a.pace.Settle), true
	case a.looking.of(a.held) == rotation.Standing:
		return a.looking.stood.Add(a.pace.Settle), true
	}
	return time.Time{}, false
}

// wake is when there is something to do though nothing happens.
func (a *Authority) wake(now time.Time) time.Time {
	at := now.Add(a.options.Interval)
	if a.held == nil || a.current == nil {
		return at
	}
	due, look := a.wantsLook(now)
	verdict := a.judge(a.held, now)
	if due || verdict.Event != "" {
		return now
	}
	moments := []time.Time{look, verdict.Next, a.current.renewAt}
	if a.held.record.Phase == rotation.Stable {
		moments = append(moments, a.held.due())
	}
	if a.holdsBack(now) {
		trusted, _ := a.trustedAt()
		moments = append(moments, a.current.signer.expiry(), trusted)
	}
	for _, moment := range moments {
		if moment.After(now) {
			at = earlier(at, moment)
		}
	}
	return at
}
