// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

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
)

// judged is a static address and what becomes of it: as anybody's, and as one that the writer has the
// right to publish.
type judged struct {
	egress.Static
	anybodys, entitled egress.Verdict
}

func (j judged) path() *field.Path {
	return field.NewPath("spec", "endpoints").Index(j.Endpoint).Child("addresses").Index(j.Address)
}

// judge judges all static addresses. Texts that are no address are left to the rules of the kind.
func (a *ExternalService) judge(req admission.Request, obj *networkingv1.ExternalService) []judged {
	var all []judged
	for _, static := range egress.StaticAddresses(&obj.Spec) {
		if !static.IP.IsValid() {
			continue
		}
		q := egress.Query{Namespace: req.Namespace, IP: static.IP}
		j := judged{Static: static, anybodys: a.options.Policy.CheckPorts(q, static.Ports)}
		q.Authorized = true
		j.entitled = a.options.Policy.CheckPorts(q, static.Ports)
		all = append(all, j)
	}
	return all
}

// split returns the addresses that no user may publish, and those that take the right to.
func split(all []judged) (denied, inCluster []judged) {
	for _, j := range all {
		switch {
		case j.anybodys.Allowed:
		case j.entitled.Allowed:
			inCluster = append(inCluster, j)
		default:
			denied = append(denied, j)
		}
	}
	return denied, inCluster
}

// addresses refuses addresses that no user may publish, addresses of the cluster that the writer may
// not, and an approval that is not deserved. Mutating webhooks of others ran after ours, so the
// approval is worth here only what can be seen to be true: it is the one that stood, or it is the
// writer's, who has the right.
func (a *ExternalService) addresses(ctx context.Context, req admission.Request, obj, old *networkingv1.ExternalService) ([]string, field.ErrorList) {
	same := unchanged(obj, old)
	given := approvalOf(obj)
	claimed := given != "" && given != approvalOf(old)
	if len(egress.StaticAddresses(&obj.Spec)) == 0 {
		return nil, nil // an approval is of no use without
	}
	if !a.options.Policy.Synced() {
		if same && !claimed {
			return nil, nil
		}
		return nil, field.ErrorList{field.InternalError(field.NewPath("spec", "endpoints"), errUnsynced)}
	}
	denied, inCluster := split(a.judge(req, obj))
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
		return nil, append(errs, field.InternalError(field.NewPath("spec", "endpoints"), unanswered(req, err)))
	case len(lacking) > 0 && claimed:
		errs = append(errs, field.Forbidden(annotation, fmt.Sprintf(
			"user %s may not create %s in namespace %q, so another admission webhook cannot approve in the user's name; have it leave this annotation alone",
			user(req), strings.Join(lacking, " and "), req.Namespace)))
	case len(lacking) == 0 && given != egress.Approval(obj, req.User.Username):
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
	for _, j := range inCluster {
		if stood(j, obj, old) && !egress.Approved(old) {
			warnings = append(warnings, unapproved(obj, []judged{j})...)
			continue
		}
		errs = append(errs, field.Forbidden(j.path(), fmt.Sprintf(
			"%s %s, and user %s may not create %s in namespace %q; ask for that right, or have an administrator allow the address in the operator's egress policy",
			j.IP, j.anybodys.Detail, user(req), strings.Join(lacking, " and "), req.Namespace)))
	}
	return warnings, errs
}

// refusals names the addresses that no user may publish, except those that were there before.
func refusals(denied []judged, obj, old *networkingv1.ExternalService) field.ErrorList {
	var errs field.ErrorList
	for _, j := range denied {
		if stood(j, obj, old) {
			continue
		}
		remedy := "use another address"
		if j.entitled.Reason.InCluster() || slices.Contains([]egress.Reason{egress.ReasonMetadata, egress.ReasonDeniedByPolicy, egress.ReasonNotAllowed}, j.entitled.Reason) {
			remedy = "use another address, or have an administrator change the operator's egress policy"
		}
		errs = append(errs, field.Forbidden(j.path(), fmt.Sprintf("%s %s (%s); %s", j.IP, j.entitled.Detail, j.entitled.Reason, remedy)))
	}
	return errs
}

// stood says whether the stored object has the address with the same ports already, and is not woken
// up by this update.
func stood(j judged, obj, old *networkingv1.ExternalService) bool {
	if old == nil || resumed(obj, old) {
		return false
	}
	return slices.ContainsFunc(egress.StaticAddresses(&old.Spec), func(before egress.Static) bool {
		return before.IP == j.IP && slices.Equal(before.Ports, j.Ports)
	})
}

// unapproved warns of addresses that came to be the cluster's after they were written: nothing is
// published there until a user with the right to writes the object.
func unapproved(obj *networkingv1.ExternalService, inCluster []judged) []string {
	if len(inCluster) == 0 || egress.Approved(obj) {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s %s, and is not published before a user who may create Services and EndpointSlices here changes an annotation or the spec",
		inCluster[0].path(), inCluster[0].IP, inCluster[0].anybodys.Detail)}
}
