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

// haltOf returns the halt of an object, and the token that last ended one.
func haltOf(object client.Object) (*common.Halt, common.Token) {
	switch o := object.(type) {
	case *autorebootv1.RebootPolicy:
		if o.Status.Halt != nil {
			return &o.Status.Halt.Halt, o.Status.HandledResume
		}
		return nil, o.Status.HandledResume
	case *chaosv1.ChaosPod:
		return o.Status.Halt, o.Status.HandledResume
	}
	return nil, ""
}

func announceResume(object client.Object, _ common.Token) (string, error) {
	halt, _ := haltOf(object)
	if halt == nil {
		return "", errors.New("it has not halted, so that there is nothing to resume")
	}
	return fmt.Sprintf("ends the halt (%s: %s), and what is due goes on", halt.Reason, halt.Message), nil
}

// resumed is done when the halt has ended.
func resumed(_, now client.Object, token common.Token) Verdict {
	halt, handled := haltOf(now)
	switch {
	case handled != token:
		return Verdict{Text: "the operator has not handled it yet"}
	case halt != nil:
		return Verdict{true, true, fmt.Sprintf("it has halted again (%s): %s", halt.Reason, halt.Message)}
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
