// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/egress"
	commonrules "github.com/fairlead-dev/fairlead/internal/rules"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/admission/authorization"
)

// authorizer decides whether the writer of an ExternalService has the rights to what the ExternalService does.
type authorizer struct {
	policy   Policy
	reviewer authorization.Reviewer
	services ServiceReader
	// isolation reads which pods a NetworkPolicy would isolate.
	isolation IsolationReader
}

// Stamp returns the annotation with the approval of the addresses of the cluster in obj. If a user does not change
// addresses and ports, the stored approval stays. Otherwise the writer needs the right. Without the right, or without
// addresses in the cluster, there is no approval.
func (a *authorizer) Stamp(ctx context.Context, req admission.Request, obj, old *networkingv1.ExternalService) (map[string]string, error) {
	same := unchanged(obj, old)
	switch {
	case req.SubResource != "":
		return nil, nil
	case !obj.DeletionTimestamp.IsZero(), same && egress.Approved(old):
		return authorization.Stamp(kept(obj, old)), nil
	case len(egress.StaticAddresses(&obj.Spec)) == 0, same && !a.policy.Synced():
		return authorization.Stamp(""), nil
	case !a.policy.Synced():
		return nil, authorization.RetryLater(req, authorization.ErrUnsynced)
	}
	if _, inCluster := split(a.check(req, obj, old)); len(inCluster) == 0 {
		return authorization.Stamp(""), nil
	}
	lacking, err := a.lacking(ctx, req)
	switch {
	case err != nil && same: // it was not approved before, so that it is not refused now
		return authorization.Stamp(""), nil
	case err != nil:
		return nil, authorization.RetryLater(req, authorization.Unknown(req, err))
	case len(lacking) > 0: // Validate refuses it, address by address
		return authorization.Stamp(""), nil
	}
	return authorization.Stamp(egress.Approval(obj, req.UserInfo.Username)), nil
}

// Validate refuses what the writer has no right to, and what no user may have. What an update does not change may stay,
// so that a user can repair another field.
func (a *authorizer) Validate(
	ctx context.Context, req admission.Request, obj, old *networkingv1.ExternalService,
) ([]string, field.ErrorList) {
	if req.SubResource != "" || !obj.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	warnings, errs := a.addresses(ctx, req, obj, old)
	errs = append(errs, a.secrets(ctx, req, obj, old)...)
	errs = append(errs, a.adoption(ctx, req, obj, old)...)
	errs = append(errs, a.fault(ctx, req, obj, old)...)
	isolated, lacking := a.networkPolicy(ctx, req, obj, old)
	warnings, errs = append(warnings, isolated...), append(errs, lacking...)
	warning, conflict := a.service(ctx, req, obj, old)
	if warning != "" {
		warnings = append(warnings, warning)
	}
	return warnings, append(errs, conflict...)
}

// publishing returns the rights that a user needs to publish an address of the cluster. With these, the user could do
// so without Fairlead.
func publishing(namespace string) []authorizationv1.ResourceAttributes {
	return []authorizationv1.ResourceAttributes{
		{Namespace: namespace, Verb: "create", Version: "v1", Resource: "services"},
		{Namespace: namespace, Verb: "create", Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
	}
}

// lacking returns the resources that the writer may not create.
func (a *authorizer) lacking(ctx context.Context, req admission.Request) ([]string, error) {
	var lacking []string
	for _, right := range publishing(req.Namespace) {
		allowed, err := a.reviewer.Allowed(ctx, req.UserInfo, right)
		if err != nil {
			return nil, err
		}
		if !allowed {
			name := right.Resource
			if right.Group != "" {
				name += "." + right.Group
			}
			lacking = append(lacking, name)
		}
	}
	return lacking, nil
}

// secrets requires the right to get each Secret of the health check: the operator reads it for the writer, and the result of
// a check shows what is in it. A credential takes the right again whenever it would be presented to something else: who may
// not read it must not have it sent to a server of their own.
func (a *authorizer) secrets(ctx context.Context, req admission.Request, obj, old *networkingv1.ExternalService) field.ErrorList {
	stood := map[string]bool{}
	isMoved := true
	if old != nil && !resumed(obj, old) {
		isMoved = !checksTheSame(obj, old)
		for _, s := range secretsOf(old) {
			stood[s.Name] = true
		}
	}
	var errs field.ErrorList
	asked := map[string]bool{}
	for _, s := range secretsOf(obj) {
		if asked[s.Name] || stood[s.Name] && (!s.IsCredential || !isMoved) {
			continue
		}
		asked[s.Name] = true
		errs = append(errs, a.require(ctx, req, s.Path,
			authorizationv1.ResourceAttributes{Namespace: req.Namespace, Verb: "get", Version: "v1", Resource: "secrets", Name: s.Name},
			fmt.Sprintf("get the Secret %q in namespace %q, which the operator would read; ask for the right to get it, or leave %s out", s.Name, req.Namespace, s.Field))...)
	}
	return errs
}

// adoption requires the right to update the Service that the object asks to take over.
func (a *authorizer) adoption(ctx context.Context, req admission.Request, obj, old *networkingv1.ExternalService) field.ErrorList {
	if !rules.Adopts(obj) || old != nil && rules.Adopts(old) && !resumed(obj, old) {
		return nil
	}
	path := field.NewPath("metadata", "annotations").Key(networkingv1.AdoptServiceAnnotation)
	if obj.Name == "" {
		return field.ErrorList{field.Forbidden(path, "the Service to take over has a name, so that this object needs one instead of generateName")}
	}
	return a.require(ctx, req, path, updateService(req, obj),
		fmt.Sprintf("update the Service %q in namespace %q, which the operator would take over; ask for the right to update it, or leave the annotation out", obj.Name, req.Namespace))
}

// updateService returns the right to update the Service of an object.
func updateService(req admission.Request, obj *networkingv1.ExternalService) authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{Namespace: req.Namespace, Verb: "update", Version: "v1", Resource: "services", Name: obj.Name}
}

