// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/approval"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/admission/admissiontest"
	"github.com/fairlead-dev/fairlead/webhooks/admission/authorization"
)

const (
	ann = admissiontest.Ann
	eve = admissiontest.Eve
)

func request(user string, update bool) admission.Request {
	return admissiontest.Request(user, chaosv1.GroupVersion.WithKind("ChaosPod"), "chaospods", "payments", update)
}

// killer is a ChaosPod on the Deployment api, with changes.
func killer(changes ...func(*chaosv1.ChaosPod)) *chaosv1.ChaosPod {
	p := &chaosv1.ChaosPod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "payments", UID: "u-1"},
		Spec: chaosv1.ChaosPodSpec{
			DryRun:   ptr.To(false),
			Target:   chaosv1.Target{Workload: &common.WorkloadReference{Kind: common.WorkloadDeployment, Name: "api"}},
			Schedule: chaosv1.Schedule{Cron: "0 9 * * *"},
		},
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

func approvedFor(user string) func(*chaosv1.ChaosPod) {
	return func(p *chaosv1.ChaosPod) {
		p.Annotations = map[string]string{common.ApprovedByAnnotation: approval.Value(user, approval.ChaosPodDigest(&p.Spec))}
	}
}

func TestAChaosPodDoesOnlyWhatItsWriterMay(t *testing.T) {
	type pod = *chaosv1.ChaosPod
	dry := func(p pod) { p.Spec.DryRun = nil }
	still := func(p pod) { p.Spec.Suspend = ptr.To(true) }
	deletes := func(p pod) { p.Spec.Action = &chaosv1.Action{Type: ptr.To(chaosv1.ActionDelete)} }
	canary := func(p pod) {
		p.Spec.Target = chaosv1.Target{Template: &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "pause"}}}}}
	}
	as := func(account string) func(pod) { return func(p pod) { p.Spec.ServiceAccountName = account } }
	hourly := func(p pod) { p.Spec.Schedule.Cron = "0 * * * *" }
	now := func(p pod) {
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[chaosv1.RunNowAnnotation] = "1"
	}
	probing := func(host, authority string) func(pod) {
		return func(p pod) {
			p.Spec.Verification = &common.Verification{Probes: []common.VerificationProbe{{Name: "up", Host: host,
				HTTPGet: &common.HTTPGetAction{Port: ptr.To(intstr.FromInt32(443))}, TLS: &common.CheckTLS{CASecretName: authority}}}}
		}
	}
	labeled := func(p pod) { p.Labels = map[string]string{"a": "b"} }
	const probe = "spec.verification.probes[0].host"
	evict, remove, creating, account := "create pods/eviction", "delete pods", "create pods", "impersonate serviceaccounts admin"
	for name, test := range map[string]struct {
		denied   []string // of eve
		obj, old pod
		refused  []string // fields
		approver string
	}{
		"evict, without":                {[]string{evict}, killer(), nil, []string{"spec.action.type"}, ""},
		"evict, dry run, without":       {[]string{evict}, killer(dry), nil, []string{"spec.action.type"}, ""},
		"evict, suspended, without":     {[]string{evict}, killer(still), nil, []string{"spec.action.type"}, ""},
		"evict, with":                   {[]string{remove, creating}, killer(), nil, nil, eve},
		"delete, without":               {[]string{remove}, killer(deletes), nil, []string{"spec.action.type"}, ""},
		"delete, with":                  {[]string{evict, creating}, killer(deletes), nil, nil, eve},
		"what it shows, without":        {[]string{"get pods"}, killer(), nil, []string{"spec.target"}, ""},
		"canary, without making pods":   {[]string{creating}, killer(canary), nil, []string{"spec.target.template"}, ""},
		"canary, without evicting them": {[]string{evict}, killer(canary), nil, []string{"spec.action.type"}, ""},
		"canary, with":                  {[]string{remove, "get pods", "list pods"}, killer(canary), nil, nil, eve},
		"account, without":              {[]string{account}, killer(as("admin")), nil, []string{"spec.serviceAccountName"}, ""},
		"account, with":                 {[]string{account, evict, remove}, killer(as("robot")), nil, nil, eve},
		"account that shows, without":   {[]string{"list pods"}, killer(as("robot")), nil, []string{"spec.target"}, ""},
		"the end of a dry run, without": {[]string{evict}, killer(), killer(dry, approvedFor(ann)), []string{"spec.action.type"}, ""},
		"the end of a pause, without":   {[]string{evict}, killer(), killer(still, approvedFor(ann)), []string{"spec.action.type"}, ""},
		"a dry run, without":            {[]string{evict}, killer(dry), killer(approvedFor(ann)), nil, ann},
		"a pause, without":              {[]string{evict}, killer(still), killer(approvedFor(ann)), nil, ann},
		"another schedule, without":     {[]string{evict}, killer(hourly), killer(approvedFor(ann)), []string{"spec.action.type"}, ""},
		"delete instead, without":       {[]string{remove}, killer(deletes), killer(approvedFor(ann)), []string{"spec.action.type"}, ""},
		"another target, without":       {[]string{evict}, killer(func(p pod) { p.Spec.Target.Workload.Name = "db" }), killer(approvedFor(ann)), []string{"spec.action.type"}, ""},
		"another account, without":      {[]string{account}, killer(as("admin")), killer(as("robot"), approvedFor(ann)), []string{"spec.serviceAccountName"}, ""},
		"run-now, without":              {[]string{evict}, killer(now), killer(approvedFor(ann)), []string{"spec.action.type"}, ""},
		"run-now, with":                 {nil, killer(now), killer(approvedFor(ann)), nil, eve},
		"a label, without":              {[]string{evict}, killer(labeled), killer(approvedFor(ann)), nil, ann},
		"probe of a host outside":       {nil, killer(probing("192.0.2.1", "")), nil, nil, eve},
		"probe of a name":               {nil, killer(probing("db.shop.svc", "")), nil, nil, eve},
		"probe of a host inside":        {nil, killer(probing(admissiontest.Inside, "")), nil, []string{probe}, eve},
		"probe of the operator itself":  {nil, killer(probing("127.0.0.1", "")), nil, []string{probe}, eve},
		"a host inside that stays":      {nil, killer(labeled, probing(admissiontest.Inside, "")), killer(probing(admissiontest.Inside, ""), approvedFor(ann)), nil, ann},
		"the same, no longer suspended": {nil, killer(probing(admissiontest.Inside, "")), killer(still, probing(admissiontest.Inside, ""), approvedFor(ann)), []string{probe}, eve},
		"another probe, without":        {[]string{evict}, killer(probing("192.0.2.1", "")), killer(approvedFor(ann)), []string{"spec.action.type"}, ""},
		"authority, without":            {[]string{"get secrets roots"}, killer(probing("192.0.2.1", "roots")), nil, []string{"spec.verification.probes[0].tls.caSecretName"}, ""},
		"authority of a dry run":        {[]string{"get secrets roots"}, killer(dry, as("robot"), probing("192.0.2.1", "roots")), nil, []string{"spec.verification.probes[0].tls.caSecretName"}, ""},
		"forged":                        {[]string{evict}, killer(approvedFor(ann)), nil, []string{"spec.action.type"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAuthorizer(&admissiontest.Reviewer{Denied: map[string][]string{eve: test.denied}}, admissiontest.NewPolicy())
			req := request(eve, test.old != nil)
			got, _, errs, err := admissiontest.Admit(t, a, req, test.obj, test.old, nil)
			if err != nil {
				t.Fatal(err)
			}
			var fields []string
			for _, e := range errs {
				fields = append(fields, e.Field)
			}
			if !slices.Equal(fields, test.refused) {
				t.Errorf("refused %v, want %q", errs, test.refused)
			}
			want := ""
			if test.approver != "" {
				want = approval.Value(test.approver, approval.ChaosPodDigest(&got.Spec))
			}
			if given := authorization.Approval(got); given != want || approval.ChaosPodApproved(got) != (want != "") {
				t.Errorf("the approval is %q, want %q", given, want)
			}
		})
	}
}

