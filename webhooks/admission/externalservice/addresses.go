// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/admission/authorization"
)

// Policy is an *egress.Policy.
type Policy interface {
	// Synced reports whether the ranges of the cluster are known.
	Synced() bool
	// CheckPorts returns whether an address may be published with all of these ports.
	CheckPorts(q egress.Query, ports []uint16) egress.Verdict
}

var _ Policy = (*egress.Policy)(nil)

// checkedAddress is a static address with two verdicts: for any writer, and for a writer with the right to publish
// addresses of the cluster.
type checkedAddress struct {
	egress.Static
	any, entitled egress.Verdict
}

func (c checkedAddress) path() *field.Path {
	return field.NewPath("spec", "endpoints").Index(c.Endpoint).Child("addresses").Index(c.Address)
}

// check checks all static addresses. It ignores texts that are not addresses, which the rules of the kind refuse.
func (a *authorizer) check(req admission.Request, obj, old *networkingv1.ExternalService) []checkedAddress {
	var all []checkedAddress
	for _, static := range egress.StaticAddresses(&obj.Spec) {
		if !static.IP.IsValid() {
			continue
		}
		q := egress.Query{Namespace: req.Namespace, IP: static.IP, Held: wasThere(checkedAddress{Static: static}, obj, old)}
		c := checkedAddress{Static: static, any: a.policy.CheckPorts(q, static.Ports)}
		q.Authorized = true
		c.entitled = a.policy.CheckPorts(q, static.Ports)
		all = append(all, c)
	}
	return all
}

// split returns the addresses that no user may publish, and those that need a right.
func split(all []checkedAddress) (denied, inCluster []checkedAddress) {
	for _, c := range all {
		switch {
		case c.any.Allowed:
		case c.entitled.Allowed:
			inCluster = append(inCluster, c)
		default:
			denied = append(denied, c)
		}
	}
	return denied, inCluster
}

// addresses refuses addresses that no user may publish, addresses of the cluster that the writer may not publish, and
// forged approvals. Mutating webhooks of others may have run after Stamp. So an approval counts only if it was stored
// before, or is by the writer, who has the right.
func (a *authorizer) addresses(
	ctx context.Context, req admission.Request, obj, old *networkingv1.ExternalService,
) ([]string, field.ErrorList) {
	same := unchanged(obj, old)
	given := authorization.Approval(obj)
	claimed := given != "" && given != kept(obj, old)
	if len(egress.StaticAddresses(&obj.Spec)) == 0 {
		return nil, nil // nothing needs an approval
	}
	if !a.policy.Synced() {
		if same && !claimed {
			return nil, nil
		}
		return nil, field.ErrorList{field.InternalError(field.NewPath("spec", "endpoints"), authorization.ErrUnsynced)}
	}
	denied, inCluster := split(a.check(req, obj, old))
	errs := refusals(denied, obj, old)
	if same && !claimed {
		return unapproved(obj, inCluster), errs
	}
	if len(inCluster) == 0 && !claimed {
		return nil, errs
	}
	lacking, err := a.lacking(ctx, req)
	switch annotation := field.NewPath("metadata", "annotations").Key(common.ApprovedByAnnotation); {
	case err != nil:
		return nil, append(errs, field.InternalError(field.NewPath("spec", "endpoints"), authorization.Unknown(req, err)))
	case len(lacking) > 0 && claimed:
		errs = append(errs, field.Forbidden(annotation, fmt.Sprintf(
			"user %s may not create %s in namespace %q, so another admission webhook cannot approve in the user's name; have it leave this annotation alone",
			authorization.User(req), strings.Join(lacking, " and "), req.Namespace)))
	case len(lacking) == 0 && given != egress.Approval(obj, req.UserInfo.Username):
		errs = append(errs, field.Forbidden(annotation,
			"is not as Fairlead set it: another admission webhook has changed the object, or the cluster has just changed; try again"))
	}
	if same {
		return nil, errs
	}
	if len(lacking) == 0 {
		return nil, errs
	}
	var warnings []string
	for _, c := range inCluster {
		if wasThere(c, obj, old) && !egress.Approved(old) {
			warnings = append(warnings, unapproved(obj, []checkedAddress{c})...)
			continue
		}
		errs = append(errs, field.Forbidden(c.path(), fmt.Sprintf(
			"%s %s, and user %s may not create %s in namespace %q; ask for that right, or have an administrator allow the address in the operator's egress policy",
			c.IP, c.any.Detail, authorization.User(req), strings.Join(lacking, " and "), req.Namespace)))
	}
	return warnings, errs
}

// refusals returns an error for each address that no user may publish, except for those that were stored before.
func refusals(denied []checkedAddress, obj, old *networkingv1.ExternalService) field.ErrorList {
	var errs field.ErrorList
	for _, c := range denied {
		if wasThere(c, obj, old) {
			continue
		}
		remedy := "use another address"
		if c.entitled.Reason.InCluster() || slices.Contains([]egress.Reason{egress.ReasonMetadata, egress.ReasonDeniedByPolicy,
			egress.ReasonNotAllowed}, c.entitled.Reason) {
			remedy = "use another address, or have an administrator change the operator's egress policy"
		}
		errs = append(errs, field.Forbidden(c.path(), fmt.Sprintf("%s %s (%s); %s", c.IP, c.entitled.Detail, c.entitled.Reason, remedy)))
	}
	return errs
}

// wasThere reports whether the stored object has the address with the same ports, and this update does not resume the
// object.
func wasThere(c checkedAddress, obj, old *networkingv1.ExternalService) bool {
	if old == nil || resumed(obj, old) {
		return false
	}
	return slices.ContainsFunc(egress.StaticAddresses(&old.Spec), func(before egress.Static) bool {
		return before.IP == c.IP && slices.Equal(before.Ports, c.Ports)
	})
}

// unapproved warns of addresses that became part of the cluster after they were written. They are not published until a
// user with the right writes the object.
func unapproved(obj *networkingv1.ExternalService, inCluster []checkedAddress) []string {
	if len(inCluster) == 0 || egress.Approved(obj) {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s %s, and is not published before a user who may create Services and EndpointSlices here changes an annotation or the spec",
		inCluster[0].path(), inCluster[0].IP, inCluster[0].any.Detail)}
}
