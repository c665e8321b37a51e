// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"sort"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

func TestOneNewTargetIsProbedRightAwayAndThenEveryInterval(t *testing.T) {
	runSuite(t, 0.5, Options{}, func(s *suite) {
		c := standard
		c.JitterPercent = 10
		got := s.Set(key("db"), c, []Target{to(1)})
		if diff := cmp.Diff([]Health{{State: networkingv1.AddressUnknown, Since: s.began}}, got); diff != "" {
			t.Errorf("at first (-want +got):\n%s", diff)
		}
		s.advance(35 * time.Second)
		s.want("probes", &s.probes, "0s 198.18.0.1:5432", "10.5s 198.18.0.1:5432", "21s 198.18.0.1:5432", "31.5s 198.18.0.1:5432")
		s.want("notified", &s.notified, "db")
		got = s.Set(key("db"), c, []Target{to(1)})
		want := []Health{{State: networkingv1.AddressHealthy, Since: s.began, Age: 35 * time.Second, LastProbe: s.began.Add(31500 * time.Millisecond), Reason: networkingv1.ProbeConnected}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("later (-want +got):\n%s", diff)
		}
	})
}

func TestManyNewTargetsAreProbedInTheOrderInWhichTheyCame(t *testing.T) {
	runSuite(t, 0.5, Options{}, func(s *suite) {
		inOrder := promptBurst + int(standard.timing().interval.Seconds())*promptRate
		set := func(name string, from, n int) {
			var all []Target
			for i := range n {
				all = append(all, to(from+i))
			}
			s.Set(key(name), standard, all)
		}
		set("first", 0, promptBurst)
		set("second", promptBurst, inOrder-promptBurst)
		set("third", inOrder, 10)
		synctest.Wait()
		if got := len(s.since(&s.probes)); got != promptBurst {
			t.Errorf("%d are probed at once, want %d", got, promptBurst)
		}
		s.advance(time.Second)
		if got := len(s.since(&s.probes)); got != promptRate {
			t.Errorf("%d are probed within a second, want %d", got, promptRate)
		}
		s.advance(standard.timing().interval/2 - time.Second)
		// Those that would be later than the interval are spread over it.
		if got, want := len(s.since(&s.probes)), (int(standard.timing().interval.Seconds())/2-1)*promptRate+10; got != want {
			t.Errorf("%d are probed until half of the interval, want %d", got, want)
		}
	})
}

func TestSeededTargetsKeepTheirHealthAndAreNotProbedAtOnce(t *testing.T) {
	runSuite(t, 0.3, Options{}, func(s *suite) {
		s.fail(syscall.ECONNREFUSED, ip(1))
		all := []Target{seeded(1, networkingv1.AddressHealthy), seeded(2, networkingv1.AddressUnhealthy)}
		got := s.Set(key("db"), standard, all)
		if states(got) != "HU" || !got[0].Since.Equal(time.Unix(1000, 0)) || got[0].Reason != "" {
			t.Errorf("at first %+v", got)
		}
		s.advance(5 * time.Second)
		sort.Strings(s.probes)
		s.want("probes", &s.probes, "3s 198.18.0.1:5432", "3s 198.18.0.2:5432")
		s.want("notified", &s.notified)
		got = s.Set(key("db"), standard, all)
		if states(got) != "HU" || got[0].Reason != networkingv1.ProbeRefused {
			t.Errorf("after one result each: %+v", got)
		}
	})
}

