// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/approval"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/admission/admissiontest"
	"github.com/fairlead-dev/fairlead/webhooks/admission/authorization"
)

const (
	approvedByField = "metadata.annotations[" + common.ApprovedByAnnotation + "]"
	approveField    = "metadata.annotations[" + autorebootv1.ApproveAnnotation + "]"
)

const (
	ann = admissiontest.Ann
	bea = admissiontest.Bea
	eve = admissiontest.Eve

	outside = admissiontest.Outside
	inside  = admissiontest.Inside
	denied  = admissiontest.Denied
)

// suite is an authorizer, and what it reads in a test: ann and bea may do all, eve may not restart anything by
// herself, nor read the Secret root.
type suite struct {
	*authorizer
	rights *admissiontest.Reviewer
}

func newSuite() *suite {
	s := &suite{rights: &admissiontest.Reviewer{Denied: map[string][]string{eve: {
		"patch deployments.apps api", "patch deployments.apps", "create pods/eviction", "get pods", "impersonate serviceaccounts admin", "get secrets root",
		"approve rebootpolicies.autoreboot.fairlead.dev payments",
	}}}}
	s.authorizer = newAuthorizer(s.rights, admissiontest.NewPolicy())
	return s
}

func request(user string, update bool) admission.Request {
	return admissiontest.Request(user, autorebootv1.GroupVersion.WithKind("RebootPolicy"), "rebootpolicies", "payments", update)
}

// restarting is a policy that restarts the Deployment of that name each week, with changes.
func restarting(name string, changes ...func(*autorebootv1.RebootPolicy)) *autorebootv1.RebootPolicy {
	p := &autorebootv1.RebootPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "payments", UID: "u-1"},
		Spec: autorebootv1.RebootPolicySpec{
			Targets:  []autorebootv1.Target{target("Deployment", name)},
			Triggers: []autorebootv1.Trigger{{Name: "weekly", Type: autorebootv1.TriggerSchedule, Schedule: &autorebootv1.ScheduleTrigger{Cron: "0 3 * * 0"}}},
		},
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

// The changes of a policy.
func byEve(p *autorebootv1.RebootPolicy) {
	claim(approval.Value(eve, approval.RebootPolicyDigest(&p.Spec)))(p)
}
func byAnn(p *autorebootv1.RebootPolicy) {
	claim(approval.Value(ann, approval.RebootPolicyDigest(&p.Spec)))(p)
}
func asleep(p *autorebootv1.RebootPolicy) { p.Spec.Suspend = ptr.To(true) }
func idle(p *autorebootv1.RebootPolicy)   { p.Spec.DryRun = ptr.To(true) }
func daily(p *autorebootv1.RebootPolicy)  { p.Spec.Triggers[0].Schedule.Cron = "0 3 * * *" }
func going(p *autorebootv1.RebootPolicy)  { p.DeletionTimestamp = ptr.To(metav1.Now()) }
func evicting(p *autorebootv1.RebootPolicy) {
	p.Spec.Strategy = &autorebootv1.Strategy{Type: autorebootv1.StrategyEvict}
}
func unclaimed(p *autorebootv1.RebootPolicy) { delete(p.Annotations, common.ApprovedByAnnotation) }

func claim(value string) func(*autorebootv1.RebootPolicy) {
	return func(p *autorebootv1.RebootPolicy) {
		p.Annotations = map[string]string{common.ApprovedByAnnotation: value}
	}
}

func as(account string) func(*autorebootv1.RebootPolicy) {
	return func(p *autorebootv1.RebootPolicy) { p.Spec.ServiceAccountName = account }
}

func watching(secret string) func(*autorebootv1.RebootPolicy) {
	return func(p *autorebootv1.RebootPolicy) {
		p.Spec.Triggers = append(p.Spec.Triggers, sources(autorebootv1.ConfigSource{Kind: "Secret", Name: secret})...)
	}
}

