// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/admission/admissiontest"
	"github.com/fairlead-dev/fairlead/webhooks/admission/authorization"
)

func suspended(es *networkingv1.ExternalService) *networkingv1.ExternalService {
	es.Spec.Suspend = ptr.To(true)
	return es
}

func edited(es *networkingv1.ExternalService, edit func(*networkingv1.ExternalService)) *networkingv1.ExternalService {
	es = es.DeepCopy()
	edit(es)
	return es
}

func TestWritersGetOnlyTheAddressesTheyMayPublish(t *testing.T) {
	const address = "spec.endpoints[1].addresses[0]"
	stored := approvedBy(ann, with(inside))
	annotation := "metadata.annotations[" + common.ApprovedByAnnotation + "]"
	rename := func(es *networkingv1.ExternalService) { es.Spec.Endpoints[0].DNS.Name = "db.example.org" }
	renameEndpoint := func(es *networkingv1.ExternalService) { es.Spec.Endpoints[1].Name = "pinned" }
	split := func(es *networkingv1.ExternalService) {
		all := es.Spec.Endpoints[1].Addresses
		es.Spec.Endpoints[1].Addresses = all[:1]
		es.Spec.Endpoints = append(es.Spec.Endpoints, networkingv1.Endpoint{Name: "more", Addresses: all[1:]})
	}
	two := approvedBy(ann, with(inside, "10.0.0.12"))
	former := claiming(formerApproval, with(inside))
	for name, test := range map[string]struct {
		user     string
		obj, old *networkingv1.ExternalService
		others   func(*networkingv1.ExternalService)
		refused  string // field of the one error; "" for none
		approver string // whose approval is stored; "" for none
		warns    string
	}{
		"create, names only":             {user: eve, obj: with()},
		"create, outside":                {user: eve, obj: with(outside)},
		"create, inside, with the right": {user: ann, obj: with(inside), approver: ann},
		"create, inside, without":        {user: eve, obj: with(inside), refused: address},
		"create, second address inside":  {user: eve, obj: with(outside, inside), refused: "spec.endpoints[1].addresses[1]"},
		"create, denied to all":          {user: ann, obj: with(denied), refused: address},
		"create, denied and inside":      {user: ann, obj: with(inside, denied), refused: "spec.endpoints[1].addresses[1]", approver: ann},
		"create, suspended, inside":      {user: eve, obj: suspended(with(inside)), refused: address},
		"create, drained, inside": {user: eve, obj: edited(with(inside), func(es *networkingv1.ExternalService) {
			es.Spec.Endpoints[1].State = ptr.To(networkingv1.EndpointDrained)
		}), refused: address},
		"create, forged approval, inside":  {user: eve, obj: approvedBy(ann, with(inside)), refused: address},
		"create, forged approval, outside": {user: eve, obj: approvedBy(ann, with(outside))},
		"create, nonsense for an approval": {user: ann, obj: claiming("root", with(inside)), approver: ann},

		"forged by another webhook, outside":             {user: eve, obj: with(outside), others: func(es *networkingv1.ExternalService) { approvedBy(eve, es) }, refused: annotation},
		"forged by another webhook, in ann's name":       {user: ann, obj: with(outside), others: func(es *networkingv1.ExternalService) { approvedBy(bea, es) }, refused: annotation},
		"address added by another webhook after ours":    {user: ann, obj: with(outside), others: func(es *networkingv1.ExternalService) { es.Spec.Endpoints[1].Addresses[0] = inside }, refused: annotation},
		"approval taken by another webhook":              {user: ann, obj: with(inside), others: stripped, refused: annotation},
		"approval taken by another webhook, on update":   {user: eve, obj: edited(stored, rename), old: stored, others: stripped, warns: address},
		"forged by another webhook, on update":           {user: eve, obj: with(inside), old: with(inside), others: func(es *networkingv1.ExternalService) { approvedBy(ann, es) }, refused: annotation},
		"older approval put back by another webhook":     {user: eve, obj: with(inside, outside), old: claiming("x", with(inside, outside)), others: func(es *networkingv1.ExternalService) { approvedBy(ann, es) }, refused: annotation},
		"approved for other addresses, then used by eve": {user: eve, obj: claiming(authorization.Approval(stored), with("10.0.0.12")), old: stored, refused: address},

		"update by another, addresses as they were":         {user: eve, obj: edited(stored, rename), old: stored, approver: ann},
		"update that leaves the annotation out (v1alpha1)":  {user: eve, obj: with(inside), old: stored, approver: ann},
		"update that forges the annotation":                 {user: eve, obj: approvedBy(eve, with(inside)), old: stored, approver: ann},
		"update by another with the right":                  {user: bea, obj: edited(stored, rename), old: stored, approver: ann},
		"update of another's addresses, with the right":     {user: bea, obj: with(inside, outside), old: stored, approver: bea},
		"update of another's addresses, without":            {user: eve, obj: with(inside, outside), old: stored, refused: address},
		"update of the port, without":                       {user: eve, obj: edited(stored, func(es *networkingv1.ExternalService) { es.Spec.Ports[0].Port = 10250 }), old: stored, refused: address},
		"update that removes what is inside":                {user: eve, obj: with(outside), old: stored},
		"update that adds what is denied":                   {user: ann, obj: with(outside, denied), old: with(outside), refused: "spec.endpoints[1].addresses[1]"},
		"update beside what is denied":                      {user: eve, obj: with(denied, outside), old: with(denied)},
		"update beside what is denied, port":                {user: eve, obj: edited(with(denied), func(es *networkingv1.ExternalService) { es.Spec.Ports[0].Port = 1 }), old: with(denied), refused: address},
		"update of what was never approved, by one without": {user: eve, obj: edited(with(inside), rename), old: with(inside), warns: address},
		"update of what was never approved, by one with":    {user: ann, obj: edited(with(inside), rename), old: with(inside), approver: ann},
		"shrinks what was never approved":                   {user: eve, obj: with(inside), old: with(inside, "10.0.0.12"), warns: address},
		"shrinks what was approved, without":                {user: eve, obj: with(inside), old: approvedBy(ann, with(inside, "10.0.0.12")), refused: address},
		"update of a stale approval":                        {user: eve, obj: claiming(authorization.Approval(approvedBy(ann, with(outside))), with(inside)), old: claiming(authorization.Approval(approvedBy(ann, with(outside))), with(inside)), warns: address},

		"an endpoint renamed by another":           {user: eve, obj: edited(stored, renameEndpoint), old: stored, approver: ann},
		"an endpoint renamed, and approval forged": {user: eve, obj: approvedBy(eve, edited(stored, renameEndpoint)), old: stored, approver: ann},
		"an endpoint split by another":             {user: eve, obj: edited(two, split), old: two, approver: ann},
		"an endpoint renamed, and another port": {user: eve, obj: edited(edited(stored, renameEndpoint), func(es *networkingv1.ExternalService) { es.Spec.Ports[0].Port = 22 }), old: stored,
			refused: address},
		"an endpoint renamed that was never approved":    {user: eve, obj: edited(with(inside), renameEndpoint), old: with(inside), warns: address},
		"an endpoint renamed, approval of a former form": {user: eve, obj: edited(former, renameEndpoint), old: former, approver: ann},
		"another address beside approval of a former form": {user: eve, obj: edited(former, func(es *networkingv1.ExternalService) { es.Spec.Endpoints[1].Addresses[0] = "10.0.0.12" }), old: former,
			refused: address},
		"former approval put back for another name": {user: eve, obj: edited(former, renameEndpoint), old: former,
			others: func(es *networkingv1.ExternalService) { claiming(formerApproval, es) }, refused: annotation},

		"resume, without":       {user: eve, obj: stored, old: suspended(approvedBy(ann, with(inside))), refused: address},
		"resume, with":          {user: bea, obj: stored, old: suspended(approvedBy(ann, with(inside))), approver: bea},
		"resume, same user":     {user: ann, obj: stored, old: suspended(approvedBy(ann, with(inside))), approver: ann},
		"resume what is denied": {user: ann, obj: with(denied), old: suspended(with(denied)), refused: address},
		"suspend, without":      {user: eve, obj: suspended(approvedBy(ann, with(inside))), old: stored, approver: ann},
	} {
		t.Run(name, func(t *testing.T) {
			for _, dryRun := range []bool{false, true} {
				s, req := newSuite(), request(test.user, test.old != nil)
				req.DryRun = &dryRun
				got, warnings, errs, err := s.admit(t, req, test.obj, test.old, test.others)
				if err != nil {
					t.Fatal(err)
				}
				var fields []string
				for _, e := range errs {
					fields = append(fields, e.Field)
				}
				if test.refused == "" && len(errs) > 0 || test.refused != "" && !slices.Equal(fields, []string{test.refused}) {
					t.Errorf("refused with %v, want %q", errs, test.refused)
				}
				if test.refused == "" || test.approver != "" {
					want := ""
					if test.approver != "" {
						want = egress.Approval(got, test.approver)
					}
					if diff := cmp.Diff(want, authorization.Approval(got)); diff != "" {
						t.Errorf("approval (-want +got):\n%s", diff)
					}
				}
				if all := strings.Join(warnings, "\n"); (all == "") != (test.warns == "") || !strings.Contains(all, test.warns) {
					t.Errorf("warned %q, want %q", warnings, test.warns)
				}
			}
		})
	}
}

