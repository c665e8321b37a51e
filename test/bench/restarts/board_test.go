// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

func shown[T any](t *testing.T, text string) *T {
	t.Helper()
	object := new(T)
	if err := json.Unmarshal([]byte(text), object); err != nil {
		t.Fatal(err)
	}
	return object
}

const (
	still   = `{"metadata": {"namespace": "n", "name": "w", "generation": 1, "annotations": {"deployment.kubernetes.io/revision": "1"}}, "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}}`
	written = `{"metadata": {"namespace": "n", "name": "w", "generation": 2, "annotations": {"deployment.kubernetes.io/revision": "1"}}, "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}}`
	surging = `{"metadata": {"namespace": "n", "name": "w", "generation": 2, "annotations": {"deployment.kubernetes.io/revision": "2"}}, "status": {"observedGeneration": 2, "replicas": 2, "updatedReplicas": 1, "availableReplicas": 2}}`
	renewed = `{"metadata": {"namespace": "n", "name": "w", "generation": 2, "annotations": {"deployment.kubernetes.io/revision": "2"}}, "status": {"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}}`
)

func TestARolloutLastsFromTheTemplateUntilOneNewPodIsAvailable(t *testing.T) {
	for text, want := range map[string]bool{still: false, written: true, surging: true, renewed: false} {
		if got := shown[workload](t, text).rolling(); got != want {
			t.Errorf("rolling %v, want %v: %s", got, want, text)
		}
	}
}

func TestTheMostAtOnceIsRemembered(t *testing.T) {
	b := newBoard()
	at := time.Unix(0, 0)
	b.showWorkload(shown[workload](t, still), at)
	other := shown[workload](t, strings.Replace(written, `"w"`, `"other"`, 1))
	b.begin()
	b.showWorkload(other, at)
	b.showWorkload(shown[workload](t, surging), at)
	b.showWorkload(shown[workload](t, renewed), at)
	for _, text := range []string{`[{}, {}]`, `[{}, {}, {}]`, `[]`} {
		b.showPolicy(shown[policy](t, `{"metadata": {"name": "p"}, "status": {"inFlight": `+text+`}}`), at)
	}
	b.showPolicy(shown[policy](t, `{"metadata": {"name": "q"}, "status": {"inFlight": [{}], "targets": [{"pending": {}}, {}]}}`), at)
	c := b.counts(at)
	if c.InFlight != 3 || c.InFlightOfOne != 3 || c.Rolling != 2 || b.pending != 1 {
		t.Errorf("%+v, pending %d", c, b.pending)
	}
	if c.Written != (span{1, 2}) || c.Rollouts != (span{1, 1}) {
		t.Errorf("written %+v, rollouts %+v", c.Written, c.Rollouts)
	}
}

func TestNothingIsDrainedWhileSomethingIsToCome(t *testing.T) {
	now := time.Now()
	for _, tc := range []struct {
		policy, workload string
		want             bool
	}{
		{`{"status": {}}`, renewed, true},
		{`{"status": {}}`, surging, false},
		{`{"status": {}}`, still, false},
		{`{"status": {"inFlight": [{}]}}`, renewed, false},
		{`{"status": {"targets": [{"pending": {}}]}}`, renewed, false},
	} {
		b := newBoard()
		b.showWorkload(shown[workload](t, still), now)
		b.begin()
		b.showWorkload(shown[workload](t, tc.workload), now)
		b.showPolicy(shown[policy](t, tc.policy), now)
		if got, _ := b.drained(1); got != tc.want {
			t.Errorf("drained %v, want %v: %s", got, tc.want, b)
		}
	}
}

func TestAWorkloadIsKnownOnceEachSecretHasABaseline(t *testing.T) {
	for baselines, want := range map[string]int{
		`{"trigger": "RestartNow"}, {"source": "a"}, {"source": "b"}, {"source": "c"}, {"source": "d"}`: 1,
		`{"trigger": "RestartNow"}, {"source": "a"}, {"source": "b"}, {"source": "c"}`:                  0,
	} {
		p := shown[policy](t, `{"status": {"targets": [{"internal": {"baselines": [`+baselines+`]}}]}}`)
		if got := p.known(); got != want {
			t.Errorf("known %d, want %d: %s", got, want, baselines)
		}
	}
}

func TestAHaltAndAGapAreTold(t *testing.T) {
	b := newBoard()
	b.showPolicy(shown[policy](t, `{"metadata": {"name": "p"}, "status": {"halt": {"reason": "LimitReached"}}}`), time.Now())
	if err := b.trouble(); err == nil || !strings.Contains(err.Error(), "LimitReached") {
		t.Errorf("trouble: %v", err)
	}
	b.interrupt()
	if b.whole() == nil {
		t.Error("a watch was interrupted, and the counts are whole")
	}
	b.begin()
	if err := b.whole(); err != nil {
		t.Errorf("nothing was interrupted since: %v", err)
	}
}

func TestAMeanIsOverTime(t *testing.T) {
	var numbers gauge
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	numbers.add(4, at(1))
	numbers.begin(at(10))
	numbers.add(6, at(12))
	numbers.add(-10, at(14))
	if got := numbers.mean(at(20)); math.Abs(got-2.8) > 1e-9 || numbers.most != 10 {
		t.Errorf("mean %v, most %d, want 2.8 and 10", got, numbers.most)
	}
	if got := (&gauge{}).mean(time.Time{}); got != 0 {
		t.Errorf("the mean over no time is %v", got)
	}
}