func probing(address string, port int32) func(*autorebootv1.RebootPolicy) {
	return func(p *autorebootv1.RebootPolicy) {
		p.Spec.Triggers = append(p.Spec.Triggers, autorebootv1.Trigger{Name: "up", Probe: &autorebootv1.Probe{Host: ptr.To(address), Check: common.Check{TCPSocket: &common.TCPSocketAction{Port: ptr.To(intstr.FromInt32(port))}}}})
	}
}

func verifying(address string) func(*autorebootv1.RebootPolicy) {
	return func(p *autorebootv1.RebootPolicy) {
		p.Spec.Verification = &autorebootv1.Verification{Verification: common.Verification{Probes: []common.VerificationProbe{
			{Name: "up", Host: address, TCPSocket: &common.TCPSocketAction{Port: ptr.To(intstr.FromInt32(80))}},
		}}}
	}
}

func waiting(name string) func(*autorebootv1.RebootPolicy) {
	return func(p *autorebootv1.RebootPolicy) {
		p.Spec.Gates = []autorebootv1.Gate{{Name: name, Type: autorebootv1.GateApproval}}
	}
}

func approving(token string) func(*autorebootv1.RebootPolicy) {
	return note(autorebootv1.ApproveAnnotation, token)
}

func labeled(p *autorebootv1.RebootPolicy) { p.Labels = map[string]string{"a": "b"} }

func note(name, value string) func(*autorebootv1.RebootPolicy) {
	return func(p *autorebootv1.RebootPolicy) {
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[name] = value
	}
}

