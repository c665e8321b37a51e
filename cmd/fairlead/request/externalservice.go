// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

func announceFailback(es *v1.ExternalService, _ common.Token) (string, error) {
	if !meta.IsStatusConditionTrue(es.Status.Conditions, v1.ConditionFailedOver) {
		return "", errors.New("it has not failed over, so that there is nothing to fail back from")
	}
	return "publishes a more preferred priority that is healthy enough, without waiting for failbackDelay; it is refused where none is", nil
}

// failedBack is done when the history has the failback, or its refusal.
func failedBack(was, es *v1.ExternalService, token common.Token) Verdict {
	if es.Status.HandledFailbackNow != token {
		return Verdict{Text: "the operator has not handled it yet"}
	}
	for i := range es.Status.History {
		r := &es.Status.History[i]
		if r.Type != v1.ChangeFailback || slices.ContainsFunc(was.Status.History, func(old v1.ChangeRecord) bool { return old.ID == r.ID }) {
			continue
		}
		return Verdict{Done: true, Failed: r.Result != v1.ResultSucceeded, Text: "the failback has ended: " + recordText(&r.Record)}
	}
	return Verdict{Text: "the operator has handled it"}
}

// NewFault returns the token that requests a fault which lasts for a span, of one endpoint for Drain. It is another one than that
// of an earlier fault of the same kind.
func NewFault(kind string, span time.Duration, endpoint string, now time.Time) (common.Token, error) {
	if span <= 0 {
		return "", errors.New("say how long with --for, from 1s to 1h, such as --for=10m: a fault never lasts without an end")
	}
	value := kind + " for=" + string(common.DurationOf(span))
	if endpoint != "" {
		value += " endpoint=" + endpoint
	}
	token := common.Token(value + " id=" + string(NewToken(now)))
	_, err := rules.ParseFault(token)
	return token, err
}

func announceFault(es *v1.ExternalService, token common.Token) (string, error) {
	if len(es.Status.Conditions) == 0 {
		return "", errUnobserved
	}
	if es.Status.Fault.Lasts() {
		return "", fmt.Errorf("the fault %q lasts until %s: end it first, with --undo",
			es.Status.Fault.Request, es.Status.Fault.DeadlineTime.UTC().Format(time.RFC3339))
	}
	fault, err := rules.ParseFault(token)
	if err != nil {
		return "", err
	}
	what := map[v1.FaultType]string{
		v1.FaultBlackHole: "publishes no address as ready",
		v1.FaultDrain:     "publishes nothing of endpoint " + fault.Endpoint,
		v1.FaultFailOver:  "publishes the next priority that is healthy",
	}[fault.Type]
	return fmt.Sprintf("%s for %s, and ends by itself, or before that with --undo", what, common.DurationOf(fault.For)), nil
}

// faulted is done when the fault has ended. It has failed where it was ended before its time, or a dependant became unready.
func faulted(_, es *v1.ExternalService, token common.Token) Verdict {
	f := es.Status.Fault
	switch {
	case f == nil || f.Request != token:
		return Verdict{Text: "the fault has not begun" + waiting(es.Status.Conditions)}
	case f.Lasts():
		return Verdict{Text: "the fault lasts until " + f.DeadlineTime.UTC().Format(time.RFC3339)}
	case f.CompletionTime == nil:
		return Verdict{Text: "the fault has not begun" + waiting(es.Status.Conditions)}
	}
	isAsRequested := f.Outcome == v1.FaultOutcomeDeadlineReached && f.DependantsStayedReady != metav1.ConditionFalse
	return Verdict{Done: true, Failed: !isAsRequested, Text: fmt.Sprintf("the fault has ended (%s): %s", f.Outcome, f.Message)}
}

// NewFaultEnd returns a request to end the fault of an ExternalService before its time.
func NewFaultEnd(key inspect.Key) *Request {
	return &Request{
		Key: key, verb: of(announceFaultEnd, faultEnded),
		edit: removeFault, edited: "the annotation " + v1.InjectFaultAnnotation + " was removed",
	}
}

func announceFaultEnd(es *v1.ExternalService, _ common.Token) (string, error) {
	switch f, requested := es.Status.Fault, es.Annotations[v1.InjectFaultAnnotation]; {
	case requested == "" && f.Lasts():
		return "", fmt.Errorf("the operator ends the fault %q already", f.Request)
	case requested == "":
		return "", errors.New("it has no fault")
	case !f.Lasts():
		return fmt.Sprintf("takes back the fault %q, which does not last", requested), nil
	default:
		return fmt.Sprintf("ends the fault %q, which lasts until %s, and publishes the addresses as the spec says", f.Request,
			f.DeadlineTime.UTC().Format(time.RFC3339)), nil
	}
}

// removeFault removes the request that was read, and no later one.
func removeFault(object client.Object) []operation {
	path := "/metadata/annotations/" + strings.ReplaceAll(v1.InjectFaultAnnotation, "/", "~1")
	return []operation{{"test", path, object.GetAnnotations()[v1.InjectFaultAnnotation]}, {"remove", path, nil}}
}

// faultEnded is done when no fault lasts.
func faultEnded(was, es *v1.ExternalService, _ common.Token) Verdict {
	f := es.Status.Fault
	switch {
	case f.Lasts():
		return Verdict{Text: "the operator has not ended it yet"}
	case f == nil || was.Status.Fault == nil || f.Request != was.Status.Fault.Request:
		return Verdict{Done: true, Text: "no fault lasts"}
	}
	return Verdict{Done: true, Text: fmt.Sprintf("the fault has ended (%s): %s", f.Outcome, f.Message)}
}
