// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/fairlead-dev/fairlead/internal/panics"
)

// deciding is a Reviewer that is a function.
type deciding func(ctx context.Context, what authorizationv1.ResourceAttributes) (bool, error)

func (d deciding) Allowed(ctx context.Context, _ authenticationv1.UserInfo, what authorizationv1.ResourceAttributes) (bool, error) {
	return d(ctx, what)
}

// secrets are the rights to get so many Secrets.
func secrets(n int) []authorizationv1.ResourceAttributes {
	var rights []authorizationv1.ResourceAttributes
	for i := range n {
		rights = append(rights, authorizationv1.ResourceAttributes{Namespace: "shop", Verb: "get", Version: "v1", Resource: "secrets", Name: fmt.Sprintf("s-%d", i)})
	}
	return rights
}

func TestAllThatIsLackingIsAnsweredInOrder(t *testing.T) {
	rights := secrets(30)
	lacking, err := review(t.Context(), deciding(func(_ context.Context, what authorizationv1.ResourceAttributes) (bool, error) {
		return what.Name != "" && !strings.HasSuffix(what.Name, "3"), nil
	}), authenticationv1.UserInfo{}, rights)
	if diff := cmp.Diff([]authorizationv1.ResourceAttributes{rights[3], rights[13], rights[23]}, lacking); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestTheSameIsAskedOnceAndNotTooMuchAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most, all atomic.Int32
		reviewer := deciding(func(_ context.Context, what authorizationv1.ResourceAttributes) (bool, error) {
			if what.Name == "" {
				return false, nil
			}
			most.Store(max(most.Load(), now.Add(1)))
			all.Add(1)
			<-time.After(10 * time.Millisecond)
			now.Add(-1)
			return true, nil
		})
		rights := secrets(90)
		lacking, err := review(t.Context(), reviewer, authenticationv1.UserInfo{}, append(rights, rights...))
		if err != nil || len(lacking) > 0 || all.Load() != 90 || most.Load() != reviewsAtOnce {
			t.Errorf("%v, %v, %d questions, %d at once", lacking, err, all.Load(), most.Load())
		}
	})
}

func TestSoManyRightsAreAskedAboutAndNoMore(t *testing.T) {
	var all atomic.Int32
	reviewer := deciding(func(_ context.Context, what authorizationv1.ResourceAttributes) (bool, error) {
		if what.Name == "" {
			return false, nil
		}
		all.Add(1)
		return true, nil
	})
	if _, err := review(t.Context(), reviewer, authenticationv1.UserInfo{}, secrets(maxRights)); err != nil || all.Load() != maxRights {
		t.Errorf("%v after %d questions", err, all.Load())
	}
	_, err := review(t.Context(), reviewer, authenticationv1.UserInfo{}, secrets(maxRights+1))
	if !errors.As(err, new(tooMany)) || !strings.Contains(err.Error(), "101") || !strings.Contains(err.Error(), "100") || all.Load() != maxRights {
		t.Errorf("%v after %d questions", err, all.Load())
	}
	if lacking, err := review(t.Context(), reviewer, authenticationv1.UserInfo{}, nil); len(lacking) > 0 || err != nil {
		t.Errorf("nothing to ask: %v, %v", lacking, err)
	}
}

func TestAQuestionWithoutAnAnswerEndsTheReview(t *testing.T) {
	broken := errors.New("no route to host")
	var all atomic.Int32
	lacking, err := review(t.Context(), deciding(func(context.Context, authorizationv1.ResourceAttributes) (bool, error) {
		all.Add(1)
		return true, broken // an answer beside an error is none
	}), authenticationv1.UserInfo{}, secrets(maxRights))
	if !errors.Is(err, broken) || lacking != nil || all.Load() > reviewsAtOnce {
		t.Errorf("%v, %v after %d questions", lacking, err, all.Load())
	}
}

func TestAllQuestionsTogetherEndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := review(t.Context(), deciding(func(ctx context.Context, what authorizationv1.ResourceAttributes) (bool, error) {
			select { // each is within its own limit
			case <-time.After(1100 * time.Millisecond):
				return what.Name != "", nil
			case <-ctx.Done():
				return false, ctx.Err()
			}
		}), authenticationv1.UserInfo{}, secrets(maxRights))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != reviewsTimeout {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		if want := "the authorizer answered 40 of 100 questions about rights"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	})
}

// An authorizer outside of the cluster takes 0.6s for each question, and a policy may name as many objects as any.
func TestTheMostRightsAreReviewedByASlowAuthorizer(t *testing.T) {
	for name, c := range map[string]struct {
		inAll bool
		took  time.Duration
	}{
		"all objects of the namespace": {true, 600 * time.Millisecond},
		"each object by its name":      {false, 4 * 600 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				lacking, err := review(t.Context(), deciding(func(ctx context.Context, what authorizationv1.ResourceAttributes) (bool, error) {
					select {
					case <-time.After(600 * time.Millisecond):
						return what.Name != "" || c.inAll, nil
					case <-ctx.Done():
						return false, ctx.Err()
					}
				}), authenticationv1.UserInfo{}, secrets(maxRights))
				if took := time.Since(start); err != nil || len(lacking) > 0 || took != c.took {
					t.Errorf("%v, %d lacking after %s, want none after %s", err, len(lacking), took, c.took)
				}
			})
		})
	}
}

func TestTheRightToOneObjectIsAskedAboutByItsNameAlone(t *testing.T) {
	lacking, err := review(t.Context(), deciding(func(_ context.Context, what authorizationv1.ResourceAttributes) (bool, error) {
		if what.Name == "" {
			t.Errorf("asked about %+v", what)
		}
		return true, nil
	}), authenticationv1.UserInfo{}, []authorizationv1.ResourceAttributes{
		{Namespace: "shop", Verb: "get", Resource: "secrets", Name: "a"}, {Namespace: "shop", Verb: "get", Resource: "configmaps", Name: "a"},
		{Namespace: "shop", Verb: "patch", Resource: "secrets", Name: "a"}, {Namespace: "dev", Verb: "get", Resource: "secrets", Name: "a"},
	})
	if err != nil || len(lacking) > 0 {
		t.Errorf("%v, %v", lacking, err)
	}
}

func TestAPanicInAReviewIsNoPermission(t *testing.T) {
	_, err := review(t.Context(), deciding(func(context.Context, authorizationv1.ResourceAttributes) (bool, error) {
		none := make([]bool, 0)
		return none[len(t.Name())], nil
	}), authenticationv1.UserInfo{}, secrets(3))
	if err == nil || !strings.Contains(err.Error(), "index out of range") || !errors.As(err, new(*panics.Error)) {
		t.Errorf("%v", err)
	}
}