func TestAPolicyDoesOnlyWhatItsWriterMay(t *testing.T) {
	const first, host = "spec.targets[0]", "spec.triggers[1].probe.host"
	stored := restarting("api", byAnn)
	type policy = *autorebootv1.RebootPolicy
	for name, test := range map[string]struct {
		user     string
		obj, old policy
		others   func(policy)
		refused  []string // fields
		approver string   // whose approval is stored; "" for none
		stale    string   // an approval that is stored and covers nothing
		warns    string
	}{
		"create, with the rights":                      {user: ann, obj: restarting("api"), approver: ann},
		"create, without":                              {user: eve, obj: restarting("api"), refused: []string{first}},
		"create, asleep, without":                      {user: eve, obj: restarting("api", asleep), refused: []string{first}},
		"create, dryRun, without":                      {user: eve, obj: restarting("api", idle), refused: []string{first}},
		"create, what eve may":                         {user: eve, obj: restarting("web"), approver: eve},
		"create, Evict, without":                       {user: eve, obj: restarting("web", evicting), refused: []string{"spec.strategy.type", "spec.strategy.type"}},
		"create, all that is lacking":                  {user: eve, obj: restarting("api", watching("root"), watching("root")), refused: []string{first, "spec.triggers[1].configChange.sources[0]"}},
		"create, in the name of an account":            {user: eve, obj: restarting("api", as("robot")), approver: eve},
		"create, in the name of another account":       {user: eve, obj: restarting("api", as("admin")), refused: []string{"spec.serviceAccountName"}},
		"create, a Secret in the name of an account":   {user: eve, obj: restarting("api", as("robot"), watching("root")), refused: []string{"spec.triggers[1].configChange.sources[0]"}},
		"create, forged approval":                      {user: eve, obj: restarting("api", byAnn), refused: []string{first}},
		"create, forged approval of what eve may":      {user: eve, obj: restarting("web", byAnn), approver: eve},
		"create, nonsense for an approval":             {user: ann, obj: restarting("api", claim("root")), approver: ann},
		"create, forged by another webhook":            {user: eve, obj: restarting("api"), others: byAnn, refused: []string{first}},
		"create, in ann's name by another webhook":     {user: bea, obj: restarting("api"), others: byAnn, refused: []string{approvedByField}},
		"create, taken by another webhook":             {user: ann, obj: restarting("api"), others: unclaimed, refused: []string{approvedByField}},
		"create, target changed by another webhook":    {user: ann, obj: restarting("api"), others: func(p policy) { p.Spec.Targets[0].Name = "web" }, refused: []string{approvedByField}},
		"create, target forbidden by another webhook":  {user: eve, obj: restarting("web"), others: func(p policy) { p.Spec.Targets[0].Name = "api" }, refused: []string{first}},
		"create, probe of a host outside":              {user: eve, obj: restarting("web", probing(outside, 80)), approver: eve},
		"create, probe of a name":                      {user: eve, obj: restarting("web", probing("db.shop.svc", 80)), approver: eve},
		"create, probe of a host inside, with rights":  {user: ann, obj: restarting("web", probing(inside, 80)), refused: []string{host}, approver: ann},
		"create, probe of a denied host":               {user: ann, obj: restarting("web", probing(denied, 80)), refused: []string{host}, approver: ann},
		"create, verification by a host outside":       {user: eve, obj: restarting("web", verifying(outside)), approver: eve},
		"create, verification by a host inside":        {user: ann, obj: restarting("web", verifying(inside)), refused: []string{"spec.verification.probes[0].host"}, approver: ann},
		"update, verification by another host":         {user: eve, obj: restarting("api", verifying(outside)), old: restarting("api", byAnn), refused: []string{first}},
		"create, probe of the operator itself":         {user: ann, obj: restarting("web", probing("127.0.0.1", 80)), refused: []string{host}, approver: ann},
		"create, probe inside and target without":      {user: eve, obj: restarting("api", probing(inside, 80)), refused: []string{first, host}},
		"update of when, without":                      {user: eve, obj: restarting("api", daily), old: stored, refused: []string{first}},
		"update of when, with the rights":              {user: bea, obj: restarting("api", daily), old: stored, approver: bea},
		"restart-now, without":                         {user: eve, obj: restarting("api", note(autorebootv1.RestartNowAnnotation, "1")), old: stored, refused: []string{first}},
		"restart-now, with the rights":                 {user: bea, obj: restarting("api", note(autorebootv1.RestartNowAnnotation, "1")), old: stored, approver: bea},
		"resume, without":                              {user: eve, obj: restarting("api", note(autorebootv1.RetryAnnotation, "1")), old: stored, refused: []string{first}},
		"restart-now again, without":                   {user: eve, obj: restarting("api", note(autorebootv1.RestartNowAnnotation, "2")), old: restarting("api", byAnn, note(autorebootv1.RestartNowAnnotation, "1")), refused: []string{first}},
		"restart-now that is there already":            {user: eve, obj: restarting("api", note(autorebootv1.RestartNowAnnotation, "1"), labeled), old: restarting("api", byAnn, note(autorebootv1.RestartNowAnnotation, "1")), approver: ann},
		"restart-now that is taken away":               {user: eve, obj: restarting("api"), old: restarting("api", byAnn, note(autorebootv1.RestartNowAnnotation, "1")), approver: ann},
		"update that leaves the annotation out":        {user: eve, obj: restarting("api"), old: stored, approver: ann},
		"update that forges the annotation":            {user: eve, obj: restarting("api", byEve), old: stored, approver: ann},
		"update that puts the approval to sleep":       {user: eve, obj: restarting("api", asleep), old: stored, approver: ann},
		"update that begins a dry run":                 {user: eve, obj: restarting("api", idle), old: stored, approver: ann},
		"update of the target, without":                {user: eve, obj: restarting("api", watching("x")), old: stored, refused: []string{first}},
		"update of the target, to what eve may":        {user: eve, obj: restarting("web"), old: stored, approver: eve},
		"update of the target, with an old approval":   {user: eve, obj: restarting("api", claim(authorization.Approval(stored))), old: restarting("web", byEve), refused: []string{first}},
		"update of the strategy, without":              {user: eve, obj: restarting("web", evicting), old: restarting("web", byEve), refused: []string{"spec.strategy.type", "spec.strategy.type"}},
		"update that adds a Secret, without":           {user: eve, obj: restarting("web", watching("root")), old: restarting("web", byEve), refused: []string{"spec.triggers[1].configChange.sources[0]"}},
		"update that takes the account away, without":  {user: eve, obj: restarting("api"), old: restarting("api", as("robot"), byEve), refused: []string{first}},
		"update that takes another account, without":   {user: eve, obj: restarting("api", as("admin")), old: restarting("api", as("robot"), byEve), refused: []string{"spec.serviceAccountName"}},
		"update that wakes it, without":                {user: eve, obj: restarting("api"), old: restarting("api", asleep, byAnn), refused: []string{first}},
		"update that wakes it, with":                   {user: bea, obj: restarting("api"), old: restarting("api", asleep, byAnn), approver: bea},
		"update that ends a dry run, without":          {user: eve, obj: restarting("api"), old: restarting("api", idle, byAnn), refused: []string{first}},
		"update that ends a dry run, with":             {user: bea, obj: restarting("api"), old: restarting("api", idle, byAnn), approver: bea},
		"update that wakes a probe inside":             {user: ann, obj: restarting("api", probing(inside, 80)), old: restarting("api", probing(inside, 80), asleep, byAnn), refused: []string{host}, approver: ann},
		"update beside a probe inside":                 {user: bea, obj: restarting("api", probing(inside, 80), daily), old: restarting("api", probing(inside, 80), byAnn), approver: bea},
		"update of the port of a probe inside":         {user: eve, obj: restarting("api", probing(inside, 10250)), old: restarting("api", probing(inside, 80), byAnn), refused: []string{first, host}},
		"update of a probe, to a host inside":          {user: ann, obj: restarting("api", probing(inside, 80)), old: restarting("api", probing(outside, 80), byAnn), refused: []string{host}, approver: ann},
		"update of what is not approved":               {user: ann, obj: restarting("api", daily), old: restarting("api"), approver: ann},
		"label on what is not approved":                {user: ann, obj: restarting("api", labeled), old: restarting("api"), warns: "does nothing"},
		"update of what is not approved, without":      {user: eve, obj: restarting("api", daily), old: restarting("api"), refused: []string{first}},
		"sleep of what is not approved, without":       {user: eve, obj: restarting("api", asleep), old: restarting("api"), warns: "does nothing"},
		"label beside a stale approval":                {user: ann, obj: restarting("api", claim("old"), labeled), old: restarting("api", claim("old")), approver: ann},
		"label beside a stale approval, without":       {user: eve, obj: restarting("api", claim("old"), labeled), old: restarting("api", claim("old")), stale: "old", warns: "does nothing"},
		"an approval of a restart, with the right":     {user: bea, obj: restarting("api", waiting("a"), approving("1")), old: restarting("api", waiting("a"), byAnn), approver: ann},
		"an approval of a restart, without":            {user: eve, obj: restarting("api", waiting("a"), approving("1")), old: restarting("api", waiting("a"), byAnn), refused: []string{approveField}, approver: ann},
		"another approval of a restart, without":       {user: eve, obj: restarting("api", approving("2")), old: restarting("api", byAnn, approving("1")), refused: []string{approveField}, approver: ann},
		"an approval of a restart that is there":       {user: eve, obj: restarting("api", approving("1"), labeled), old: restarting("api", byAnn, approving("1")), approver: ann},
		"an approval of a restart that is taken away":  {user: eve, obj: restarting("api"), old: restarting("api", byAnn, approving("1")), approver: ann},
		"create, with an approval of a restart":        {user: eve, obj: restarting("web", approving("1")), refused: []string{approveField}, approver: eve},
		"update without its approvals, with the right": {user: bea, obj: restarting("api"), old: restarting("api", waiting("a"), byAnn), approver: bea},
		"update without its approvals":                 {user: eve, obj: restarting("web"), old: restarting("web", waiting("a"), byEve), refused: []string{"spec.gates"}, approver: eve},
		"update of the name of its approvals":          {user: eve, obj: restarting("web", waiting("b")), old: restarting("web", waiting("a"), byEve), approver: eve},
		"update that begins to wait for approvals":     {user: eve, obj: restarting("web", waiting("a")), old: restarting("web", byEve), approver: eve},
		"update that asks for an approval":             {user: ann, obj: restarting("api", claim("yes")), old: restarting("api"), approver: ann},
		"update that asks for an approval, without":    {user: eve, obj: restarting("api", claim("yes")), old: restarting("api"), warns: "does nothing"},
		"update that asks instead of a stale one":      {user: ann, obj: restarting("api", claim("yes")), old: restarting("api", claim("old")), approver: ann},
		"approval taken by another webhook, on update": {user: eve, obj: restarting("api", labeled), old: stored, others: unclaimed, warns: "does nothing"},
		"forged by another webhook, on update":         {user: eve, obj: restarting("api", labeled), old: restarting("api"), others: byAnn, refused: []string{first}},
		"in ann's name by another webhook, on update":  {user: bea, obj: restarting("api", labeled), old: restarting("api"), others: byAnn, refused: []string{approvedByField}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, dryRun := range []bool{false, true} {
				s, req := newSuite(), request(test.user, test.old != nil)
				req.DryRun = &dryRun
				got, warnings, errs, err := admissiontest.Admit(t, s.authorizer, req, test.obj, test.old, test.others)
				if err != nil {
					t.Fatal(err)
				}
				var fields []string
				for _, e := range errs {
					fields = append(fields, e.Field)
				}
				if !slices.Equal(fields, test.refused) {
					t.Errorf("refused with %v, want %q", errs, test.refused)
				}
				if test.refused == nil || test.approver != "" {
					want := test.stale
					if test.approver != "" {
						want = approval.Value(test.approver, approval.RebootPolicyDigest(&got.Spec))
					}
					if diff := cmp.Diff(want, authorization.Approval(got)); diff != "" || approval.RebootPolicyApproved(got) != (test.approver != "") {
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

func TestARefusedPolicySaysWhoLacksWhatWhereAndWhatToDo(t *testing.T) {
	s := newSuite()
	s.rights.Denied[eve] = append(s.rights.Denied[eve], "patch daemonsets.apps", "list pods")
	obj := restarting("api", watching("root"), probing(denied, 80))
	obj.Spec.Targets = append(obj.Spec.Targets, autorebootv1.Target{Kind: "DaemonSet", Selector: anyApp})
	obj.Spec.Gates = []autorebootv1.Gate{{Name: "none", Type: autorebootv1.GateNoPods, NoPods: &autorebootv1.NoPods{Selector: anyApp}}}
	_, _, errs, err := admissiontest.Admit(t, s.authorizer, request(eve, false), obj, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"spec.targets[0]: ", `user "eve" may not patch deployments.apps "api" in namespace "shop"`, "ask for that right, or name a ServiceAccount that has it in spec.serviceAccountName"},
		{"spec.targets[1]: ", `user "eve" may not patch daemonsets.apps in all of namespace "shop"`, "spec.serviceAccountName"},
		{"spec.triggers[1].configChange.sources[0]: ", `user "eve" may not get secrets "root" in namespace "shop"`, "or leave the source out"},
		{"spec.gates[0]: ", `user "eve" may not list pods in all of namespace "shop"`, "or leave the gate out"},
		{"spec.triggers[2].probe.host: ", denied + ":80 is denied by the egress policy (DeniedByPolicy)", "leave host out", "administrator"},
	}
	if len(errs) != len(want) {
		t.Fatalf("%d refusals: %v", len(errs), errs)
	}
	for i, texts := range want {
		for _, text := range texts {
			if !strings.Contains(errs[i].Error(), text) {
				t.Errorf("%s\ndoes not say %q", errs[i].Error(), text)
			}
		}
	}
}

func TestARefusedApprovalSaysWhichRightIsLacking(t *testing.T) {
	before, after := restarting("web", waiting("a"), byEve), restarting("web", approving("1"))
	_, _, errs, err := admissiontest.Admit(t, newSuite().authorizer, request(eve, true), after, before, nil)
	if err != nil || len(errs) != 1 {
		t.Fatal(errs, err) // one right, once
	}
	for _, text := range []string{approveField, `user "eve" may not approve rebootpolicies.autoreboot.fairlead.dev "payments" in namespace "shop"`, "leave the annotation as it is"} {
		if !strings.Contains(errs[0].Error(), text) {
			t.Errorf("%s\ndoes not say %q", errs[0], text)
		}
	}
	s := newSuite()
	s.rights.Err = errors.New("no route to host")
	if _, errs := s.Validate(t.Context(), request(ann, true), restarting("web", waiting("a"), byEve, approving("1")), before); len(errs) != 1 || !strings.Contains(errs[0].Error(), "try again") {
		t.Errorf("without an answer: %v", errs)
	}
}

func TestThePolicyQuestionIsAboutTheWriter(t *testing.T) {
	s := newSuite()
	if _, err := s.Stamp(t.Context(), request(ann, false), restarting("api"), nil); err != nil {
		t.Fatal(err)
	}
	want := []authorizationv1.ResourceAttributes{{Namespace: "shop", Verb: "patch", Group: "apps", Version: "v1", Resource: "deployments", Name: "api"}}
	if diff := cmp.Diff(want, s.rights.Rights); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(request(ann, false).UserInfo, s.rights.Users[0]); diff != "" {
		t.Errorf("asked about another user (-want +got):\n%s", diff)
	}
}

func TestNothingIsAskedWhereAPolicyDoesNothingElse(t *testing.T) {
	status := request(eve, true)
	status.SubResource = "status"
	labeled := func(p *autorebootv1.RebootPolicy) {
		p.Labels, p.Finalizers = map[string]string{"a": "b"}, []string{"example.com/x"}
	}
	for name, test := range map[string]struct {
		req      admission.Request
		obj, old *autorebootv1.RebootPolicy
	}{
		"metadata":            {request(eve, true), restarting("api", byAnn, labeled), restarting("api", byAnn)},
		"metadata, before":    {request(eve, true), restarting("api", labeled), restarting("api")},
		"asleep":              {request(eve, true), restarting("api", asleep), restarting("api", byAnn)},
		"being deleted":       {request(eve, true), restarting("web", going), restarting("api", byAnn, going)},
		"another subresource": {status, restarting("web"), restarting("api", byAnn)},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite()
			s.rights.Err = errors.New("must not be asked")
			s.policy = admissiontest.Unsynced{} // and so of the egress policy
			got, _, errs, err := admissiontest.Admit(t, s.authorizer, test.req, test.obj, test.old, nil)
			if err != nil || len(errs) > 0 || len(s.rights.Rights) > 0 {
				t.Errorf("asked %v; refused %v, %v", s.rights.Rights, errs, err)
			}
			if test.req.SubResource == "" && authorization.Approval(got) != authorization.Approval(test.old) {
				t.Errorf("the approval became %q", authorization.Approval(got))
			}
		})
	}
}

func TestAPolicyThatIsGoingIsNotApproved(t *testing.T) {
	got, _, _, err := admissiontest.Admit(t, newSuite().authorizer, request(eve, true), restarting("api", going, byAnn), restarting("api", going), nil)
	if err != nil || authorization.Approval(got) != "" {
		t.Errorf("%q, %v", authorization.Approval(got), err)
	}
}

func TestWithoutAnAnswerNoPolicyIsAllowed(t *testing.T) {
	s := newSuite()
	s.rights.Err = errors.New("no route to host")
	_, err := s.Stamp(t.Context(), request(ann, false), restarting("api"), nil)
	var status *apierrors.StatusError
	if !errors.As(err, &status) || status.ErrStatus.Code != 503 || status.ErrStatus.Details.RetryAfterSeconds == 0 ||
		!strings.Contains(err.Error(), "no route to host") || !strings.Contains(err.Error(), "rebootpolicy shop/payments") || !strings.Contains(err.Error(), "try again") {
		t.Errorf("Stamp: %v", err)
	}
	_, errs := s.Validate(t.Context(), request(ann, false), restarting("api", byAnn), nil)
	if len(errs) != 1 || errs[0].Field != "spec" || !strings.Contains(errs[0].Error(), "no route to host") || !strings.Contains(errs[0].Error(), "try again") {
		t.Errorf("Validate: %v", errs)
	}
}

func TestAPolicyThatNeedsTooManyRightsIsRefusedUnasked(t *testing.T) {
	s := newSuite()
	obj := restarting("api")
	for i := range 100 { // beside that to restart the target
		watching(fmt.Sprintf("s-%d", i))(obj)
	}
	_, _, errs, err := admissiontest.Admit(t, s.authorizer, request(ann, false), obj, nil, nil)
	if err != nil || len(errs) != 1 || errs[0].Field != "spec" || !strings.Contains(errs[0].Error(), "101 different rights") || len(s.rights.Rights) > 0 {
		t.Errorf("asked %d; %v, %v", len(s.rights.Rights), errs, err)
	}
}

func TestBeforeTheRangesAreKnownAProbedAddressHasToWait(t *testing.T) {
	s := newSuite()
	s.policy = admissiontest.Unsynced{}
	for name, test := range map[string]struct {
		obj, old *autorebootv1.RebootPolicy
		refused  bool
	}{
		"an address":       {restarting("api", probing(outside, 80)), nil, true},
		"a name":           {restarting("api", probing("db.example.com", 80)), nil, false},
		"the pods":         {restarting("api", probing("", 80)), nil, false},
		"as it stood":      {restarting("api", probing(outside, 80), daily), restarting("api", probing(outside, 80), byAnn), false},
		"another one":      {restarting("api", probing(outside, 81)), restarting("api", probing(outside, 80), byAnn), true},
		"as before waking": {restarting("api", probing(outside, 80)), restarting("api", probing(outside, 80), asleep, byAnn), true},
	} {
		_, _, errs, err := admissiontest.Admit(t, s.authorizer, request(ann, test.old != nil), test.obj, test.old, nil)
		if err != nil || (len(errs) == 1) != test.refused || test.refused && !strings.Contains(errs[0].Error(), "try again") {
			t.Errorf("%s: %v, %v", name, errs, err)
		}
	}
}

func TestEveryWayToProbeAHostIsJudged(t *testing.T) {
	at := ptr.To(intstr.FromInt32(80))
	for member, probe := range map[string]autorebootv1.Probe{
		"httpGet":   {Host: ptr.To(inside), Check: common.Check{HTTPGet: &common.HTTPGetAction{Port: at}}},
		"tcpSocket": {Host: ptr.To(inside), Check: common.Check{TCPSocket: &common.TCPSocketAction{Port: at}}},
		"grpc":      {Host: ptr.To("::ffff:" + inside), Check: common.Check{GRPC: &common.GRPCAction{Port: at}}},
	} {
		obj := restarting("api")
		obj.Spec.Triggers = []autorebootv1.Trigger{{Name: "up", Probe: &probe}}
		_, _, errs, err := admissiontest.Admit(t, newSuite().authorizer, request(ann, false), obj, nil, nil)
		if err != nil || len(errs) != 1 || errs[0].Field != "spec.triggers[0].probe.host" || !strings.Contains(errs[0].Error(), "ClusterCIDR") {
			t.Errorf("%s: %v, %v", member, errs, err)
		}
	}
}
