// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var leases = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

func TestAWaitEndsOnWhatOnlyAPersonCanChange(t *testing.T) {
	forbidden := apierrors.NewForbidden(leases, "turn", errors.New("no role"))
	untrusted := &url.Error{Op: "Get", URL: "https://host", Err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}
	for name, test := range map[string]struct {
		err   error
		after time.Duration // the wait ends; 0: never
	}{
		"an invalid Lease":          {apierrors.NewInvalid(schema.GroupKind{Kind: "Lease"}, "turn", nil), 1},
		"a missing namespace":       {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "el"), refusalPatience},
		"no rights":                 {forbidden, refusalPatience},
		"no credentials":            {apierrors.NewUnauthorized("who are you"), refusalPatience},
		"an unknown authority":      {untrusted, refusalPatience},
		"a Lease that was deleted":  {apierrors.NewNotFound(leases, "turn"), 0},
		"an API server that is off": {apierrors.NewServiceUnavailable("away"), 0},
		"no connection":             {errors.New("connection refused"), 0},
		"another one was faster":    {apierrors.NewConflict(leases, "turn", nil), 0},
	} {
		t.Run(name, func(t *testing.T) {
			now, ended := 5*time.Hour, time.Duration(0)
			r := newRefusals("el/turn", func() time.Duration { return now })
			began := now
			r.end = func() { ended = max(now-began, 1) }
			for range 120 {
				r.note("create", test.err)
				now += time.Second
			}
			if ended != test.after || (r.reason() != nil) != (test.after > 0) {
				t.Errorf("ended after %s, want %s: %v", ended, test.after, r.reason())
			}
		})
	}
}

func TestAWaitGoesOnWhereARequestHasSucceededOrTheRefusalEnds(t *testing.T) {
	now := time.Hour
	r := newRefusals("el/turn", func() time.Duration { return now })
	refused := apierrors.NewForbidden(leases, "turn", errors.New("no role"))
	r.note("update", nil)
	for range 100 {
		r.note("update", refused)
		now += time.Second
	}
	for range 10 { // the refusals of a short while, each time
		r.note("get", refused)
		now += refusalPatience - 1
		r.note("get", errors.New("connection refused"))
	}
	if err := r.reason(); err != nil {
		t.Error(err)
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
	c := stand(t, a, "--", "echo", "runs")
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
		c := stand(t, a, "-id="+id, "--", "sh", "-c", `echo "$FAIRLEAD_FENCING_TOKEN $FAIRLEAD_LEASE_TRANSITIONS $FAIRLEAD_LEASE_HOLDER $FAIRLEAD_LEASE_NAMESPACE/$FAIRLEAD_LEASE_NAME $HOME"`)
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