// formerApproval is the approval that an earlier version wrote for with(inside). It covered the names of endpoints too.
const formerApproval = `{"user":"` + ann + `","digest":"sha256:531a32f834340c3bef759fd145501fd6f2930b84452654e05bc3e79c08b4584e"}`

func TestAnApprovalOfAFormerFormStays(t *testing.T) {
	former := claiming(formerApproval, with(inside))
	for name, edit := range map[string]func(*networkingv1.ExternalService){
		"nothing": func(*networkingv1.ExternalService) {},
		"a label": func(es *networkingv1.ExternalService) { es.Labels = map[string]string{"a": "b"} },
		"dropped": stripped,
	} {
		s := newSuite()
		s.rights.Err = errors.New("must not be asked")
		got, warnings, errs, err := s.admit(t, request(eve, true), edited(former, edit), former, nil)
		if err != nil || len(errs)+len(warnings) > 0 || authorization.Approval(got) != formerApproval {
			t.Errorf("%s: %s, %v, %v, %v", name, authorization.Approval(got), warnings, errs, err)
		}
	}
}

func TestARefusalSaysWhoLacksWhatAndWhatToDo(t *testing.T) {
	s := newSuite()
	_, _, errs, err := s.admit(t, request(eve, false), with(inside, denied), nil, nil)
	if err != nil || len(errs) != 2 {
		t.Fatalf("%v, %v", errs, err)
	}
	all := errs.ToAggregate().Error()
	for _, want := range []string{inside, denied, `user "eve"`, "services and endpointslices.discovery.k8s.io", `namespace "shop"`, "egress policy", "ask for that right", "DeniedByPolicy"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s\ndoes not say %q", all, want)
		}
	}
}

