// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package conditiongate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/polling"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// AggregationLabel with the value "true" on a ClusterRole adds its rights to those of the operator, through the
// ClusterRole fairlead-rebootpolicy-gates.
const AggregationLabel = "rbac.fairlead.dev/aggregate-to-manager"

// timeout bounds one read.
const timeout = 5 * time.Second

// question is a gate of a policy in a namespace, as a key. maxAge is empty if the gate has none.
type question struct {
	namespace                             string
	apiVersion, kind, name, conditionType string
	status                                metav1.ConditionStatus
	maxAge                                common.Duration
}

func questionOf(namespace string, c *autorebootv1.ObjectCondition) question {
	q := question{namespace, c.APIVersion, c.Kind, c.Name, c.Type, c.Status, ""}
	if c.MaxAge != nil {
		q.maxAge = *c.MaxAge
	}
	return q
}

func (q question) condition() *autorebootv1.ObjectCondition {
	c := &autorebootv1.ObjectCondition{APIVersion: q.apiVersion, Kind: q.kind, Name: q.name, Type: q.conditionType, Status: q.status}
	if q.maxAge != "" {
		c.MaxAge = &q.maxAge
	}
	return c
}

// notRead is the message of a gate if nothing is read, as in a forecast.
const notRead = "its object is read by the operator alone"

// Objects reads the objects that the gates of all policies name, while it runs. A nil Objects reads none: all of its
// gates are closed. It is safe for concurrent use.
type Objects struct{ poller *polling.Poller[question] }

// New returns Objects that read by a client. now is the clock for maxAge. notify is called with a policy if one of its
// gates may have opened or closed; it must not block.
func New(api dynamic.Interface, now func() time.Time, notify func(policy types.NamespacedName)) *Objects {
	return &Objects{polling.New(polling.Options[question]{
		Noun: "object", Done: "read", Notify: notify,
		Evaluate: func(ctx context.Context, q question) string {
			of := q.condition()
			object, why := Read(ctx, api, q.namespace, of)
			if why != "" {
				return why
			}
			return Closed(object, of, now())
		},
	})}
}

// Set replaces the objects that the gates of a policy name. It has each new object read at once.
func (o *Objects) Set(policy types.NamespacedName, gates []*autorebootv1.ObjectCondition) {
	if o == nil {
		return
	}
	all := make([]question, 0, len(gates))
	for _, gate := range gates {
		all = append(all, questionOf(policy.Namespace, gate))
	}
	o.poller.Set(policy, all)
}

// Closed returns why a gate that was set for a policy is closed; empty if it is open.
func (o *Objects) Closed(policy types.NamespacedName, gate *autorebootv1.ObjectCondition) string {
	if o == nil {
		return notRead
	}
	return o.poller.Closed(policy, questionOf(policy.Namespace, gate))
}

// Run reads until ctx ends. It returns after the last read.
func (o *Objects) Run(ctx context.Context) error { return o.poller.Run(ctx) }

// Read returns an object, or a message that says why it cannot be read.
func Read(
	ctx context.Context, api dynamic.Interface, namespace string, of *autorebootv1.ObjectCondition,
) (*unstructured.Unstructured, string) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resource := rules.ResourceOf(of)
	object, err := api.Resource(resource).Namespace(namespace).Get(ctx, of.Name, metav1.GetOptions{})
	name := of.Kind + " " + of.Name
	switch {
	case err == nil && object.GetKind() != of.Kind:
		return nil, fmt.Sprintf("%s cannot be read: the API server has kind %s as %s: correct kind", name, object.GetKind(), resource.GroupResource())
	case err == nil:
		return object, ""
	case apierrors.IsForbidden(err):
		return nil, fmt.Sprintf("%s cannot be read: the operator may not get %s: grant it that, by a ClusterRole with the label %s: \"true\"",
			name, resource.GroupResource(), AggregationLabel)
	case apierrors.IsNotFound(err) && apierrors.IsUnexpectedServerError(err):
		return nil, fmt.Sprintf("%s cannot be read: the API server does not serve %s of %s in namespaces: install its CRD, or correct apiVersion and kind",
			name, resource.GroupResource(), of.APIVersion)
	case apierrors.IsNotFound(err):
		return nil, name + " does not exist"
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Sprintf("%s cannot be read: the API server did not answer within %s", name, common.DurationOf(timeout))
	}
	return nil, name + " cannot be read: " + cmp.Or(string(apierrors.ReasonForError(err)), "the API server does not respond")
}
