// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// Suspendable are the kinds that have spec.suspend.
var Suspendable = []string{inspect.ExternalService, inspect.RebootPolicy, inspect.ChaosPod}

// NewSuspend returns a request to set spec.suspend of an object. The error names the objects that have it.
func NewSuspend(key inspect.Key, suspend bool) (*Request, error) {
	s := suspension(suspend)
	switch key.Kind {
	case inspect.ClusterRebootPolicy:
		return nil, errors.New("ClusterRebootPolicy has no spec.suspend: set spec.template.spec.suspend, which suspends its policies")
	case inspect.ExternalService, inspect.RebootPolicy, inspect.ChaosPod:
		return &Request{Key: key, verb: of(s.announce, s.verdict), edit: s.edit, edited: fmt.Sprintf("spec.suspend is %t", suspend)}, nil
	}
	return nil, fmt.Errorf("%s has no spec.suspend: name an ExternalService, a RebootPolicy or a ChaosPod", key.Kind)
}

// suspension is the new value of spec.suspend.
type suspension bool

// effectOf returns what the operator does while an object is suspended.
func effectOf(object client.Object) string {
	switch object.(type) {
	case *networkingv1.ExternalService:
		return "resolves, checks and publishes nothing; what is published stays"
	case *autorebootv1.RebootPolicy:
		return "starts no restart; those that have begun are verified"
	}
	return "starts no run; one that has begun is verified"
}

func (s suspension) announce(object client.Object, _ common.Token) (string, error) {
	suspended, _ := suspendOf(object)
	policy, isPolicy := object.(*autorebootv1.RebootPolicy)
	switch halt, _ := haltOf(object); {
	case suspended && bool(s):
		return "", errors.New("it is suspended already")
	case !suspended && !bool(s) && halt != "":
		return "", fmt.Errorf("it is not suspended, and has halted (%s): retry it", halt)
	case !suspended && !bool(s):
		return "", errors.New("it is not suspended")
	case isPolicy && rebootpolicy.ClusterPolicyOf(policy) != "":
		return "", fmt.Errorf("ClusterRebootPolicy %s has created it and reverts changes of its spec: set spec.template.spec.suspend there",
			rebootpolicy.ClusterPolicyOf(policy))
	}
	if !s {
		return "sets spec.suspend to false, and what is due goes on", nil
	}
	return "sets spec.suspend to true: the operator " + effectOf(object), nil
}

// suspendOf returns spec.suspend of an object, and the generation that its status is of.
func suspendOf(object client.Object) (suspended bool, observed int64) {
	switch o := object.(type) {
	case *networkingv1.ExternalService:
		return ptr.Deref(o.Spec.Suspend, false), o.Status.ObservedGeneration
	case *autorebootv1.RebootPolicy:
		return ptr.Deref(o.Spec.Suspend, false), o.Status.ObservedGeneration
	case *chaosv1.ChaosPod:
		return ptr.Deref(o.Spec.Suspend, false), o.Status.ObservedGeneration
	}
	return false, 0
}

func (s suspension) edit(client.Object) []operation {
	return []operation{{"add", "/spec/suspend", bool(s)}}
}

// verdict is done when the operator has observed the spec.
func (s suspension) verdict(_, now client.Object, _ common.Token) Verdict {
	suspended, observed := suspendOf(now)
	is := map[bool]string{true: "suspended", false: "not suspended"}
	switch condition := suspendedCondition(now); {
	case suspended != bool(s):
		return Verdict{true, true, "another writer has changed spec.suspend meanwhile"}
	case observed < now.GetGeneration() || condition == nil || (condition.Status == metav1.ConditionTrue) != bool(s):
		return Verdict{Text: "the operator has not carried it out yet"}
	}
	return Verdict{Done: true, Text: "it is " + is[bool(s)]}
}

func suspendedCondition(object client.Object) *metav1.Condition {
	switch o := object.(type) {
	case *networkingv1.ExternalService:
		return meta.FindStatusCondition(o.Status.Conditions, common.ConditionSuspended)
	case *autorebootv1.RebootPolicy:
		return meta.FindStatusCondition(o.Status.Conditions, common.ConditionSuspended)
	case *chaosv1.ChaosPod:
		return meta.FindStatusCondition(o.Status.Conditions, common.ConditionSuspended)
	}
	return nil
}