func TestTheQuestionIsAboutTheWriterAndTheNamespace(t *testing.T) {
	s := newSuite()
	if _, err := s.Stamp(t.Context(), request(ann, false), with(inside), nil); err != nil {
		t.Fatal(err)
	}
	want := []authorizationv1.ResourceAttributes{
		{Namespace: "shop", Verb: "create", Version: "v1", Resource: "services"},
		{Namespace: "shop", Verb: "create", Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
	}
	if diff := cmp.Diff(want, s.rights.Rights); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(request(ann, false).UserInfo, s.rights.Users[0]); diff != "" {
		t.Errorf("asked about another user (-want +got):\n%s", diff)
	}
}

func TestNothingIsAskedWhereNothingOfConcernChanged(t *testing.T) {
	gone := approvedBy(ann, with(inside))
	gone.DeletionTimestamp = ptr.To(metav1.Now())
	status := request(eve, true)
	status.SubResource = "status"
	for name, test := range map[string]struct {
		req      admission.Request
		obj, old *networkingv1.ExternalService
	}{
		"addresses outside":   {request(eve, false), with(outside), nil},
		"approved before":     {request(eve, true), with(inside), approvedBy(ann, with(inside))},
		"being deleted":       {request(eve, true), gone, gone},
		"another subresource": {status, with(inside), with(outside)},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite()
			s.rights.Err = errors.New("must not be asked")
			got, warnings, errs, err := s.admit(t, test.req, test.obj, test.old, nil)
			if err != nil || len(errs) > 0 || len(warnings) > 0 || len(s.rights.Rights) > 0 {
				t.Errorf("asked %v; warned %v; refused %v, %v", s.rights.Rights, warnings, errs, err)
			}
			if test.old != nil && egress.Approved(test.old) && authorization.Approval(got) != authorization.Approval(test.old) {
				t.Errorf("the approval became %q", authorization.Approval(got))
			}
		})
	}
}

