// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	ktesting "k8s.io/client-go/testing"
)

const (
	ann = "ann"
	eve = "eve"
)

func userOf(name string) authenticationv1.UserInfo {
	return authenticationv1.UserInfo{Username: name, UID: "7", Groups: []string{"staff"}, Extra: map[string]authenticationv1.ExtraValue{"scope": {"all"}}}
}

// publishing are two rights.
func publishing(namespace string) []authorizationv1.ResourceAttributes {
	return []authorizationv1.ResourceAttributes{
		{Namespace: namespace, Verb: "create", Version: "v1", Resource: "services"},
		{Namespace: namespace, Verb: "create", Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
	}
}

// answering makes a Reviewer whose API server answers as status says, and the questions it got.
func answering(o ReviewerOptions, status func() (authorizationv1.SubjectAccessReviewStatus, error)) (Reviewer, *[]authorizationv1.SubjectAccessReviewSpec) {
	var asked []authorizationv1.SubjectAccessReviewSpec
	client := fake.NewClientset()
	client.PrependReactor("create", "subjectaccessreviews", func(action ktesting.Action) (bool, runtime.Object, error) {
		review := action.(ktesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview)
		asked = append(asked, review.Spec)
		answer, err := status()
		return true, &authorizationv1.SubjectAccessReview{Status: answer}, err
	})
	o.Client = client
	return NewReviewer(o), &asked
}

func TestAReviewIsAboutTheWholeUser(t *testing.T) {
	r, asked := answering(ReviewerOptions{}, func() (authorizationv1.SubjectAccessReviewStatus, error) {
		return authorizationv1.SubjectAccessReviewStatus{Allowed: true}, nil
	})
	what := publishing("shop")[1]
	if allowed, err := r.Allowed(t.Context(), userOf(ann), what); !allowed || err != nil {
		t.Fatalf("%t, %v", allowed, err)
	}
	want := []authorizationv1.SubjectAccessReviewSpec{{
		ResourceAttributes: &what, User: "ann", UID: "7", Groups: []string{"staff"},
		Extra: map[string]authorizationv1.ExtraValue{"scope": {"all"}},
	}}
	if diff := cmp.Diff(want, *asked); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestALocalReviewIsCreatedInTheNamespaceOfTheRight(t *testing.T) {
	client := fake.NewClientset()
	var asked []*authorizationv1.LocalSubjectAccessReview
	client.PrependReactor("create", "localsubjectaccessreviews", func(action ktesting.Action) (bool, runtime.Object, error) {
		review := action.(ktesting.CreateAction).GetObject().(*authorizationv1.LocalSubjectAccessReview)
		if asked = append(asked, review); action.GetNamespace() != "shop" {
			return true, nil, errors.New("forbidden")
		}
		return true, &authorizationv1.LocalSubjectAccessReview{Status: authorizationv1.SubjectAccessReviewStatus{Allowed: review.Spec.User == ann}}, nil
	})
	r := NewReviewer(ReviewerOptions{Client: client, Local: true})
	for user, want := range map[string]bool{ann: true, eve: false} {
		if allowed, err := r.Allowed(t.Context(), userOf(user), publishing("shop")[0]); allowed != want || err != nil {
			t.Errorf("%s: %t, %v", user, allowed, err)
		}
	}
	if allowed, err := r.Allowed(t.Context(), userOf(ann), publishing("bank")[0]); allowed || err == nil {
		t.Errorf("elsewhere: %t, %v", allowed, err)
	}
	if len(asked) != 3 || asked[0].Namespace != "shop" || asked[0].Spec.ResourceAttributes.Resource != "services" || len(asked[0].Spec.Groups) != 1 {
		t.Errorf("asked %+v", asked)
	}
	if n := len(client.Actions()); n != 3 {
		t.Errorf("%d requests: %v", n, client.Actions())
	}
}

func TestOnlyAClearYesIsAPermission(t *testing.T) {
	for name, test := range map[string]struct {
		status authorizationv1.SubjectAccessReviewStatus
		err    error
		allow  bool
		fail   string
	}{
		"yes":                  {authorizationv1.SubjectAccessReviewStatus{Allowed: true}, nil, true, ""},
		"yes, with an error":   {authorizationv1.SubjectAccessReviewStatus{Allowed: true, EvaluationError: "a role is missing"}, nil, true, ""},
		"no":                   {authorizationv1.SubjectAccessReviewStatus{}, nil, false, ""},
		"denied":               {authorizationv1.SubjectAccessReviewStatus{Denied: true, EvaluationError: "x"}, nil, false, ""},
		"denied and allowed":   {authorizationv1.SubjectAccessReviewStatus{Denied: true, Allowed: true}, nil, false, ""},
		"not to be found out":  {authorizationv1.SubjectAccessReviewStatus{EvaluationError: "authorizer is down"}, nil, false, "authorizer is down"},
		"the request fails":    {authorizationv1.SubjectAccessReviewStatus{}, errors.New("no route to host"), false, "no route to host"},
		"fails with an answer": {authorizationv1.SubjectAccessReviewStatus{Allowed: true}, errors.New("no route to host"), false, "no route to host"},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := answering(ReviewerOptions{}, func() (authorizationv1.SubjectAccessReviewStatus, error) { return test.status, test.err })
			allowed, err := r.Allowed(t.Context(), userOf(ann), publishing("shop")[0])
			if allowed != test.allow || (err == nil) != (test.fail == "") || err != nil && !strings.Contains(err.Error(), test.fail) {
				t.Errorf("%t, %v", allowed, err)
			}
		})
	}
}

