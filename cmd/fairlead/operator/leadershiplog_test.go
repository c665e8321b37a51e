// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestEveryReconcileAndEveryTermIsNotedWithItsBeginAndEnd(t *testing.T) {
	var out bytes.Buffer
	w := newLeadershipLog("replica-1", &out, logr.Discard())
	now := time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
	w.now = func() time.Time { now = now.Add(time.Nanosecond); return now }
	broken := errors.New("broken")
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "db"}}
	inner := reconcile.Func(func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
		if r != request {
			t.Errorf("request %v", r)
		}
		return reconcile.Result{RequeueAfter: time.Second}, broken
	})
	w.write(leadershipEntry{Event: eventLead})
	result, err := w.wrap("ExternalService")(inner).Reconcile(context.Background(), request)
	if result.RequeueAfter != time.Second || !errors.Is(err, broken) {
		t.Errorf("%v, %v", result, err)
	}
	w.write(leadershipEntry{Event: eventUnlead})

	var got []leadershipEntry
	for lines := json.NewDecoder(&out); ; {
		var d leadershipEntry
		if err := lines.Decode(&d); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		got = append(got, d)
	}
	want := []leadershipEntry{
		{Replica: "replica-1", Event: "lead", At: "2026-01-02T03:04:05.000000679Z"},
		{Replica: "replica-1", Event: "begin", Kind: "ExternalService", Namespace: "shop", Name: "db", At: "2026-01-02T03:04:05.00000068Z"},
		{Replica: "replica-1", Event: "end", Kind: "ExternalService", Namespace: "shop", Name: "db", At: "2026-01-02T03:04:05.000000681Z"},
		{Replica: "replica-1", Event: "unlead", At: "2026-01-02T03:04:05.000000682Z"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWithoutAnybodyWhoWantsToKnowReconcilersAreCalledDirectly(t *testing.T) {
	if newLeadershipLog("replica-1", nil, logr.Discard()).wrap("ExternalService") != nil {
		t.Error("there is something in between")
	}
	var none *leadershipLog
	none.write(leadershipEntry{Event: eventLead})
}
