// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// haltOf returns why an object has halted, empty where it has not, and the token that last ended a halt.
func haltOf(object client.Object) (string, common.Token) {
	switch o := object.(type) {
	case *autorebootv1.RebootPolicy:
		return policyHalt(o.Status.Halt), o.Status.HandledRetry
	case *chaosv1.ChaosPod:
		if h := o.Status.Halt; h != nil {
			return recordText(&common.Record{Result: h.Reason, Message: h.Message}), o.Status.HandledRetry
		}
		return "", o.Status.HandledRetry
	}
	return "", ""
}

// policyHalt returns why a policy has halted, and the workload that halted it; empty for no halt.
func policyHalt(h *autorebootv1.Halt) string {
	if h == nil {
		return ""
	}
	what := string(h.Target.Kind) + " " + h.Target.Name
	if h.Message != "" {
		what += ": " + h.Message
	}
	return recordText(&common.Record{Result: h.Reason, Message: what})
}

func announceRetry(object client.Object, _ common.Token) (string, error) {
	halt, _ := haltOf(object)
	if halt == "" {
		return "", errors.New("it has not halted, so there is nothing to retry")
	}
	return fmt.Sprintf("ends the halt (%s), and what is due goes on", halt), nil
}

// retried is done when the halt has ended.
func retried(_, now client.Object, token common.Token) Verdict {
	halt, handled := haltOf(now)
	switch {
	case handled != token:
		return Verdict{Text: "the operator has not handled it yet"}
	case halt != "":
		return Verdict{true, true, fmt.Sprintf("it has halted again (%s)", halt)}
	}
	return Verdict{Done: true, Text: "the halt has ended"}
}

// waiting returns what an object waits for; empty for nothing.
func waiting(conditions []metav1.Condition) string {
	if c := meta.FindStatusCondition(conditions, common.ConditionWaiting); c != nil && c.Status == metav1.ConditionTrue {
		return fmt.Sprintf(" (%s): %s", c.Reason, c.Message)
	}
	return ""
}