// fault requires the right to update EndpointSlices, since an injected fault updates them. To end a fault needs no
// right.
func (a *authorizer) fault(ctx context.Context, req admission.Request, obj, old *networkingv1.ExternalService) field.ErrorList {
	fault := obj.Annotations[networkingv1.InjectFaultAnnotation]
	if fault == "" || old != nil && old.Annotations[networkingv1.InjectFaultAnnotation] == fault {
		return nil
	}
	return a.require(ctx, req, field.NewPath("metadata", "annotations").Key(networkingv1.InjectFaultAnnotation),
		authorizationv1.ResourceAttributes{Namespace: req.Namespace, Verb: "update", Group: "discovery.k8s.io", Version: "v1",
			Resource: "endpointslices"},
		fmt.Sprintf("update endpointslices.discovery.k8s.io in namespace %q, which the operator would do to inject the fault; ask for that right, or leave the annotation out", req.Namespace))
}

// require returns an error for the field if the writer lacks the right. The error names the right.
func (a *authorizer) require(
	ctx context.Context, req admission.Request, path *field.Path, right authorizationv1.ResourceAttributes, refusal string,
) field.ErrorList {
	allowed, err := a.reviewer.Allowed(ctx, req.UserInfo, right)
	switch {
	case err != nil:
		return field.ErrorList{field.InternalError(path, authorization.Unknown(req, err))}
	case !allowed:
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf("user %s may not %s", authorization.User(req), refusal))}
	}
	return nil
}

// secretsOf returns the Secrets that the health check names.
func secretsOf(es *networkingv1.ExternalService) []commonrules.CheckSecret {
	if es.Spec.HealthCheck == nil {
		return nil
	}
	return commonrules.CheckSecrets(field.NewPath("spec", "healthCheck"), &es.Spec.HealthCheck.Check)
}

// checksTheSame reports whether the health check of obj sends the same to the same places as that of old.
func checksTheSame(obj, old *networkingv1.ExternalService) bool {
	return equality.Semantic.DeepEqual(checkOf(obj), checkOf(old)) && equality.Semantic.DeepEqual(places(obj), places(old))
}

// places returns what of a spec decides where a check is sent. To put an endpoint back into service, or to prefer it, is not
// to choose what is reached.
func places(es *networkingv1.ExternalService) networkingv1.ExternalServiceSpec {
	spec := networkingv1.ExternalServiceSpec{Ports: es.Spec.Ports}
	for i := range es.Spec.Endpoints {
		e := &es.Spec.Endpoints[i]
		spec.Endpoints = append(spec.Endpoints, networkingv1.Endpoint{DNS: e.DNS, Addresses: e.Addresses, Ports: e.Ports})
	}
	return spec
}

// unchanged reports whether obj publishes the same static addresses as old.
func unchanged(obj, old *networkingv1.ExternalService) bool {
	return old != nil && !resumed(obj, old) && !checksOtherwise(obj, old) && egress.Digest(&obj.Spec) == egress.Digest(&old.Spec)
}

// kept returns the approval that obj has even if its writer lacks the right. It is that of old, if obj publishes what
// old published.
func kept(obj, old *networkingv1.ExternalService) string {
	if unchanged(obj, old) && egress.Approved(old) {
		return egress.KeptApproval(obj, old)
	}
	return authorization.Approval(old)
}

// checksOtherwise reports whether the health check of obj sends something else to the static addresses than that of
// old. To activate an endpoint, or to change its priority, does not count.
func checksOtherwise(obj, old *networkingv1.ExternalService) bool {
	return egress.Digest(&obj.Spec) != "" && obj.Spec.HealthCheck != nil &&
		!equality.Semantic.DeepEqual(checkOf(obj), checkOf(old))
}

// checkOf returns what a health check sends, without its intervals; nil if there is no health check.
func checkOf(es *networkingv1.ExternalService) *common.Check {
	defaulted := &networkingv1.ExternalService{Spec: *es.Spec.DeepCopy()}
	rules.Default(defaulted)
	check := defaulted.Spec.HealthCheck
	if check == nil {
		return nil
	}
	return ptr.To(check.Request())
}

// resumed reports whether obj is no longer suspended.
func resumed(obj, old *networkingv1.ExternalService) bool {
	return old != nil && ptr.Deref(old.Spec.Suspend, false) && !ptr.Deref(obj.Spec.Suspend, false)
}
