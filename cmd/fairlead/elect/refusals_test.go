// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package elect

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"
)

func TestTheActionFollowsTheTimeSinceTheLastRenewal(t *testing.T) {
	times := request{TerminateAt: 110 * time.Second, KillAt: 113 * time.Second}
	for _, test := range []struct {
		times request
		at    time.Duration
		want  action
		wait  time.Duration
	}{
		{request{}, time.Nanosecond, kill, forever}, // before any renewal
		{times, 100 * time.Second, keepRunning, 10 * time.Second},
		{times, 110*time.Second - 1, keepRunning, 1},
		{times, 110 * time.Second, terminate, 3 * time.Second},
		{times, 113*time.Second - 1, terminate, 1},
		{times, 113 * time.Second, kill, forever},
		{times, time.Hour, kill, forever},
	} {
		if got, wait := test.times.due(test.at); got != test.want || wait != test.wait {
			t.Errorf("at %s: %v, nothing for %s; want %v, %s", test.at, got, wait, test.want, test.wait)
		}
	}
}

func TestARenewalCountsFromWhenItWasSentAndOnlyIfItSucceeds(t *testing.T) {
	r := &Runner{options: Options{Identity: "a", RenewDeadline: 10 * time.Second, Grace: 3 * time.Second}, refusals: refusals{}}
	lease := func(holder string) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To(holder)}}
	}
	for _, request := range []struct {
		what, verb string
		sent       time.Duration
		lease      *coordinationv1.Lease
		err        error
		want       time.Duration // KillAt
	}{
		{"held by another", "get", 90 * time.Second, lease("b"), nil, 0},
		{"there is none", "get", 95 * time.Second, nil, nil, 0},
		{"taken", "create", 100 * time.Second, lease("a"), nil, 113 * time.Second},
		{"renewed", "update", 104 * time.Second, lease("a"), nil, 117 * time.Second},
		{"not renewed", "update", 108 * time.Second, nil, errors.New("no answer"), 117 * time.Second},
		{"read", "get", 109 * time.Second, lease("a"), nil, 117 * time.Second},
		{"released", "update", 112 * time.Second, lease(""), nil, 117 * time.Second},
	} {
		r.record(request.verb, request.sent, request.lease, request.err)
		if got := r.times; got.KillAt != request.want || got.TerminateAt != max(0, request.want-r.options.Grace) {
			t.Errorf("%s: the times are %+v, want %s", request.what, got, request.want)
		}
	}
}

func TestDurationsUnderWhichTheCommandCouldOutliveTheLeaseAreRefused(t *testing.T) {
	for _, test := range []struct {
		lease, renew, grace time.Duration
		want                string
	}{
		{15 * time.Second, 10 * time.Second, 4 * time.Second, ""},
		{15 * time.Second, 10 * time.Second, 0, ""},
		{15 * time.Second, 10 * time.Second, 4*time.Second + 1, "grace of at most 4s"},
		{15 * time.Second, 14500 * time.Millisecond, 0, "margin"},
		{15 * time.Second, 10 * time.Second, -1, "below 0"},
		{15 * time.Second, 15 * time.Second, 0, "renew deadline"},
	} {
		o := Options{
			Leases: &coordinationv1client.CoordinationV1Client{}, Namespace: "default", Name: "turn", Identity: "a", Command: []string{"true"},
			LeaseDuration: test.lease, RenewDeadline: test.renew, RetryPeriod: time.Second, Grace: test.grace,
		}
		_, err := New(o)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%+v: error %v", test, err)
		}
	}
}

var leases = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