func TestOfADeletedChaosPodAndOfItsStatusNothingIsAsked(t *testing.T) {
	a := newAuthorizer(&admissiontest.Reviewer{Denied: map[string][]string{eve: {"create pods/eviction"}}}, admissiontest.NewPolicy())
	status := request(eve, true)
	status.SubResource = "status"
	going := killer(func(p *chaosv1.ChaosPod) { p.DeletionTimestamp = ptr.To(metav1.Now()) })
	for name, test := range map[string]struct {
		req admission.Request
		obj *chaosv1.ChaosPod
	}{"status": {status, killer()}, "deleted": {request(eve, true), going}} {
		if warnings, errs := a.Validate(t.Context(), test.req, test.obj, killer(approvedFor(ann))); len(errs)+len(warnings) > 0 {
			t.Errorf("%s: %v, %v", name, errs, warnings)
		}
	}
}

func TestBeforeTheRangesOfTheClusterAreKnownNoAddressIsProbed(t *testing.T) {
	p := killer()
	p.Spec.Verification = &common.Verification{Probes: []common.VerificationProbe{{Name: "up", Host: "192.0.2.1",
		TCPSocket: &common.TCPSocketAction{Port: ptr.To(intstr.FromInt32(443))}}}}
	a := newAuthorizer(&admissiontest.Reviewer{Denied: map[string][]string{eve: nil}}, admissiontest.Unsynced{Policy: admissiontest.NewPolicy()})
	_, _, errs, err := admissiontest.Admit(t, a, request(eve, false), p, nil, nil)
	if err != nil || len(errs) != 1 || errs[0].Type != field.ErrorTypeInternal {
		t.Errorf("%v, %v", errs, err)
	}
}
