// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/requests"
	"github.com/fairlead-dev/fairlead/internal/events"
)

// approve decides which of the restarts that wait are approved. The annotation approves those that status.pendingApproval
// identifies now, and is handled with that, or once they are others: no token approves anything later. What was approved is
// stored with the restart, so that it stays so whatever becomes due beside it, and until it is for something else.
func (r *run) approve(queue []*target) {
	if r.approvalGate == "" {
		r.status.PendingApproval = ""
		for _, t := range queue {
			t.Pending.ApprovedFingerprint = ""
		}
		return
	}
	open, unknown, settles := r.findUnapproved(queue)
	if unknown { // it may be for something else once it is known
		return
	}
	token := requests.New(r.policy, autorebootv1.ApproveAnnotation, r.status.HandledApprove)
	switch identity := r.identify(open); {
	case token == "":
	case token == identity:
		r.status.HandledApprove = token
		for _, t := range open {
			t.unapproved, t.Pending.ApprovedFingerprint = false, r.approvable(t)
		}
		text := fmt.Sprintf("approval %s: %s may restart", token, targetsText(open))
		r.addMessage(Message{Reason: autorebootv1.EventRestartApproved, Text: text})
		open = nil
	case !settles: // what settles may be what was approved
		r.status.HandledApprove = token
		r.addMessage(Message{Reason: common.EventRequestIgnored, Text: fmt.Sprintf(
			"annotation %s has the value %.64q, and no restart that waits has it: it approves nothing", autorebootv1.ApproveAnnotation, token)})
	}
	identity := r.identify(open) // it has the token that was handled last
	if r.status.PendingApproval != identity && identity != "" {
		r.addMessage(Message{Reason: autorebootv1.EventApprovalRequired, Text: fmt.Sprintf("the restart of %s waits for an approval, gate %s: %s",
			targetsText(open), r.approvalGate, r.approveCommand(identity))})
	}
	r.status.PendingApproval = identity
}

// findUnapproved returns the restarts that nothing has approved as they are now. It reports whether one is for what cannot be
// observed, and whether one still settles: neither can be approved yet.
func (r *run) findUnapproved(queue []*target) (open []*target, unknown, settles bool) {
	for _, t := range queue {
		approved := t.isOwed() && !t.requested.edge // it has begun once, and that was approved
		switch _, settling := r.checkDebouncing(t); {
		case approved:
		case t.isUnknown():
			unknown, t.unapproved = true, true
		case t.Pending.ApprovedFingerprint == r.approvable(t):
		default:
			t.unapproved, t.Pending.ApprovedFingerprint = true, ""
			if settles = settles || settling; !settling {
				open = append(open, t)
			}
		}
	}
	return open, unknown, settles
}

// isUnknown reports whether a trigger that asked for the restart, or another one of the workload, cannot be observed.
func (t *target) isUnknown() bool {
	return slices.ContainsFunc(t.Pending.Triggers, func(name string) bool { return t.requested.unobservable[name] })
}

// approvable returns an identifier of one restart: the workload, the time of the request, and the contents. Names of triggers
// are left out: a rename must not void an approval.
func (r *run) approvable(t *target) string {
	parts := []string{string(r.policy.UID), string(t.UID), t.Pending.FirstRequestTime.UTC().Format(time.RFC3339)}
	for _, name := range t.Pending.Triggers {
		if r.isLevel(name) {
			parts = append(parts, string(r.types[name]))
		}
	}
	for _, s := range t.requested.dated {
		parts = append(parts, s.Source+"\x00"+s.fingerprint())
	}
	slices.Sort(parts[3:])
	return shortDigest(parts)
}

// identify returns the token that approves the restarts; "" for none. It has the token before, so that none comes twice.
func (r *run) identify(open []*target) common.Token {
	if len(open) == 0 {
		return ""
	}
	parts := []string{string(r.status.HandledApprove)}
	for _, t := range open {
		parts = append(parts, r.approvable(t))
	}
	slices.Sort(parts[1:])
	return common.Token(shortDigest(parts))
}

// shortDigest is of 64 bits: an approval is for one moment, and what it covers has keyed fingerprints.
func shortDigest(parts []string) string {
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(parts), "\x01")))
	return hex.EncodeToString(sum[:8])
}

// checkApprovalRequired holds a restart that no person has approved.
func (r *run) checkApprovalRequired(t *target) (admission, bool) {
	message := "gate " + r.approvalGate + ": for an approval"
	if identity := r.status.PendingApproval; identity != "" {
		message += ": " + r.approveCommand(identity)
	}
	return held(autorebootv1.ReasonApprovalRequired, message), t.unapproved
}

func (r *run) approveCommand(identity common.Token) string {
	return fmt.Sprintf("kubectl fairlead approve rebootpolicy/%s --id=%s -n %s", r.policy.Name, identity, r.policy.Namespace)
}

// targetsText names the first of the targets.
func targetsText(targets []*target) string {
	var names []string
	for _, t := range targets {
		names = append(names, targetText(t.id())+" for "+triggersText(t.Pending.Triggers))
	}
	return events.Summarize(names)
}