func TestFailuresInARowAndTheWayBack(t *testing.T) {
	runSuite(t, 0, Options{}, func(s *suite) {
		set := func() []Health { return s.Set(key("db"), standard, []Target{to(1)}) }
		set()
		s.advance(time.Second)
		s.want("notified of the first result", &s.notified, "db")
		s.fail(syscall.ECONNREFUSED, ip(1))
		s.advance(20 * time.Second)
		s.want("notified of two failures", &s.notified)
		s.advance(10 * time.Second)
		s.want("notified of three", &s.notified, "db")
		if got := set(); states(got) != "U" || got[0].Reason != networkingv1.ProbeRefused || !got[0].Since.Equal(s.began.Add(30*time.Second)) {
			t.Errorf("after three failures: %+v", got)
		}
		s.fail(nil, ip(1))
		s.since(&s.probes)
		s.advance(45 * time.Second)
		s.want("probes on the way back", &s.probes, "1m0s 198.18.0.1:5432", "1m10s 198.18.0.1:5432")
		s.want("notified of the recovery", &s.notified, "db")
	})
}

// One that times out now and is refused then keeps its reason, so that no status is written at each probe.
func TestTheReasonOfAnUnhealthyTargetIsThatOfItsLastFailuresInARow(t *testing.T) {
	runSuite(t, 0.5, Options{}, func(s *suite) {
		key, ip := types.NamespacedName{Namespace: "shop", Name: "db"}, netip.MustParseAddr("192.0.2.1")
		check := every("1s", 2, 2)
		fails := func(err error) Health {
			s.mu.Lock()
			s.down[ip] = err
			s.mu.Unlock()
			<-time.After(time.Second)
			synctest.Wait()
			return s.Set(key, check, []Target{{IP: ip, Port: 80}})[0]
		}
		s.Set(key, check, []Target{{IP: ip, Port: 80}})
		for i, step := range []struct {
			err  error
			want string
		}{
			{syscall.ECONNREFUSED, "Refused"}, {syscall.ECONNREFUSED, "Refused"},
			{syscall.ECONNRESET, "Refused"}, {syscall.ECONNREFUSED, "Refused"}, {syscall.ECONNRESET, "Refused"}, {nil, "Refused"},
			{syscall.ECONNRESET, "Refused"}, {syscall.ECONNRESET, "Refused"}, {syscall.ECONNRESET, "Reset"}, {syscall.ECONNREFUSED, "Reset"},
		} {
			if got := fails(step.err); got.State != "Unhealthy" || got.Reason != step.want {
				t.Errorf("step %d: %s for %q, want Unhealthy for %q", i, got.State, got.Reason, step.want)
			}
		}
	})
}

func TestCountsSurviveWhatDoesNotChangeTheQuestion(t *testing.T) {
	runSuite(t, 0, Options{}, func(s *suite) {
		s.Set(key("db"), standard, []Target{to(1)})
		s.advance(time.Second)
		s.fail(syscall.ECONNREFUSED, ip(1))
		s.advance(20 * time.Second) // Two failures.
		c := standard
		c.Timeout, c.JitterPercent, c.SuccessThreshold = ptr.To(common.Duration("1s")), 1, ptr.To[int32](1)
		other := to(2)
		authorized := to(1)
		authorized.Authorized = true
		s.since(&s.notified)
		s.Set(key("db"), c, []Target{other, to(3), authorized})
		s.advance(10 * time.Second)
		if got := states(s.Set(key("db"), c, []Target{to(1), to(3), other})); got != "UHH" {
			t.Errorf("%s, want UHH", got)
		}
	})
}