func TestAnApprovalIsNotForgedOnAnObjectThatIsGoing(t *testing.T) {
	gone := with(inside)
	gone.DeletionTimestamp = ptr.To(metav1.Now())
	got, _, _, err := newSuite().admit(t, request(eve, true), approvedBy(ann, gone.DeepCopy()), gone, nil)
	if err != nil || authorization.Approval(got) != "" {
		t.Errorf("%q, %v", authorization.Approval(got), err)
	}
}

func TestWithoutAnAnswerNothingIsAllowed(t *testing.T) {
	s := newSuite()
	s.rights.Err = errors.New("no route to host")
	_, err := s.Stamp(t.Context(), request(ann, false), with(inside), nil)
	var status *apierrors.StatusError
	if !errors.As(err, &status) || status.ErrStatus.Code != 503 || status.ErrStatus.Details.RetryAfterSeconds == 0 ||
		!strings.Contains(err.Error(), "no route to host") || !strings.Contains(err.Error(), "shop/db") || !strings.Contains(err.Error(), "try again") {
		t.Errorf("Stamp: %v", err)
	}
	_, errs := s.Validate(t.Context(), request(ann, false), approvedBy(ann, with(inside)), nil)
	if len(errs) != 1 || errs[0].Field != "spec.endpoints" || !strings.Contains(errs[0].Error(), "no route to host") {
		t.Errorf("Validate: %v", errs)
	}
	// What was not approved before is not approved now, and the update is about something else.
	obj := edited(with(inside), func(es *networkingv1.ExternalService) { es.Labels = map[string]string{"a": "b"} })
	got, _, errs, err := s.admit(t, request(ann, true), obj, with(inside), nil)
	if err != nil || len(errs) > 0 || authorization.Approval(got) != "" {
		t.Errorf("an update of something else: %q, %v, %v", authorization.Approval(got), errs, err)
	}
}

func TestBeforeTheRangesAreKnownWritersAreToldToTryAgain(t *testing.T) {
	s := newSuite()
	s.policy = admissiontest.Unsynced{Policy: egress.NewPolicy(egress.Options{})}
	_, err := s.Stamp(t.Context(), request(ann, false), with(outside), nil)
	var status *apierrors.StatusError
	if !errors.As(err, &status) || status.ErrStatus.Code != 503 || !strings.Contains(err.Error(), "try again") {
		t.Errorf("Stamp: %v", err)
	}
	if _, errs := s.Validate(t.Context(), request(ann, false), with(outside), nil); len(errs) != 1 || !strings.Contains(errs[0].Error(), "try again") {
		t.Errorf("Validate: %v", errs)
	}
	for name, pair := range map[string][2]*networkingv1.ExternalService{
		"names only":      {with(), nil},
		"nothing changed": {with(inside), with(inside)},
		"kept":            {with(inside), approvedBy(ann, with(inside))},
	} {
		got, _, errs, err := s.admit(t, request(eve, pair[1] != nil), pair[0], pair[1], nil)
		if err != nil || len(errs) > 0 || authorization.Approval(got) != authorization.Approval(pair[1]) {
			t.Errorf("%s: %q, %v, %v", name, authorization.Approval(got), errs, err)
		}
	}
}

func TestWhatTheRulesRefuseIsLeftToThem(t *testing.T) {
	if _, _, errs, err := newSuite().admit(t, request(eve, false), with("nonsense"), nil, nil); err != nil || len(errs) > 0 {
		t.Errorf("%v, %v", errs, err)
	}
}

func TestAPolicyThatDeniesTheClusterIsNotOpenedByAnyRight(t *testing.T) {
	s := newSuite()
	s.policy = egress.NewPolicy(egress.Options{ClusterDeny: true, ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}})
	got, _, errs, err := s.admit(t, request(ann, false), with(inside), nil, nil)
	if err != nil || len(errs) != 1 || !strings.Contains(errs[0].Error(), "ClusterCIDR") || authorization.Approval(got) != "" {
		t.Errorf("%v, %v", errs, err)
	}
}
