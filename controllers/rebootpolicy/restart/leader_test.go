// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"slices"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// A process that has just begun sees a change, and does not know when it was made.
func TestAFirstLookDatesAChangeByWhatIsStoredAndRecorded(t *testing.T) {
	written := noon().Add(10 * time.Minute)
	for name, c := range map[string]struct {
		put        func(b *suite, s *Signal)
		superseded bool
	}{
		"the same keys, and their values are recorded": {func(*suite, *Signal) {}, true},
		"the values were recorded after the pods": {func(_ *suite, s *Signal) {
			s.ValuesWritten, s.Recorded = written.Add(time.Hour), written.Add(time.Hour)
		}, false},
		"keys were removed, by a write that is recorded": {func(_ *suite, s *Signal) {
			s.Keys = "others"
		}, true},
		"keys were removed, by a write that is not": {func(b *suite, s *Signal) {
			s.Keys = "others"
			b.target(0).Baselines[0].WrittenTime = stampOf(written)
		}, false},
		"the source was not there before, and is recorded": {func(b *suite, s *Signal) {
			s.Keys = "others"
			b.target(0).Baselines[0].Fingerprint, b.target(0).Baselines[0].Keys, b.target(0).Baselines[0].WrittenTime = "", "", nil
		}, true},
		"nothing is recorded": {func(_ *suite, s *Signal) { s.ValuesWritten, s.Recorded = time.Time{}, time.Time{} }, false},
		"the baseline is of an older version": {func(b *suite, _ *Signal) {
			b.target(0).Baselines[0].Keys, b.target(0).Baselines[0].WrittenTime = "", nil
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSuite(t)
			b.workload(0).Signals[0].Keys, b.workload(0).Signals[0].Recorded = "keys", noon().Add(-2*time.Hour)
			b.decide()
			if base := b.target(0).Baselines[0]; base.Keys != "keys" || base.WrittenTime == nil {
				t.Fatalf("%+v", base)
			}
			b.advance(time.Hour)
			s := &b.workload(0).Signals[0]
			s.Fingerprint, s.FirstSeen, s.Written, s.ValuesWritten, s.Recorded = "new", true, b.o.Now, written, written
			for i := range b.workload(0).Pods {
				b.workload(0).Pods[i].Created = written.Add(3 * time.Second)
			}
			c.put(b, s)
			b.decide()
			if superseded := slices.Contains(b.messages, "RestartSuperseded"); superseded != c.superseded {
				t.Errorf("superseded %t: %+v", superseded, b.target(0))
			}
		})
	}
}

// A new leader continues from the stored status: the quiet period does not begin again, and pods that came since count.
func TestANewLeaderGoesOnFromTheStoredTime(t *testing.T) {
	b := newSuite(t)
	b.change("new")
	b.decide()
	before := b.target(0).Pending.DeepCopy()
	if before.WrittenTime == nil || !before.WrittenTime.Time.Equal(noon()) || before.Fingerprint == "" {
		t.Fatalf("%+v", before)
	}
	b.advance(5 * time.Second)
	s := &b.workload(0).Signals[0]
	s.FirstSeen, s.Written = true, b.o.Now
	for range 3 {
		d := b.after(time.Second)
		b.workload(0).Signals[0].Written = b.o.Now
		if p := b.target(0).Pending; p == nil || !p.LastRequestTime.Equal(&before.LastRequestTime) || !d.RequeueAt.Equal(noon().Add(15*time.Second)) {
			t.Fatalf("%+v, again at %s", p, d.RequeueAt)
		}
	}
	for i := range b.workload(0).Pods {
		b.workload(0).Pods[i].Created = noon().Add(2 * time.Second)
	}
	if b.decide(); !slices.Contains(b.messages, "RestartSuperseded") {
		t.Errorf("told %v, %+v", b.messages, b.target(0))
	}

	// A further change is one of its own.
	b.change("newer")
	b.decide()
	b.advance(5 * time.Second)
	s = &b.workload(0).Signals[0]
	s.Fingerprint, s.FirstSeen, s.Written = "newest", true, b.o.Now
	b.decide()
	if p := b.target(0).Pending; p == nil || !p.LastRequestTime.Time.Equal(b.o.Now) {
		t.Errorf("%+v at %s", p, b.o.Now)
	}
}

func TestAPodThatWasNotThereAtTheVersionOfAWriteIsNewer(t *testing.T) {
	for _, c := range []struct {
		absent, version string
		want            bool
	}{{"1000", "1000", true}, {"1001", "1000", true}, {"999", "1000", false}, {"", "1000", false}, {"1000", "", false}} {
		p := Pod{Created: noon(), AbsentAt: c.absent}
		if got := p.createdAfter(&Signal{Written: noon(), Version: c.version}); got != c.want {
			t.Errorf("absent at %q, written at %q: %t", c.absent, c.version, got)
		}
	}
}

func TestATokenIsVerifiedOnceAllOfItsRestartsAre(t *testing.T) {
	b := newSuite(t, "a", "b")
	for i := range b.o.Workloads {
		b.requestRestart(i)
	}
	for i := range b.o.Workloads {
		b.record(b.decide(), Done)
		if ProgressReason(&b.p.Status, false) != string(autorebootv1.PhaseRollingOut) || ptr.Deref(b.p.Status.WatchedTargets, 0) != 2 {
			t.Errorf("%d: %+v", i, b.p.Status)
		}
		b.after(time.Second)
		if b.advance(2 * time.Minute); b.p.Status.VerifiedRestartNow != "" {
			t.Errorf("verified before restart %d ended", i)
		}
	}
	b.decide()
	if b.p.Status.VerifiedRestartNow != "token" || ProgressReason(&b.p.Status, false) != autorebootv1.ReasonIdle {
		t.Errorf("%+v", b.p.Status)
	}
}

func TestABaselineFollowsTheWritesOfItsSourceNowAndThen(t *testing.T) {
	b := newSuite(t)
	s := &b.workload(0).Signals[0]
	for _, c := range []struct{ recorded, want time.Duration }{
		{0, 0}, {time.Minute, 0}, {refreshAfter, 0}, {refreshAfter + time.Second, refreshAfter + time.Second}, {refreshAfter + time.Minute, refreshAfter + time.Second},
	} {
		s.Keys, s.Recorded = "keys", noon().Add(c.recorded)
		b.after(time.Second)
		if at := b.target(0).Baselines[0].WrittenTime; at == nil || !at.Time.Equal(noon().Add(c.want)) {
			t.Errorf("recorded at %s: %v", c.recorded, at)
		}
	}
}

func TestAddressesThatMustStayAreToldOfOnce(t *testing.T) {
	b := newSuite(t)
	s := &b.workload(0).Signals[0]
	s.SettlesAt = b.o.Now.Add(5 * time.Minute)
	for range 3 {
		b.after(time.Second)
	}
	st := b.p.Status.Triggers[0]
	if !slices.Equal(b.messages, []string{"RestartExpected"}) || st.State != autorebootv1.TriggerPending || st.Reason != autorebootv1.ReasonSettling {
		t.Errorf("told %q; %+v", b.messages, st)
	}
	s.SettlesAt = time.Time{}
	if b.decide(); b.p.Status.Triggers[0].State != autorebootv1.TriggerIdle || len(b.messages) != 1 {
		t.Errorf("told %q; %+v", b.messages, b.p.Status.Triggers[0])
	}
}
