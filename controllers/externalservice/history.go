// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/endpoints"
	"github.com/fairlead-dev/fairlead/internal/events"
	"github.com/fairlead-dev/fairlead/internal/text"
)

// maxRecordMessage limits the message of a record, in bytes, as the API does.
const maxRecordMessage = 512

// changes returns the records of what differs between the stored status (before) and the next one, the latest last. cause is
// why another priority is published, or empty, and isRemoved that the spec does not have any more what was published.
func changes(
	es *networkingv1.ExternalService, before, after *networkingv1.ExternalServiceStatus, isRemoved bool, cause string, now metav1.Time,
) []networkingv1.ChangeRecord {
	var records []networkingv1.ChangeRecord
	add := func(kind string, from, to *int32, r common.Record) {
		r.CompletionTime = cmp.Or(r.CompletionTime, &metav1.Time{Time: now.UTC().Truncate(time.Second)})
		r.ID = strings.ToLower(kind) + "-" + now.UTC().Format("2006-01-02T15:04:05.000Z") // the same kind may follow within a second
		r.Message = text.Truncate(r.Message, maxRecordMessage)
		records = append(records, networkingv1.ChangeRecord{Record: r, Type: kind, FromPriority: from, ToPriority: to})
	}
	if was, f := before.Fault, after.Fault; f != nil && f.CompletionTime != nil &&
		(was == nil || was.CompletionTime == nil || was.Request != f.Request) {
		add(networkingv1.ChangeFault, f.Priority, nil, common.Record{
			Result: faultResult(f), Reason: f.Outcome, Message: string(f.Request) + ": " + f.Message,
			StartTime: f.StartTime, CompletionTime: f.CompletionTime,
		})
	}
	from, to := before.ActivePriority, after.ActivePriority
	switch {
	case from == nil || to == nil:
	case *from != *to || isRemoved:
		if after.Fault.Lasts() {
			cause = networkingv1.ReasonFaultInjected
		}
		kind, message := networkingv1.ChangeFailback, healthText(es, after, *from)
		if *to >= *from {
			kind = networkingv1.ChangeFailover
		}
		if isRemoved || cause == networkingv1.ReasonPriorityRemoved {
			message = "the spec no longer has an active endpoint of the published priority"
		}
		add(kind, from, to, common.Record{
			Result: networkingv1.ResultSucceeded, Reason: cmp.Or(cause, networkingv1.ReasonUnknown), Message: message,
		})
	case isFailbackRefused(before, after):
		reason, why := whyFailbackIsRefused(after)
		add(networkingv1.ChangeFailback, from, to, common.Record{Result: networkingv1.ResultRefused, Reason: reason, Message: why})
	}
	return records
}

// faultResult returns the result of a fault that has ended.
func faultResult(f *networkingv1.FaultStatus) string {
	switch {
	case f.Outcome == networkingv1.FaultOutcomeRefused:
		return networkingv1.ResultRefused
	case f.DependantsStayedReady == metav1.ConditionFalse:
		return networkingv1.ResultFailed
	case f.Outcome == networkingv1.FaultOutcomeDeadlineReached, f.Outcome == networkingv1.FaultOutcomeWithdrawn:
		return networkingv1.ResultSucceeded
	}
	return networkingv1.ResultAborted
}

// healthText returns how many addresses of a priority are healthy, and which are not.
func healthText(es *networkingv1.ExternalService, status *networkingv1.ExternalServiceStatus, priority int32) string {
	total, healthy := 0, 0
	var unhealthy []string
	for i := range es.Spec.Endpoints {
		e := &es.Spec.Endpoints[i]
		observed := endpoints.StatusOf(status, e.Name)
		if observed == nil || ptr.Deref(e.Priority, 0) != priority {
			continue
		}
		for j := range observed.Addresses {
			a := &observed.Addresses[j]
			total++
			switch a.Health {
			case networkingv1.AddressHealthy:
				healthy++
			case networkingv1.AddressUnhealthy:
				unhealthy = append(unhealthy, a.IP+" ("+a.Reason+")")
			}
		}
	}
	words := fmt.Sprintf("%d of %s of priority %d healthy", healthy, events.Plural(total, "address", "addresses"), priority)
	if len(unhealthy) > 0 {
		words += ": " + events.Summarize(unhealthy)
	}
	return words
}
