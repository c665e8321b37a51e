// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package panics

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

func count(t *testing.T, work string) float64 {
	t.Helper()
	var metric dto.Metric
	if err := total.WithLabelValues(work).(prometheus.Metric).Write(&metric); err != nil {
		t.Fatal(err)
	}
	return metric.GetCounter().GetValue()
}

func TestAPanicIsAnErrorThatIsCountedAndReleasesWhatIsDeferred(t *testing.T) {
	var mu sync.Mutex
	before := count(t, "test")
	err := Try("test", func() error {
		mu.Lock()
		defer mu.Unlock()
		panic("a defect") //nolint:forbidigo // what it tests
	})
	var found *Error
	if !errors.As(err, &found) || found.Work != "test" || found.Cause != "a defect" {
		t.Errorf("the error is %v", err)
	}
	if !mu.TryLock() {
		t.Error("the lock is held")
	}
	if got := count(t, "test") - before; got != 1 {
		t.Errorf("counted %v times", got)
	}
	Go("test", func() { panic(nil) }) //nolint:forbidigo,govet // a panic of its own since Go 1.21
	if got := count(t, "test") - before; got != 2 {
		t.Errorf("counted %v times", got)
	}
}

func TestWithoutAPanicTheErrorIsThatOfTheWork(t *testing.T) {
	want := errors.New("refused")
	if err := Try("test", func() error { return want }); !errors.Is(err, want) {
		t.Errorf("the error is %v", err)
	}
	if err := Try("test", func() error { return nil }); err != nil {
		t.Errorf("the error is %v", err)
	}
}

// An informer whose handler panics, as by an object that nothing foresaw, goes on with the next event.
func TestAPanicBelowClientGoIsContained(t *testing.T) {
	crash, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
	t.Cleanup(func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = crash, handlers })
	Contain()
	before := count(t, "client-go")
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "bad"}})
	factory := informers.NewSharedInformerFactory(client, 0)
	told := make(chan string, 10)
	if _, err := factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(object any) {
		name := object.(*corev1.Node).Name
		told <- name
		if name == "bad" {
			panic("a defect") //nolint:forbidigo // what it tests
		}
	}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	defer cancel()
	if got := <-told; got != "bad" {
		t.Fatalf("told of %q", got)
	}
	if _, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "good"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-told:
		if got != "good" {
			t.Errorf("told of %q", got)
		}
	case <-time.After(time.Minute):
		t.Error("no event is handled any more")
	}
	if got := count(t, "client-go") - before; got != 1 {
		t.Errorf("counted %v times", got)
	}
}
