// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package freeze

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"pgregory.net/rapid"
)

// step is one of a history: of the ConfigMap, of the path to the API server, of the process, or of time.
type step string

const (
	declared step = "a freeze is declared"
	emptied  step = "the ConfigMap has no blackout"
	garbled  step = "the ConfigMap is invalid"
	removed  step = "the ConfigMap is deleted"

	refuses step = "reads are refused"
	foreign step = "reads get the page of a proxy for a 404"
	denies  step = "reads get a 404 of another cluster"
	deaf    step = "watches fail"
	sound   step = "the path is sound"

	restart step = "the process starts again"
	moment  step = "a moment passes"
	minute  step = "a minute passes"
	hours   step = "hours pass"
)

// world is a cluster in a bubble, and a Freeze that follows its ConfigMap.
type world struct {
	t       *testing.T
	client  *fake.Clientset
	reads   step // what becomes of them
	watches []*watch.RaceFreeFakeWatcher
	deaf    bool

	exists  bool
	data    string // blackouts of the ConfigMap
	version int
	denied  time.Duration
	known   bool // the process has read the freeze that is declared, or its watch has shown it
	freeze  *Freeze
	end     context.CancelFunc
	ended   chan error
	problem string
}

func (w *world) violates(format string, args ...any) {
	if w.problem == "" {
		w.problem = fmt.Sprintf(format, args...)
	}
}

func (w *world) get(clienttesting.Action) (bool, runtime.Object, error) {
	switch {
	case w.reads == refuses:
		return true, nil, errors.New("connection refused")
	case w.reads == foreign:
		return true, nil, apierrors.NewGenericServerResponse(404, "GET", corev1.Resource("configmaps"), "calendar", "<html>", 0, true)
	case w.reads == denies || !w.exists:
		return true, nil, apierrors.NewNotFound(corev1.Resource("configmaps"), "calendar")
	}
	return true, w.configMap(), nil
}

func (w *world) configMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "calendar", ResourceVersion: strconv.Itoa(w.version)}, Data: map[string]string{Key: w.data},
	}
}

func (w *world) watch(clienttesting.Action) (bool, watch.Interface, error) {
	if w.deaf {
		return true, nil, errors.New("connection refused")
	}
	events := watch.NewRaceFreeFake()
	w.watches = append(w.watches, events)
	if w.exists { // as of a watch without a resource version
		events.Add(w.configMap())
	}
	return true, events, nil
}

// start begins a process; it ends that before.
func (w *world) start() {
	w.stop()
	w.known = false
	w.client = fake.NewClientset()
	w.client.PrependReactor("get", "configmaps", w.get)
	w.client.PrependWatchReactor("configmaps", w.watch)
	var err error
	if w.freeze, err = New(Options{ConfigMaps: w.client.CoreV1().ConfigMaps("a"), Name: "calendar"}); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	w.end, w.ended = cancel, make(chan error, 1)
	go func() { w.ended <- w.freeze.Run(ctx) }()
}

func (w *world) stop() {
	if w.end != nil {
		w.end()
		if err := <-w.ended; err != nil {
			w.t.Error(err)
		}
	}
}

func (w *world) change(event func(*watch.RaceFreeFakeWatcher)) {
	for _, open := range w.watches {
		if !open.IsStopped() {
			event(open)
		}
	}
}

func (w *world) write(data string) {
	event := (*watch.RaceFreeFakeWatcher).Add
	if w.exists {
		event = (*watch.RaceFreeFakeWatcher).Modify
	}
	w.exists, w.data, w.version = true, data, w.version+1
	w.change(func(open *watch.RaceFreeFakeWatcher) { event(open, w.configMap()) })
}