func TestPermissionsAreRememberedForAWhileAndRefusalsNever(t *testing.T) {
	now := time.Unix(1000, 0)
	answer := true
	r, asked := answering(ReviewerOptions{Now: func() time.Time { return now }}, func() (authorizationv1.SubjectAccessReviewStatus, error) {
		return authorizationv1.SubjectAccessReviewStatus{Allowed: answer}, nil
	})
	ask := func(user string, what authorizationv1.ResourceAttributes, want bool, total int) {
		t.Helper()
		if got, err := r.Allowed(t.Context(), userOf(user), what); got != want || err != nil || len(*asked) != total {
			t.Errorf("%t, %v after %d questions, want %t after %d", got, err, len(*asked), want, total)
		}
	}
	one, other := publishing("shop")[0], publishing("shop")[1]
	ask(ann, one, true, 1)
	answer = false
	ask(ann, one, true, 1)
	ask(ann, other, false, 2) // another question
	ask("bea", one, false, 3) // another user
	ask(ann, publishing("dev")[0], false, 4)
	now = now.Add(10*time.Second - 1)
	ask(ann, one, true, 4)
	now = now.Add(1)
	ask(ann, one, false, 5)
	ask(ann, one, false, 6)
	answer = true
	ask(ann, one, true, 7)
}

func TestMemoryOfPermissionsIsBounded(t *testing.T) {
	now := time.Unix(1000, 0)
	made, asked := answering(ReviewerOptions{Most: 3, Now: func() time.Time { return now }}, func() (authorizationv1.SubjectAccessReviewStatus, error) {
		return authorizationv1.SubjectAccessReviewStatus{Allowed: true}, nil
	})
	r := made.(*reviewer)
	for i, namespace := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		if i == 2 {
			now = now.Add(11 * time.Second) // a and b expire
		}
		if _, err := r.Allowed(t.Context(), userOf(ann), publishing(namespace)[0]); err != nil || len(r.allowed) > 3 {
			t.Fatalf("%d remembered, %v", len(r.allowed), err)
		}
	}
	if len(*asked) != 7 {
		t.Errorf("asked %d times", len(*asked))
	}
}

func TestAReviewEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r := NewReviewer(ReviewerOptions{Client: silent{}})
		allowed, err := r.Allowed(t.Context(), userOf(ann), publishing("shop")[0])
		if allowed || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 2*time.Second {
			t.Errorf("%t, %v after %s", allowed, err, time.Since(start))
		}
	})
}