func TestAWaitEndsOnWhatOnlyAPersonCanChange(t *testing.T) {
	forbidden := apierrors.NewForbidden(leases, "turn", errors.New("no role"))
	untrusted := &url.Error{Op: "Get", URL: "https://host", Err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}
	for name, test := range map[string]struct {
		err   error
		after time.Duration // the wait ends; 0: never
	}{
		"an invalid Lease":          {apierrors.NewInvalid(schema.GroupKind{Kind: "Lease"}, "turn", nil), 1},
		"a missing namespace":       {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "el"), refusalTimeout},
		"no rights":                 {forbidden, refusalTimeout},
		"no credentials":            {apierrors.NewUnauthorized("who are you"), refusalTimeout},
		"an unknown authority":      {untrusted, refusalTimeout},
		"a Lease that was deleted":  {apierrors.NewNotFound(leases, "turn"), 0},
		"an API server that is off": {apierrors.NewServiceUnavailable("away"), 0},
		"no connection":             {errors.New("connection refused"), 0},
		"another one was faster":    {apierrors.NewConflict(leases, "turn", nil), 0},
	} {
		t.Run(name, func(t *testing.T) {
			now, ended := 5*time.Hour, time.Duration(0)
			r := refusals{}
			began := now
			for ; ended == 0 && now < began+2*time.Minute; now += time.Second {
				if r.record("create", now, test.err) != nil {
					ended = max(now-began, 1)
				}
			}
			if ended != test.after {
				t.Errorf("ended after %s, want %s", ended, test.after)
			}
		})
	}
}

func TestAWaitGoesOnWhereARequestHasSucceededOrTheRefusalEnds(t *testing.T) {
	now := time.Hour
	r := refusals{}
	record := func(verb string, err error) {
		t.Helper()
		if ended := r.record(verb, now, err); ended != nil {
			t.Error(ended)
		}
	}
	refused := apierrors.NewForbidden(leases, "turn", errors.New("no role"))
	record("update", nil)
	for range 100 {
		record("update", refused)
		now += time.Second
	}
	for range 10 { // the refusals of a short while, each time
		record("get", refused)
		now += refusalTimeout - 1
		record("get", errors.New("connection refused"))
	}
}

func TestNoCandidateStandsForALeaseThatCannotExist(t *testing.T) {
	for _, names := range [][2]string{{"el", "Bad Name"}, {"El", "turn"}, {"a.b", "turn"}, {"el", strings.Repeat("x", 254)}} {
		_, err := New(Options{Namespace: names[0], Name: names[1], Identity: "a", Command: []string{"true"}})
		if err == nil || Code(err) != CodeFailed || !strings.Contains(err.Error(), "of the Lease") {
			t.Errorf("%q: %v", names, err)
		}
	}
}

func TestACandidateThatIsRefusedForGoodEndsWith125AndTheReason(t *testing.T) {
	a := newAPI(t)
	a.refuse(apierrors.NewInvalid(schema.GroupKind{Kind: "Lease"}, "turn", nil))
	c := startCandidate(t, a, "--", "echo", "runs")
	c.exits(CodeFailed)
	if logs := c.logs.String(); !strings.Contains(logs, "default/turn") || !strings.Contains(logs, "correct the flags") || c.out.String() != "" {
		t.Errorf("it ran: %q, and says:\n%s", c.out, logs)
	}
}

// Each command has a token that is larger than those of all before, also where the Lease was deleted.
func TestEachCommandHasALargerFencingToken(t *testing.T) {
	a := newAPI(t)
	var last uint64
	for _, id := range []string{"a", "b", "a"} {
		c := startCandidate(t, a, "-id="+id, "--", "sh", "-c", `echo "$FAIRLEAD_FENCING_TOKEN $FAIRLEAD_LEASE_TRANSITIONS $FAIRLEAD_LEASE_HOLDER $FAIRLEAD_LEASE_NAMESPACE/$FAIRLEAD_LEASE_NAME $HOME"`)
		c.exits(0)
		var token uint64
		fields := strings.Fields(c.out.String())
		if len(fields) > 1 {
			token, _ = strconv.ParseUint(fields[0], 10, 64)
		}
		if want := fmt.Sprintf("%s default/turn", id); token <= last || !strings.Contains(c.out.String(), want) {
			t.Errorf("%q after the token %d, want %q", c.out, last, want)
		}
		last = token
		a.remove()
	}
}
