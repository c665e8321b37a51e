// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package delegatedauth

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
)

// reviewer reviews tokens: allowed may read /metrics, known may not, and no other is one.
type reviewer struct {
	filter *Filter
	clock  *clocktesting.FakePassiveClock
	logged *atomic.Int64

	tokens, rights atomic.Int64 // reviews
	fail           atomic.Bool
	hold           chan struct{} // a review ends when it is closed; nil: at once
	revoked        atomic.Bool   // allowed is no token any more
}

func newReviewer(t *testing.T) *reviewer {
	t.Helper()
	r := &reviewer{clock: clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0)), logged: &atomic.Int64{}}
	client := fake.NewClientset()
	client.PrependReactor("create", "tokenreviews", func(action ktesting.Action) (bool, runtime.Object, error) {
		r.tokens.Add(1)
		if r.hold != nil {
			<-r.hold
		}
		if r.fail.Load() {
			return true, nil, errors.New("tokenreviews is forbidden")
		}
		review := action.(ktesting.CreateAction).GetObject().(*authenticationv1.TokenReview).DeepCopy()
		switch token := review.Spec.Token; {
		case token == "allowed" && !r.revoked.Load(), token == "known":
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: token}}
		default:
			review.Status.Error = "invalid bearer token"
		}
		return true, review, nil
	})
	client.PrependReactor("create", "subjectaccessreviews", func(action ktesting.Action) (bool, runtime.Object, error) {
		r.rights.Add(1)
		review := action.(ktesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
		of := review.Spec.NonResourceAttributes
		review.Status.Allowed = review.Spec.User == "allowed" && of.Path == "/metrics" && of.Verb == "get"
		return true, review, nil
	})
	var err error
	r.filter, err = New(Options{Client: client, Clock: r.clock, Logger: funcr.New(func(string, string) { r.logged.Add(1) }, funcr.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// call sends a request from a source, and returns the code of the answer.
func (r *reviewer) call(method, path, token, source string) int {
	request := httptest.NewRequest(method, path, http.NoBody)
	request.RemoteAddr = source + ":1234"
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	r.filter.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })).ServeHTTP(w, request)
	return w.Code
}

func TestACallerIsServedAsTheAPIServerSays(t *testing.T) {
	r := newReviewer(t)
	for n, test := range []struct {
		method, path, token string
		want                int
	}{
		{"GET", "/metrics", "", 401}, {"GET", "/metrics", "forged", 401}, {"GET", "/metrics", "known", 403}, {"GET", "/metrics", "allowed", 200},
		{"GET", "/debug/pprof/heap", "allowed", 403}, {"POST", "/metrics", "allowed", 403}, {"PUT", "/metrics", "allowed", 405}, {"get", "/metrics", "allowed", 405},
	} {
		if code := r.call(test.method, test.path, test.token, fmt.Sprintf("192.0.2.%d", n)); code != test.want {
			t.Errorf("%+v: %d", test, code)
		}
	}
	if r.tokens.Load() != 5 || r.logged.Load() != 0 {
		t.Errorf("%d reviews, %d lines of log", r.tokens.Load(), r.logged.Load())
	}
}

// What is remembered costs no review, and is asked for again in time.
func TestADecisionIsRememberedForAWhile(t *testing.T) {
	for token, test := range map[string]struct {
		code int
		ttl  time.Duration
	}{"forged": {401, refusedFor}, "known": {403, refusedFor}, "allowed": {200, allowedFor}} {
		r := newReviewer(t)
		for range 100 {
			if code := r.call("GET", "/metrics", token, "192.0.2.1"); code != test.code {
				t.Fatalf("%s: %d", token, code)
			}
		}
		if r.tokens.Load() != 1 {
			t.Errorf("%s: %d reviews of one token", token, r.tokens.Load())
		}
		r.clock.SetTime(r.clock.Now().Add(test.ttl + time.Second))
		if r.call("GET", "/metrics", token, "192.0.2.1"); r.tokens.Load() != 2 {
			t.Errorf("%s: %d reviews after %s", token, r.tokens.Load(), test.ttl)
		}
	}
	r := newReviewer(t)
	r.call("GET", "/metrics", "allowed", "192.0.2.1")
	r.revoked.Store(true)
	r.clock.SetTime(r.clock.Now().Add(allowedFor + time.Second))
	if code := r.call("GET", "/metrics", "allowed", "192.0.2.1"); code != 401 {
		t.Errorf("a token that is none any more: %d", code)
	}
}

// A flood of new tokens costs a bounded number of reviews, and keeps out neither who was allowed before nor, as long as
// it is of one source, who comes from another one.
func TestAFloodOfTokensIsBounded(t *testing.T) {
	r := newReviewer(t)
	if code := r.call("GET", "/metrics", "allowed", "192.0.2.9"); code != 200 {
		t.Fatalf("before: %d", code)
	}
	codes := map[int]int{}
	flood := func(source string) {
		for n := range 2000 {
			codes[r.call("GET", "/metrics", fmt.Sprint(source, n), source)]++
		}
	}
	flood("192.0.2.1")
	if n := r.tokens.Load() - 1; n > sourceBurst || codes[401] != int(n) || codes[429] != 2000-int(n) {
		t.Errorf("one source: %d reviews, %v", n, codes)
	}
	if code := r.call("GET", "/metrics", "known", "192.0.2.2"); code != 403 {
		t.Errorf("a new caller of another source: %d", code)
	}
	for n := range 20 {
		flood(fmt.Sprintf("198.51.100.%d", n))
	}
	if n := r.tokens.Load() - 1; n > overallBurst {
		t.Errorf("all sources: %d reviews", n)
	}
	r.clock.SetTime(r.clock.Now().Add(allowedFor + time.Second))
	flood("192.0.2.1")
	for n := range 20 {
		flood(fmt.Sprintf("198.51.100.%d", n))
	}
	if code := r.call("GET", "/metrics", "allowed", "192.0.2.9"); code != 200 {
		t.Errorf("who was allowed before: %d", code)
	}
	if len(codes) != 2 || r.logged.Load() != 0 {
		t.Errorf("%v, %d lines of log", codes, r.logged.Load())
	}
}

// The same flood with tokens that are valid and lack the right, such as a tenant can request without end.
func TestMethodsAndPathsAreNoWayAroundTheBound(t *testing.T) {
	r := newReviewer(t)
	for n := range 2000 {
		r.call("GET", fmt.Sprint("/debug/pprof/", n), "known", "192.0.2.1")
		r.call(fmt.Sprint("M", n), "/metrics", "known", "192.0.2.1")
	}
	if n := r.rights.Load(); n > sourceBurst {
		t.Errorf("%d reviews of rights", n)
	}
}

func TestAReviewThatFailsIsNoFaultOfTheCallerAndIsLoggedOnce(t *testing.T) {
	r := newReviewer(t)
	r.fail.Store(true)
	for n := range 50 {
		if code := r.call("GET", "/metrics", "allowed", "192.0.2.1"); code != 503 && code != 429 {
			t.Errorf("call %d: %d", n, code)
		}
	}
	if r.logged.Load() != 1 {
		t.Errorf("%d lines of log", r.logged.Load())
	}
	r.fail.Store(false)
	r.clock.SetTime(r.clock.Now().Add(time.Second))
	if code := r.call("GET", "/metrics", "allowed", "192.0.2.1"); code != 200 {
		t.Errorf("once reviews work: %d", code)
	}
}

// While the API server is slow, few wait for it, and the others are told to come again.
func TestFewReviewsWaitForASlowAPIServer(t *testing.T) {
	r := newReviewer(t)
	r.hold = make(chan struct{})
	var waiting sync.WaitGroup
	var throttled atomic.Int64
	for n := range 50 {
		waiting.Go(func() {
			if r.call("GET", "/metrics", fmt.Sprint(n), fmt.Sprintf("192.0.2.%d", n)) == 429 {
				if throttled.Add(1) == 50-maxAtOnce {
					close(r.hold)
				}
			}
		})
	}
	waiting.Wait()
	if n := r.tokens.Load(); n != maxAtOnce {
		t.Errorf("%d reviews at once", n)
	}
}

// A token stands in no key, and none is logged.
func TestNoTokenIsKept(t *testing.T) {
	r := newReviewer(t)
	r.call("GET", "/metrics", "forged", "192.0.2.1")
	for _, key := range append(r.filter.allowed.Keys(), r.filter.refusals.Keys()...) {
		if strings.Contains(fmt.Sprintf("%s", key), "forged") {
			t.Error("a key holds the token")
		}
	}
}
