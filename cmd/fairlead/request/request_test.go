// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
)

// suite has a policy, and what was asked of its API server.
type suite struct {
	*testing.T
	client.WithWatch
	allowed []string // verbs
	patches []string
	said    []string
	watched func()
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{autorebootv1.AddToScheme, authorizationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	s := &suite{T: t, allowed: []string{"patch"}}
	s.WithWatch = fake.NewClientBuilder().WithScheme(scheme).WithObjects(policy(autorebootv1.RebootPolicyStatus{})).
		WithStatusSubresource(&autorebootv1.RebootPolicy{}).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			review, is := o.(*authorizationv1.SelfSubjectAccessReview)
			a := review.Spec.ResourceAttributes
			if !is || a.Resource != "rebootpolicies" || a.Name != "api" || a.Namespace != "shop" {
				t.Errorf("%+v", o)
			}
			review.Status.Allowed = slices.Contains(s.allowed, a.Verb)
			return nil
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			data, err := p.Data(o)
			s.patches = append(s.patches, string(data))
			return errors.Join(err, c.Patch(ctx, o, p, options...))
		},
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
			changes, err := c.Watch(ctx, list, options...)
			if s.watched != nil {
				s.watched()
			}
			return changes, err
		},
	}).Build()
	return s
}

func (s *suite) request() *Request {
	s.Helper()
	r, err := New(inspect.VerbRestart, inspect.Key{Kind: inspect.RebootPolicy, Namespace: "shop", Name: "api"}, time.Now())
	if err != nil {
		s.Fatal(err)
	}
	r.Say = func(text string) { s.said = append(s.said, text) }
	return r
}

// stored is the policy.
func (s *suite) stored() *autorebootv1.RebootPolicy {
	s.Helper()
	found := &autorebootv1.RebootPolicy{}
	if err := s.Get(s.Context(), client.ObjectKey{Namespace: "shop", Name: "api"}, found); err != nil {
		s.Fatal(err)
	}
	return found
}

func TestARequestPatchesItsAnnotationAlone(t *testing.T) {
	s := newSuite(t)
	r := s.request()
	if err := r.Make(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{autorebootv1.RestartNowAnnotation: r.Token}}})
	if err != nil || len(s.patches) != 1 || s.patches[0] != string(want) {
		t.Errorf("%q, %v", s.patches, err)
	}
	if got := s.stored().Annotations[autorebootv1.RestartNowAnnotation]; got != string(r.Token) {
		t.Errorf("the annotation is %q", got)
	}
	if len(s.said) != 2 || !strings.Contains(s.said[0], "restarts each target once") {
		t.Errorf("%q", s.said)
	}
}

func TestARequestThatMayNotBeMadeIsNotMade(t *testing.T) {
	s := newSuite(t)
	s.allowed = nil
	err := s.request().Make(t.Context(), s)
	if refusal := Refusal(""); !errors.As(err, &refusal) || !strings.Contains(err.Error(), "grant patch on rebootpolicies.autoreboot.fairlead.dev in namespace shop") || len(s.patches) > 0 {
		t.Error(err, s.patches)
	}
}

func TestADryRunStoresNothing(t *testing.T) {
	s := newSuite(t)
	r := s.request()
	r.DryRun = DryRunClient
	if err := r.Make(t.Context(), s); err != nil || len(s.patches) > 0 || r.Object().GetAnnotations()[r.Annotation] != string(r.Token) {
		t.Error(err, s.patches, r.Object())
	}
	r.DryRun = DryRunServer
	if err := r.Make(t.Context(), s); err != nil || len(s.patches) != 1 || len(s.stored().Annotations) > 0 {
		t.Error(err, s.patches)
	}
}

func TestWhatWouldDoNothingIsNotRequested(t *testing.T) {
	s := newSuite(t)
	r, err := New(inspect.VerbRetry, s.request().Key, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	r.Say = func(string) {}
	if err := r.Make(t.Context(), s); err == nil || !strings.Contains(err.Error(), "has not halted") || len(s.patches) > 0 {
		t.Error(err)
	}
}

func TestAnApprovalIsOfWhatWaitsAndTakesTheRightToApprove(t *testing.T) {
	s := newSuite(t)
	approve := func(id common.Token) error {
		r, err := New(inspect.VerbApprove, s.request().Key, time.Now())
		if err != nil {
			return err
		}
		r.Token = id
		r.Say = func(text string) { s.said = append(s.said, text) }
		return r.Make(t.Context(), s)
	}
	refused := func(id common.Token, text string) {
		t.Helper()
		if refusal := Refusal(""); !errors.As(approve(id), &refusal) || !strings.Contains(string(refusal), text) || len(s.patches) > 0 {
			t.Errorf("approval of %q: %q, %q", id, refusal, s.patches)
		}
	}
	refused("", "no restart of it waits for an approval")
	object := s.stored()
	object.Status = waitsFor("a1", "3f2a")
	if err := s.Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	refused("1b2c", "1b2c is not what waits now")
	refused("", "grant approve on rebootpolicies.autoreboot.fairlead.dev")
	s.allowed = append(s.allowed, "approve")
	for _, id := range []common.Token{"3f2a", ""} {
		if err := approve(id); err != nil || s.stored().Annotations[autorebootv1.ApproveAnnotation] != "3f2a" {
			t.Errorf("approval of %q: %v, %q", id, err, s.stored().Annotations)
		}
	}
	if !slices.ContainsFunc(s.said, func(text string) bool { return strings.Contains(text, "the restart of Deployment api for config") }) {
		t.Errorf("%q", s.said)
	}
}

func TestWaitFollowsTheObjectUntilTheVerdict(t *testing.T) {
	s := newSuite(t)
	r := s.request()
	if err := r.Make(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	s.watched = func() { // the operator acts once the watch has begun
		object := s.stored()
		object.Status.HandledRestartNow, object.Status.VerifiedRestartNow = r.Token, r.Token
		if err := s.Status().Update(t.Context(), object); err != nil {
			t.Error(err)
		}
	}
	if err := r.Wait(t.Context(), s); err != nil || !slices.Contains(s.said, "RebootPolicy shop/api: each target was restarted and verified, or had newer pods") {
		t.Error(err, s.said)
	}
}

func TestWaitEndsWhenItsTimeIsOver(t *testing.T) {
	s := newSuite(t)
	r := s.request()
	if err := r.Make(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, errors.New("not over within 10ms"))
	defer cancel()
	if err := r.Wait(ctx, s); err == nil || !strings.Contains(err.Error(), "not over within 10ms") || !strings.Contains(err.Error(), "so far: the operator has not handled it yet") {
		t.Error(err)
	}
}