func TestAnotherQuestionIsAskedAtOnceAndItsFirstAnswerDecides(t *testing.T) {
	for name, change := range map[string]func(*Check, *Target){
		"member": func(c *Check, _ *Target) { *c = calling(common.GRPCAction{}, nil, nil) },
		"port":   func(_ *Check, t *Target) { t.Port = 5433 },
		"host":   func(_ *Check, t *Target) { t.Host = "db.example.com" },
	} {
		t.Run(name, func(t *testing.T) {
			runSuite(t, 0.5, Options{}, func(s *suite) {
				was, at := standard, to(1)
				if name == "host" {
					was = getting(common.HTTPGetAction{}, nil, nil) // TCP sends no name
				}
				s.Set(key("db"), was, []Target{at})
				s.advance(time.Second)
				s.fail(syscall.ECONNREFUSED, ip(1))
				is, there := was, at
				change(&is, &there)
				s.since(&s.probes)
				if got := s.Set(key("db"), is, []Target{there})[0]; got.State != networkingv1.AddressUnknown || !got.LastProbe.IsZero() {
					t.Errorf("before its first answer: %+v, want Unknown", got)
				}
				synctest.Wait()
				s.want("probes", &s.probes, fmt.Sprintf("1s 198.18.0.1:%d", there.Port))
				if got := s.Set(key("db"), is, []Target{there})[0].State; got != networkingv1.AddressUnhealthy {
					t.Errorf("after one failure %s, want Unhealthy", got)
				}
				s.fail(nil, ip(1))
				s.Set(key("db"), was, []Target{at})
				synctest.Wait()
				if got := s.Set(key("db"), was, []Target{at})[0].State; got != networkingv1.AddressHealthy {
					t.Errorf("after it was taken back %s, want Healthy", got)
				}
			})
		})
	}
}

func TestWhichChecksAskTheSame(t *testing.T) {
	base := getting(common.HTTPGetAction{Path: ptr.To("/x"), ExpectedStatuses: []common.StatusRange{{Start: 200, End: 299}}}, &common.CheckTLS{}, []byte("a"))
	for name, tc := range map[string]struct {
		change func(*Check)
		same   bool
	}{
		"nothing":         {func(*Check) {}, true},
		"equal contents":  {func(c *Check) { c.RootPEM = []byte("a") }, true},
		"pace":            {func(c *Check) { c.Interval, c.FailureThreshold = ptr.To(common.Duration("1h")), ptr.To[int32](9) }, true},
		"path":            {func(c *Check) { c.HTTPGet.Path = ptr.To("/y") }, false},
		"host":            {func(c *Check) { c.HTTPGet.HostHeader = ptr.To("y") }, false},
		"a header":        {func(c *Check) { c.HTTPGet.HTTPHeaders = []common.HTTPHeader{{Name: "X"}} }, false},
		"scheme":          {func(c *Check) { c.HTTPGet.Scheme = ptr.To(common.SchemeHTTP) }, false},
		"statuses":        {func(c *Check) { c.HTTPGet.ExpectedStatuses = nil }, false},
		"roots":           {func(c *Check) { c.RootPEM = []byte("b") }, false},
		"no TLS":          {func(c *Check) { c.TLS = nil }, false},
		"server name":     {func(c *Check) { c.TLS.ServerName = ptr.To("y") }, false},
		"verification":    {func(c *Check) { c.TLS.InsecureSkipVerify = ptr.To(true) }, false},
		"another member":  {func(c *Check) { c.HTTPGet, c.GRPC = nil, &common.GRPCAction{} }, false},
		"the port's name": {func(c *Check) { c.HTTPGet.Port = ptr.To(intstr.FromString("web")) }, true},
		"a Secret's name": {func(c *Check) { c.TLS.CASecretName = "other" }, true},
	} {
		changed := base
		changed.Check = *base.DeepCopy()
		tc.change(&changed)
		// What was made ready compares like what was given, or every Set would start afresh.
		if got := newCheckPlan(&base).sameRequest(&changed); got != tc.same {
			t.Errorf("%s: the same %t, want %t", name, got, tc.same)
		}
	}
}

func TestAResultThatCameAfterAChangeIsNotCounted(t *testing.T) {
	runSuite(t, 0, Options{}, func(s *suite) {
		s.hangs[ip(1)] = true
		at := to(1)
		s.Set(key("db"), standard, []Target{at})
		s.advance(time.Second)
		s.mu.Lock()
		s.hangs[ip(1)] = false
		s.mu.Unlock()
		at.Port = 5433
		s.Set(key("db"), standard, []Target{at})
		s.advance(2 * time.Second)
		s.want("probes", &s.probes, "0s 198.18.0.1:5432", "1s 198.18.0.1:5433")
		if got := s.Set(key("db"), standard, []Target{at}); states(got) != "H" {
			t.Errorf("%+v, want Healthy", got)
		}
		s.want("notified", &s.notified, "db")
	})
}

