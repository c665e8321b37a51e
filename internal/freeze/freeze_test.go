// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package freeze

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/fairlead-dev/fairlead/internal/cron"
)

// The clock of a bubble begins at midnight UTC of 2000-01-01.
const (
	now   = `[{name: now, start: "2000-01-01T00:00:00Z", end: "2000-01-03T00:00:00Z"}]`
	holds = "the cluster's blackout now ends at 2000-01-03T00:00:00Z"
)

type bench struct {
	*testing.T
	*Freeze
	client   *fake.Clientset
	registry *prometheus.Registry
	failing  atomic.Bool // reads fail
	woken    int
	told     []string
}

// run calls use in a bubble, with a Freeze that runs there.
func run(t *testing.T, configured []cron.Blackout, use func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, client: fake.NewClientset(), registry: prometheus.NewRegistry()}
		b.client.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
			return b.failing.Load(), nil, errors.New("no route to host")
		})
		var err error
		b.Freeze, err = New(Options{
			Configured: configured, ConfigMaps: b.client.CoreV1().ConfigMaps("fairlead-system"), Name: "fairlead-calendar",
			OnUnreadable: func(cause string) { b.told = append(b.told, cause) }, Registerer: b.registry,
		})
		if err != nil {
			t.Fatal(err)
		}
		b.Subscribe(func() { b.woken++ })
		use(b)
	})
}

// start runs it until the test ends.
func (b *bench) start() {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Freeze.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	b.Wait(ctx)
	synctest.Wait()
}

func (b *bench) declare(data map[string]string) {
	b.Helper()
	declared := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "fairlead-system", Name: "fairlead-calendar"}, Data: data}
	all := b.client.CoreV1().ConfigMaps("fairlead-system")
	if _, err := all.Update(b.Context(), declared, metav1.UpdateOptions{}); err != nil {
		if _, err := all.Create(b.Context(), declared, metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	synctest.Wait()
}

// says fails the test unless the words of now begin like this, and the metrics fit them.
func (b *bench) says(want string, readable float64) {
	b.Helper()
	if got := b.State().Message(time.Now()); !strings.HasPrefix(got, want) || want == "" && got != "" {
		b.Errorf("%q, want %q", got, want)
	}
	families, err := b.registry.Gather()
	if err != nil {
		b.Fatal(err)
	}
	for _, family := range families {
		value := family.GetMetric()[0].GetGauge().GetValue()
		switch family.GetName() {
		case "fairlead_calendar_readable":
			if value != readable {
				b.Errorf("readable is %v, want %v", value, readable)
			}
		case "fairlead_calendar_blackout":
			if value != boolToFloat(want != "") {
				b.Errorf("blackout is %v while it says %q", value, want)
			}
		default:
			b.Errorf("unknown metric %s", family.GetName())
		}
	}
}

func TestAFreezeIsDeclaredAndTakenBack(t *testing.T) {
	run(t, nil, func(b *bench) {
		b.says("the cluster's blackouts are unknown: ConfigMap fairlead-calendar was not read yet", 0)
		b.start()
		b.says("", 1)
		b.declare(map[string]string{Key: now})
		b.says(holds, 1)
		woken := b.woken
		b.declare(map[string]string{Key: now})
		if b.woken != woken {
			b.Error("a write that changes nothing wakes")
		}
		if err := b.client.CoreV1().ConfigMaps("fairlead-system").Delete(b.Context(), "fairlead-calendar", metav1.DeleteOptions{}); err != nil {
			b.Fatal(err)
		}
		synctest.Wait()
		b.says("", 1)
		if b.woken != woken+1 || len(b.told) > 0 {
			b.Errorf("woken %d times more, told %q", b.woken-woken, b.told)
		}
	})
}

func TestWhatIsConfiguredHoldsBesideWhatIsDeclared(t *testing.T) {
	later := metav1.NewTime(time.Date(2000, 1, 3, 0, 0, 0, 0, time.UTC))
	end := metav1.NewTime(later.Add(time.Hour))
	run(t, []cron.Blackout{{Name: "configured", Start: &later, End: &end}}, func(b *bench) {
		b.start()
		b.says("", 1)
		b.declare(map[string]string{Key: now})
		b.says("the cluster's blackout now ends at 2000-01-03T01:00:00Z", 1)
	})
}

func TestWhatCannotBeReadLeavesTheLastBlackouts(t *testing.T) {
	for name, data := range map[string]map[string]string{
		"a misspelled key":      {"blackout": now},
		"a misspelled field":    {Key: `[{name: a, begin: "2000-01-01T00:00:00Z"}]`},
		"no list":               {Key: "freeze!"},
		"a blackout of nothing": {Key: "[{name: a}]"},
		"a double key":          {Key: `[{name: a, name: b}]`},
		"too much":              {Key: strings.Repeat(" ", maxBytes+1)},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(b *bench) {
				b.start()
				b.declare(map[string]string{Key: now})
				b.declare(data)
				b.says(holds, 0)
				if len(b.told) != 1 {
					b.Errorf("told %q", b.told)
				}
				<-time.After(time.Hour)
				if len(b.told) != 1 {
					b.Errorf("told again: %q", b.told)
				}
				b.declare(nil)
				b.says("", 1)
			})
		})
	}
}

func TestNothingIsOpenBeforeTheFirstRead(t *testing.T) {
	run(t, nil, func(b *bench) {
		b.failing.Store(true)
		b.start()
		b.says("the cluster's blackouts are unknown: ConfigMap fairlead-calendar cannot be read: no route to host", 0)
		b.failing.Store(false)
		<-time.After(retry)
		synctest.Wait()
		b.says("", 1)
	})
}

func TestAConfigMapThatCannotBeReadAnyMoreLeavesTheLastBlackouts(t *testing.T) {
	run(t, nil, func(b *bench) {
		b.declare(map[string]string{Key: now})
		b.start()
		b.failing.Store(true)
		b.declare(map[string]string{})
		b.says(holds, 0)
		b.failing.Store(false)
		<-time.After(retry)
		synctest.Wait()
		b.says("", 1)
	})
}

func TestWithoutAWatchItIsReadAgain(t *testing.T) {
	run(t, nil, func(b *bench) {
		b.client.PrependWatchReactor("configmaps", clienttesting.DefaultWatchReactor(nil, errors.New("forbidden")))
		b.start()
		b.declare(map[string]string{Key: now})
		<-time.After(2 * retry)
		synctest.Wait()
		b.says(holds, 1)
	})
}

func TestWithoutAConfigMapOnlyTheConfigurationCounts(t *testing.T) {
	f, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	f.Wait(t.Context())
	var none *Freeze
	none.Wait(t.Context())
	none.Subscribe(nil)
	if f.State().Message(time.Now()) != "" || none.State().Message(time.Now()) != "" {
		t.Error("a blackout from nowhere")
	}
}

func TestANameIsWhatIsWritten(t *testing.T) {
	for written, want := range map[string]string{"on": "on", "no": "no", "007": "007", `"on"`: "on", "1e3": "1e3", "year-end": "year-end"} {
		all, err := Blackouts(&corev1.ConfigMap{Data: map[string]string{Key: "- {name: " + written + `, start: "2000-01-01T00:00:00Z", end: "2000-01-03T00:00:00Z"}`}})
		if err != nil || len(all) != 1 || all[0].Name != want {
			t.Errorf("%s: %v, %v", written, all, err)
		}
	}
}
