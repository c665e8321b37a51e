// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package elect

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

// api is as much of an API server as one Lease needs. Watches are forbidden, so candidates poll.
type api struct {
	*httptest.Server

	mu       sync.Mutex
	away     bool
	refusal  *apierrors.StatusError // of every request; nil: none
	lease    *coordinationv1.Lease
	version  int
	renewed  time.Time // when the last write by a holder came in
	released func()    // called for a write that releases, before it is carried out
}

func newAPI(t *testing.T) *api {
	t.Helper()
	a := &api{}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	lease, err := a.answer(r)
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		status := err.Status()
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		w.WriteHeader(int(status.Code))
		_ = json.NewEncoder(w).Encode(status)
		return
	}
	lease.TypeMeta = metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}
	_ = json.NewEncoder(w).Encode(lease)
}

func (a *api) answer(r *http.Request) (*coordinationv1.Lease, *apierrors.StatusError) {
	kind := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	switch {
	case a.away:
		return nil, apierrors.NewServiceUnavailable("away")
	case a.refusal != nil:
		return nil, a.refusal
	case strings.Contains(r.URL.RawQuery, "watch="):
		return nil, apierrors.NewForbidden(kind, "turn", nil)
	case r.Method == http.MethodGet && a.lease == nil:
		return nil, apierrors.NewNotFound(kind, "turn")
	case r.Method == http.MethodGet:
		return a.lease.DeepCopy(), nil
	}
	var lease coordinationv1.Lease
	if err := json.NewDecoder(r.Body).Decode(&lease); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	switch {
	case r.Method == http.MethodPost && a.lease != nil:
		return nil, apierrors.NewAlreadyExists(kind, "turn")
	case r.Method == http.MethodPut && a.lease == nil:
		return nil, apierrors.NewNotFound(kind, "turn")
	case r.Method == http.MethodPut && a.lease.ResourceVersion != lease.ResourceVersion:
		return nil, apierrors.NewConflict(kind, "turn", nil)
	}
	if ptr.Deref(lease.Spec.HolderIdentity, "") != "" {
		a.renewed = time.Now()
	} else if a.released != nil {
		a.released()
	}
	a.storeLocked(&lease)
	return lease.DeepCopy(), nil
}

func (a *api) storeLocked(lease *coordinationv1.Lease) {
	a.version++
	lease.ResourceVersion = strconv.Itoa(a.version)
	a.lease = lease
}

// cut makes the server unavailable, and returns when the Lease was last renewed.
func (a *api) cut(away bool) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.away = away
	return a.renewed
}

// give makes another the holder.
func (a *api) give(holder string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "turn"}}
	if a.lease != nil {
		lease = a.lease.DeepCopy()
	}
	now := metav1.NowMicro()
	lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: ptr.To(int32(3600)), AcquireTime: &now, RenewTime: &now}
	a.storeLocked(lease)
}

// refuse has every request refused.
func (a *api) refuse(why *apierrors.StatusError) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refusal = why
}

// remove deletes the Lease.
func (a *api) remove() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lease = nil
}

func (a *api) holder() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lease == nil {
		return "none"
	}
	return ptr.Deref(a.lease.Spec.HolderIdentity, "")
}