// The address does not fail in the time for which the process itself is stopped.
func TestATimeoutDuringAPauseOfTheProcessIsNotCounted(t *testing.T) {
	dials := make(chan int, 1)
	dials <- 0
	third := make(chan struct{})
	p := New(Options{Dial: func(ctx context.Context, _ egress.Query) (net.Conn, error) {
		n := <-dials + 1
		dials <- n
		switch n {
		case 2:
			if said, err := exec.Command("sh", "-c", "kill -STOP $PPID; sleep 2; kill -CONT $PPID").CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, said)
			}
			<-ctx.Done()
			return nil, ctx.Err()
		case 3:
			close(third)
		}
		here, there := net.Pipe()
		return here, there.Close()
	}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	key := types.NamespacedName{Namespace: "shop", Name: "one"}
	check := every("1s", 1, 1)
	targets := []Target{{IP: netip.MustParseAddr("192.0.2.1"), Port: 80}}
	p.Set(key, check, targets)
	<-third
	health := p.Set(key, check, targets)[0]
	if health.State != networkingv1.AddressHealthy || health.Falls != 0 {
		t.Errorf("%+v, for an address that never failed", health)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestATimeoutCountsUnlessMuchOfItWasAPauseOfTheProcess(t *testing.T) {
	for _, c := range []struct {
		result          outcome
		paused, timeout time.Duration
		want            outcome
	}{
		{timedOut, 0, 2 * time.Second, timedOut},
		{timedOut, 600 * time.Millisecond, 2 * time.Second, local},
		{timedOut, time.Minute, 2 * time.Second, local},
		{timedOut, 600 * time.Millisecond, time.Minute, timedOut},
		{timedOut, 16 * time.Second, time.Minute, local},
		{connected, time.Minute, 2 * time.Second, connected},
		{refused, time.Minute, 2 * time.Second, refused},
	} {
		if got := c.result.withPause(c.paused, c.timeout); got != c.want {
			t.Errorf("%s within %s, with a pause of %s: %s, want %s", c.result.reason(), c.timeout, c.paused, got.reason(), c.want.reason())
		}
	}
}

func TestWhatIsGoneIsNotProbed(t *testing.T) {
	runSuite(t, 0, Options{}, func(s *suite) {
		s.hangs[ip(3)] = true
		s.Set(key("db"), standard, []Target{to(1), to(2), to(3)})
		s.Set(key("web"), standard, []Target{to(4)})
		s.advance(time.Second)
		s.Set(key("db"), standard, []Target{to(1)})
		s.Forget(key("web"))
		s.Forget(key("never there"))
		s.since(&s.probes)
		s.advance(10 * time.Second)
		s.want("probes", &s.probes, "10s 198.18.0.1:5432")
		if got := s.queue.Len(); got != 1 {
			t.Errorf("%d targets are left, want 1", got)
		}
		if got := s.Set(key("db"), standard, nil); len(got) != 0 || s.queue.Len() != 0 || len(s.objects) != 0 {
			t.Errorf("with no targets: %v, %d targets and %d objects", got, s.queue.Len(), len(s.objects))
		}
	})
}

func TestAShorterIntervalTakesEffectAtOnce(t *testing.T) {
	runSuite(t, 0.5, Options{}, func(s *suite) {
		c := standard
		c.Interval = ptr.To(common.Duration("1h"))
		s.Set(key("db"), c, []Target{to(1)})
		s.advance(time.Second)
		s.since(&s.probes)
		s.Set(key("db"), standard, []Target{to(1)})
		s.advance(10 * time.Second)
		s.want("probes", &s.probes, "6s 198.18.0.1:5432")
		s.Set(key("db"), c, []Target{to(1)})
		s.advance(10 * time.Second)
		s.want("probes after it was made longer again", &s.probes, "16s 198.18.0.1:5432")
	})
}

func TestSRVTargetsOfOneAddressKeepApart(t *testing.T) {
	runSuite(t, 0, Options{}, func(s *suite) {
		one, two := seeded(1, networkingv1.AddressHealthy), seeded(1, networkingv1.AddressUnhealthy)
		one.Port, two.Port = 1000, 2000
		s.Set(key("db"), standard, []Target{one, two})
		if got := states(s.Set(key("db"), standard, []Target{two, one})); got != "UH" {
			t.Errorf("in the other order %s, want UH", got)
		}
		two.Port, two.Seed = 3000, nil
		if got := s.Set(key("db"), standard, []Target{one, two}); got[0].State != networkingv1.AddressHealthy || got[1].State != networkingv1.AddressUnknown {
			t.Errorf("with another port %s and %s, want Healthy and Unknown", got[0].State, got[1].State)
		}
	})
}

func TestAFaultOfOurOwnDoesNotCount(t *testing.T) {
	runSuite(t, 0, Options{}, func(s *suite) {
		s.Set(key("db"), standard, []Target{to(1)})
		s.advance(time.Second)
		s.fail(syscall.EMFILE, ip(1))
		s.advance(time.Hour)
		if got := s.Set(key("db"), standard, []Target{to(1)}); states(got) != "H" || got[0].Reason != networkingv1.ProbeConnected {
			t.Errorf("%+v, want Healthy and Connected", got)
		}
	})
}

func TestANamespaceThatHangsDelaysNoOther(t *testing.T) {
	runSuite(t, 0, Options{Workers: 8}, func(s *suite) {
		var all []Target
		for i := range 500 {
			all = append(all, to(1000+i))
			s.hangs[ip(1000+i)] = true
		}
		s.Set(types.NamespacedName{Namespace: "rogue", Name: "big"}, standard, all)
		s.Set(key("db"), standard, []Target{to(1)})
		s.advance(95 * time.Second)
		var mine []string
		for _, line := range s.since(&s.probes) {
			if strings.HasSuffix(line, " 198.18.0.1:5432") {
				mine = append(mine, strings.Fields(line)[0])
			}
		}
		if diff := cmp.Diff([]string{"0s", "10s", "20s", "30s", "40s", "50s", "1m0s", "1m10s", "1m20s", "1m30s"}, mine); diff != "" {
			t.Errorf("probes (-want +got):\n%s", diff)
		}
	})
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	runSuite(t, 0, Options{Registerer: registry, Workers: 1}, func(s *suite) {
		s.hangs[ip(1)] = true
		s.hangs[ip(2)] = true
		s.Set(key("db"), standard, []Target{to(1), to(2), to(3)})
		s.SetNetworkUnreachable(true)
		s.advance(9 * time.Second)
		got := map[string]float64{}
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				name := strings.TrimPrefix(family.GetName(), "fairlead_")
				for _, label := range metric.GetLabel() {
					if label.GetName() != "kind" {
						name += " " + label.GetValue()
					} else if label.GetValue() != "ExternalService" {
						t.Errorf("%s is of kind %s", family.GetName(), label.GetValue())
					}
				}
				value := metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
				if value != 0 {
					got[name] = value
				}
			}
		}
		want := map[string]float64{
			"probe_results_total Connected tcp": 1,
			"probe_results_total Timeout tcp":   2,
			"probe_duration_seconds tcp":        3,
			"probe_late_total":                  2,
			"probe_inconclusive":                1,
			"probe_targets":                     3,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
	})
}

func TestRunRefusesWhatCannotWork(t *testing.T) {
	if err := New(Options{}).Run(t.Context()); err == nil {
		t.Error("without Dial: no error")
	}
	registry := prometheus.NewRegistry()
	o := Options{Registerer: registry, Dial: (&network{}).dial}
	New(o)
	if err := New(o).Run(t.Context()); err == nil {
		t.Error("with metrics registered twice: no error")
	}
}