// silent is a client of an API server that does not answer.
type silent struct {
	kubernetes.Interface
	authorizationclient.AuthorizationV1Interface
	authorizationclient.SubjectAccessReviewInterface
}

func (s silent) AuthorizationV1() authorizationclient.AuthorizationV1Interface { return s }

func (s silent) RESTClient() rest.Interface { return nil }

func (s silent) SubjectAccessReviews() authorizationclient.SubjectAccessReviewInterface { return s }

func (s silent) Create(ctx context.Context, _ *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// The one request that finds out whether the API server answers again may not be the last one.
func TestAPanicWhileItIsSilentLeavesTheNextRequestToAsk(t *testing.T) {
	now := time.Now()
	calls := 0
	r, _ := answering(ReviewerOptions{Now: func() time.Time { return now }}, func() (authorizationv1.SubjectAccessReviewStatus, error) {
		switch calls++; calls {
		case 1:
			return authorizationv1.SubjectAccessReviewStatus{}, errors.New("no route to host")
		case 2:
			panic("a defect") //nolint:forbidigo // what the test is about
		}
		return authorizationv1.SubjectAccessReviewStatus{Allowed: true}, nil
	})
	for range 2 {
		if allowed, err := tryAllowed(t.Context(), r, userOf(ann), publishing("shop")[0]); allowed || err == nil {
			t.Fatalf("%t, %v", allowed, err)
		}
		now = now.Add(openFor)
	}
	if allowed, err := tryAllowed(t.Context(), r, userOf(ann), publishing("shop")[0]); !allowed || err != nil {
		t.Errorf("%t, %v", allowed, err)
	}
	if calls != 3 {
		t.Errorf("the API server was asked %d times", calls)
	}
}

// slow is a client of an API server that takes a second for each answer, which is a refusal.
type slow struct {
	silent
	answers *int
}

func (s slow) AuthorizationV1() authorizationclient.AuthorizationV1Interface { return s }

func (s slow) SubjectAccessReviews() authorizationclient.SubjectAccessReviewInterface { return s }

func (s slow) Create(ctx context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	select {
	case <-time.After(time.Second):
		*s.answers++
		return review, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestAnEqualQuestionWaitsForTheAnswerThatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answers int
		r := NewReviewer(ReviewerOptions{Client: slow{answers: &answers}})
		abandoned, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := r.Allowed(abandoned, userOf(ann), publishing("shop")[0])
			ended <- err
		}()
		synctest.Wait()
		results := make(chan error, 20)
		for range 20 {
			go func() {
				allowed, err := r.Allowed(t.Context(), userOf(ann), publishing("shop")[0])
				if allowed {
					err = errors.New("allowed")
				}
				results <- err
			}()
		}
		synctest.Wait()
		cancel() // the first to ask ends, and the others still get their answer
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the request that was abandoned: %v", err)
		}
		for range 20 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if answers != 1 {
			t.Errorf("20 equal questions were asked %d times", answers)
		}
		if _, err := r.Allowed(t.Context(), userOf(ann), publishing("shop")[0]); err != nil || answers != 2 {
			t.Errorf("%v after %d answers: a refusal was remembered", err, answers)
		}
		if _, err := r.Allowed(t.Context(), userOf(eve), publishing("shop")[0]); err != nil || answers != 3 {
			t.Errorf("%v after %d answers: a refusal was shared with another user", err, answers)
		}
	})
}

// One user's request that ends early is no sign that the API server is silent, and shuts no other user out.
func TestARequestThatEndsEarlyKeepsNoOtherFromAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answers int
		r := NewReviewer(ReviewerOptions{Client: slow{answers: &answers}})
		short, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if _, err := r.Allowed(short, userOf(eve), publishing("shop")[0]); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if _, err := r.Allowed(t.Context(), userOf(ann), publishing("shop")[0]); err != nil {
			t.Error(err)
		}
	})
}
