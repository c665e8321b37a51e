// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/egress"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
)

// Policy judges addresses. It is an *egress.Policy.
type Policy interface {
	// Synced says whether the ranges of the cluster are known.
	Synced() bool
	// CheckPorts judges an address with all of its ports.
	CheckPorts(q egress.Query, ports []uint16) egress.Verdict
}

var _ Policy = (*egress.Policy)(nil)

// Options of the authorization of ExternalServices. All are required.
type Options struct {
	Policy   Policy
	Reviewer Reviewer
	Services ServiceReader
}

// ExternalService authorizes writers of ExternalServices. Its methods are a Stamp and a Validate of
// package admission.
type ExternalService struct {
	options Options
}

// NewExternalService makes the authorization.
func NewExternalService(o Options) *ExternalService { return &ExternalService{options: o} }

// Stamp decides the annotation that says who was entitled to the addresses of the cluster in obj.
// A user who leaves addresses and ports as they are keeps the approval that is there; otherwise the writer
// must have the right. Without it, or where no address is in the cluster, there is no approval.
func (a *ExternalService) Stamp(ctx context.Context, req admission.Request, obj, old *networkingv1.ExternalService) (map[string]string, error) {
	stamp := func(value string) (map[string]string, error) {
		return map[string]string{common.ApprovedByAnnotation: value}, nil
	}
	same := unchanged(obj, old)
	switch {
	case req.SubResource != "":
		return nil, nil
	case !obj.DeletionTimestamp.IsZero():
		return stamp(approvalOf(old))
	case same && egress.Approved(old):
		return stamp(approvalOf(old))
	case len(egress.StaticAddresses(&obj.Spec)) == 0:
		return stamp("")
	case !a.options.Policy.Synced():
		if same {
			return stamp("")
		}
		return nil, later(req, errUnsynced)
	}
	if _, inCluster := split(a.judge(req, obj)); len(inCluster) == 0 {
		return stamp("")
	}
	lacking, err := a.lacking(ctx, req)
	switch {
	case err != nil && same: // it was not approved before, and is not refused for that now
		return stamp("")
	case err != nil:
		return nil, later(req, unanswered(req, err))
	case len(lacking) > 0: // Validate says so, address by address
		return stamp("")
	}
	return stamp(egress.Approval(obj, req.User.Username))
}

// Validate refuses what the writer is not entitled to, or what no user is. Of an update it judges what
// changed: what stands already may stay while something else is repaired.
func (a *ExternalService) Validate(ctx context.Context, req admission.Request, obj, old *networkingv1.ExternalService) ([]string, field.ErrorList) {
	if req.SubResource != "" || !obj.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	warnings, errs := a.addresses(ctx, req, obj, old)
	errs = append(errs, a.secret(ctx, req, obj, old)...)
	errs = append(errs, a.adoption(ctx, req, obj, old)...)
	errs = append(errs, a.fault(ctx, req, obj, old)...)
	warning, conflict := a.collision(ctx, req, obj, old)
	if warning != "" {
		warnings = append(warnings, warning)
	}
	return warnings, append(errs, conflict...)
}

// unchanged says whether obj publishes the static addresses that old does, and was not merely asleep.
func unchanged(obj, old *networkingv1.ExternalService) bool {
	return old != nil && !resumed(obj, old) && !widened(obj, old) && egress.Digest(&obj.Spec) == egress.Digest(&old.Spec)
}

// widened says whether the health check of obj asks something else at the static addresses than that of
// old. To put an endpoint back into service, or to prefer it, is not to choose what is reached.
func widened(obj, old *networkingv1.ExternalService) bool {
	return egress.Digest(&obj.Spec) != "" && obj.Spec.HealthCheck != nil &&
		!equality.Semantic.DeepEqual(questionOf(obj), questionOf(old))
}

// questionOf is what a health check asks, whatever its pace: nil where there is none.
func questionOf(es *networkingv1.ExternalService) *networkingv1.HealthCheck {
	defaulted := &networkingv1.ExternalService{Spec: *es.Spec.DeepCopy()}
	rules.Default(defaulted)
	check := defaulted.Spec.HealthCheck
	if check == nil {
		return nil
	}
	return &networkingv1.HealthCheck{TCP: check.TCP, HTTP: check.HTTP, GRPC: check.GRPC, TLS: check.TLS, Port: check.Port}
}

// resumed says whether obj wakes up: from now on things are done for it that were not.
func resumed(obj, old *networkingv1.ExternalService) bool {
	return old != nil && ptr.Deref(old.Spec.Suspend, false) && !ptr.Deref(obj.Spec.Suspend, false)
}

// approvalOf is what stands in the annotation; "" where obj is nil.
func approvalOf[T any, P interface {
	*T
	metav1.Object
}](obj P) string {
	if obj == nil {
		return ""
	}
	return obj.GetAnnotations()[common.ApprovedByAnnotation]
}

// later refuses for now: clients try again by themselves.
func later(req admission.Request, err error) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusServiceUnavailable,
		Reason:  metav1.StatusReasonServiceUnavailable,
		Message: fmt.Sprintf("%s %s/%s: %v", strings.ToLower(req.Kind.Kind), req.Namespace, req.Name, err),
		Details: &metav1.StatusDetails{Group: req.Kind.Group, Kind: req.Resource.Resource, Name: req.Name, RetryAfterSeconds: 1},
	}}
}
