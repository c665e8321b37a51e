// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/events"
)

// approval approves what waits for it. Its token is no new one: it names that exactly.
func approval() verb {
	v := of(announceApproval, approved)
	v.right = v1.VerbApprove
	v.token = func(object client.Object) common.Token {
		if policy, is := object.(*v1.RebootPolicy); is {
			return policy.Status.PendingApproval
		}
		return ""
	}
	return v
}

func announceApproval(policy *v1.RebootPolicy, token common.Token) (string, error) {
	waits := policy.Status.PendingApproval
	switch {
	case waits == "":
		return "", errors.New("no restart of it waits for an approval")
	case token != waits:
		return "", fmt.Errorf("%s is not what waits now, since what it was for has changed, was approved, or is not needed: "+
			"approve %s if you mean the restart of %s", token, waits, unapproved(policy))
	}
	return fmt.Sprintf("approves %s, the restart of %s; windows, blackouts, other gates, concurrency, dry run, halt and suspend still apply; "+
		"later changes need another approval", token, unapproved(policy)), nil
}

// unapproved names the workloads whose restarts wait for an approval, and what asked for them.
func unapproved(policy *v1.RebootPolicy) string {
	var names []string
	for i := range policy.Status.Targets {
		if t := &policy.Status.Targets[i]; t.Pending != nil && t.Pending.ApprovedFingerprint == "" {
			names = append(names, fmt.Sprintf("%s %s for %s", t.Kind, t.Name, strings.Join(t.Pending.Triggers, " and ")))
		}
	}
	return events.Summarize(names)
}

// approved is done when the operator has handled the approval. It has failed where a restart that waited then still does: it was
// for something else by then.
func approved(was, now *v1.RebootPolicy, token common.Token) Verdict {
	if now.Status.HandledApprove != token {
		return Verdict{Text: "the operator has not handled it yet"}
	}
	for i := range was.Status.Targets {
		before := &was.Status.Targets[i]
		for j := range now.Status.Targets {
			t := &now.Status.Targets[j]
			if t.UID == before.UID && before.Pending != nil && before.Pending.Reason == v1.ReasonApprovalRequired &&
				t.Pending != nil && t.Pending.Reason == v1.ReasonApprovalRequired {
				return Verdict{true, true, fmt.Sprintf("what waits has changed meanwhile, so that nothing was approved: see approval %s for %s %s",
					now.Status.PendingApproval, t.Kind, t.Name)}
			}
		}
	}
	return Verdict{Done: true, Text: "it is approved" + waiting(now.Status.Conditions)}
}