func (w *world) take(s step) {
	before := w.freeze.State().Message(time.Now())
	switch s {
	case declared:
		w.write("[{name: freeze, start: 1999-01-01T00:00:00Z, end: 2100-01-01T00:00:00Z}]")
		w.known = w.known || slices.ContainsFunc(w.watches, func(open *watch.RaceFreeFakeWatcher) bool { return !open.IsStopped() })
	case emptied:
		w.write("")
	case garbled:
		w.write("freeze!")
	case removed:
		w.exists = false
		w.change(func(open *watch.RaceFreeFakeWatcher) { open.Delete(w.configMap()) })
	case refuses, foreign, denies:
		w.reads = s
	case deaf:
		w.deaf = true
		w.change(func(open *watch.RaceFreeFakeWatcher) { open.Stop() })
	case sound:
		w.reads, w.deaf = sound, false
	case restart:
		w.start()
	case moment:
		<-time.After(time.Second)
	case minute:
		<-time.After(time.Minute)
	case hours:
		<-time.After(3 * time.Hour)
	}
	synctest.Wait()
	w.check(s, before)
}

// check holds the laws after a step.
func (w *world) check(s step, before string) {
	now := w.freeze.State()
	holds := now.Message(time.Now()) != ""
	frozen := w.exists && strings.HasPrefix(w.data, "[")
	if w.denied += map[step]time.Duration{moment: time.Second, minute: time.Minute, hours: 3 * time.Hour}[s]; w.reads != denies || !w.deaf {
		w.denied = 0
	}
	w.known = w.known && w.denied < absenceTimeout // by neither a read nor a watch
	switch {                                       // what is unknown lifts nothing, and what was never read is closed
	case frozen && w.known && !holds:
		w.violates("%s: a freeze that was read does not hold", s)
	case s == restart && w.reads != sound && w.reads != denies && now.Unknown == "":
		w.violates("%s: %q is known without a read", s, before)
	}
	w.known = frozen && (w.known || strings.Contains(now.Message(time.Now()), "blackout freeze"))
}

// settles lets the path be sound, and time pass: what is known is then what is.
func (w *world) settles() {
	w.take(sound)
	<-time.After(absenceTimeout + 2*readInterval)
	synctest.Wait()
	message := w.freeze.State().Message(time.Now())
	switch {
	case w.exists && strings.HasPrefix(w.data, "[") && message == "":
		w.violates("a freeze is declared, and does not hold in the end")
	case (!w.exists || w.data == "") && message != "":
		w.violates("there is no freeze, and in the end: %s", message)
	}
	woken := 0 // the same twice is once
	w.freeze.Subscribe(func() { woken++ })
	w.change(func(open *watch.RaceFreeFakeWatcher) {
		if w.exists {
			open.Modify(w.configMap())
		}
	})
	<-time.After(readInterval)
	if synctest.Wait(); woken > 0 {
		w.violates("the same ConfigMap wakes")
	}
}

// play returns the law that a history breaks.
func play(t *testing.T, history []step) (problem string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, reads: sound}
		w.start()
		synctest.Wait()
		for _, s := range history {
			w.take(s)
		}
		w.settles()
		w.stop()
		problem = w.problem
	})
	return problem
}

// Laws 1, 3, 4 and 9 of a decider: what is unknown lifts nothing, forgetting is harmless, twice is once, and
// every wait has an end.
func TestNoHistoryLiftsAFreezeThatIsDeclared(t *testing.T) {
	steps := rapid.SliceOfN(rapid.SampledFrom([]step{
		declared, emptied, garbled, removed, refuses, foreign, denies, deaf, sound, restart, moment, minute, hours,
	}), 1, 20)
	rapid.Check(t, func(r *rapid.T) {
		history := steps.Draw(r, "history")
		if problem := play(t, history); problem != "" {
			r.Fatalf("%s, after %q", problem, history)
		}
	})
}

// The histories that the laws found, and the one that was seen first.
func TestHistoriesThatOnceLiftedAFreeze(t *testing.T) {
	for name, history := range map[string][]step{
		"a page of a proxy while the watch is started again":       {declared, foreign, deaf, moment, minute, sound},
		"a 404 of another cluster":                                 {declared, denies, declared, moment},
		"declared while reads are refused, and shown by the watch": {declared, emptied, refuses, declared},
		"declared while reads get a 404 of another cluster":        {denies, declared},
		"reads get a 404 of another cluster for hours":             {declared, denies, hours},
		"deleted and declared again while nothing is heard":        {declared, deaf, removed, minute, declared, minute, denies, moment},
	} {
		t.Run(name, func(t *testing.T) {
			if problem := play(t, history); problem != "" {
				t.Error(problem)
			}
		})
	}
}
