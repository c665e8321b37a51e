// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
	"fmt"
	"slices"

	v1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/events"
)

var errUnobserved = errors.New("no operator has observed it yet, and would ignore the request: wait for its condition Ready")

func announceRestart(policy *v1.RebootPolicy, _ common.Token) (string, error) {
	if len(policy.Status.Conditions) == 0 {
		return "", errUnobserved
	}
	var names []string
	for i := range policy.Status.Targets {
		names = append(names, string(policy.Status.Targets[i].Kind)+" "+policy.Status.Targets[i].Name)
	}
	what := "restarts each target once"
	if len(names) > 0 {
		what += " (" + events.Summarize(names) + ")"
	}
	return what + ": debounce, cooldown, retry backoff and windows are ignored; blackouts, gates, concurrency, dry run, halt and suspend still apply", nil
}

// restarted is done when each restart for the token has ended.
func restarted(was, policy *v1.RebootPolicy, token common.Token) Verdict {
	switch s := &policy.Status; {
	case s.VerifiedRestartNow == token:
		return Verdict{Done: true, Text: "each target was restarted and verified, or had newer pods"}
	case s.HandledRestartNow != token && isPending(s) && s.Halt == nil:
		return Verdict{Text: "no restart has begun yet" + waiting(policy.Status.Conditions)}
	case s.HandledRestartNow != token:
		return Verdict{Text: "the operator has not handled it yet"}
	case s.Halt != nil:
		return Verdict{true, true, fmt.Sprintf("the policy has halted (%s)", policyHalt(s.Halt))}
	case isPending(s):
		return Verdict{Text: "restarts wait or are in flight" + waiting(policy.Status.Conditions)}
	default:
		for i := range s.History {
			r := &s.History[i]
			if isNew(r.ID, was.Status.History) && r.Result == v1.ResultFailed && slices.Contains(r.Triggers, v1.RestartNowTrigger) {
				return Verdict{true, true, fmt.Sprintf("the restart of %s %s has failed (%s): %s", r.Target.Kind, r.Target.Name, r.Reason, r.Message)}
			}
		}
	}
	return Verdict{Text: "no restart has begun yet"}
}

// isPending reports whether a restart that was requested waits or is in flight.
func isPending(s *v1.RebootPolicyStatus) bool {
	for i := range s.Targets {
		if p := s.Targets[i].Pending; p != nil && slices.Contains(p.Triggers, v1.RestartNowTrigger) {
			return true
		}
	}
	return slices.ContainsFunc(s.InFlight, func(f v1.InFlightRestart) bool { return slices.Contains(f.Triggers, v1.RestartNowTrigger) })
}

func isNew(id string, history []v1.RestartRecord) bool {
	return !slices.ContainsFunc(history, func(r v1.RestartRecord) bool { return r.ID == id })
}
