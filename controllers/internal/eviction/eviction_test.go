// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"context"
	"errors"
	"net/http"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestWhatEvictingComesTo(t *testing.T) {
	budget := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	budget.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause}}
	budget.ErrStatus.Details.Causes[0].Message = "The disruption budget db needs 2 healthy pods and has 2 currently"
	of := func(code int32, reason metav1.StatusReason, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
	}
	pods := schema.GroupResource{Resource: "pods"}
	for name, test := range map[string]struct {
		err  error
		want Outcome
	}{
		"done":                     {nil, Done},
		"gone already":             {apierrors.NewNotFound(pods, "p"), Gone},
		"absence of another":       {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "p"), Retry},
		"the page of a proxy":      {apierrors.NewGenericServerResponse(http.StatusNotFound, "create", pods, "p", "<html>", 0, true), Retry},
		"a webhook with 404":       {of(http.StatusNotFound, "", `admission webhook "a" denied the request: no`), Refused},
		"a webhook with 409":       {of(http.StatusConflict, metav1.StatusReasonConflict, `admission webhook "a" denied the request: no`), Refused},
		"another pod by that name": {apierrors.NewConflict(pods, "p", errors.New("Precondition failed: UID in precondition")), Replaced},
		"a budget":                 {budget, Blocked},
		"a busy API server":        {apierrors.NewTooManyRequests("too many requests", 1), Retry},
		"two budgets":              {of(http.StatusInternalServerError, "", "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."), Misconfigured},
		"a broken API server":      {of(http.StatusInternalServerError, metav1.StatusReasonInternalError, "etcd is away"), Retry},
		"no right to":              {apierrors.NewForbidden(schema.GroupResource{Resource: "pods/eviction"}, "p", errors.New("no")), Refused},
		"a policy":                 {apierrors.NewInvalid(schema.GroupKind{Group: "policy", Kind: "Eviction"}, "p", nil), Refused},
		"a webhook with 400":       {of(http.StatusBadRequest, metav1.StatusReasonBadRequest, `admission webhook "a" denied the request: no`), Refused},
		"a webhook with 429":       {of(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, `admission webhook "a" denied the request: no`), Refused},
		"a webhook with 500":       {of(http.StatusInternalServerError, "", `admission webhook "a" denied the request: no`), Refused},
		"a budget that is behind":  {apierrors.NewForbidden(schema.GroupResource{Group: "policy", Resource: "poddisruptionbudget"}, "b", errors.New("pdb disruptions allowed is negative")), Blocked},
		"outcome unknown":          {context.DeadlineExceeded, Retry},
	} {
		t.Run(name, func(t *testing.T) {
			if got := outcomeOf(test.err, "p"); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
			if got, want := budgetOf(test.err), map[string]string{"a budget": "db", "a budget that is behind": "b"}[name]; got != want {
				t.Errorf("the budget is %q, want %q", got, want)
			}
		})
	}
}
