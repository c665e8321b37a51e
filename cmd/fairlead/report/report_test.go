// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	chaosrules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

var noon = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)

func read(t testing.TB, text string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

// deployment depends on ExternalServices, as its annotation declares.
func deployment(name string, on ...string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": name}}}
	for i := range on {
		on[i] = "externalservice/" + on[i]
	}
	if len(on) > 0 {
		d.Annotations = map[string]string{common.DependsOnAnnotation: strings.Join(on, ",")}
	}
	return d
}

// policy restarts the Deployment api, which depends on db.
func policy(t testing.TB, status string) *autorebootv1.RebootPolicy {
	p := &autorebootv1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "payments"}}
	read(t, `{targets: [{kind: Deployment, name: api}], gates: [{name: database, type: ExternalServiceHealthy, externalServiceHealthy: {name: db}}]}`, &p.Spec)
	read(t, status, &p.Status)
	return p
}

// chaosPod kills pods of the Deployment api. Its last run that was verified had that target.
func chaosPod(t testing.TB, spec, status string) *chaosv1.ChaosPod {
	c := &chaosv1.ChaosPod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "killer", Generation: 3}}
	read(t, spec, &c.Spec)
	read(t, status, &c.Status)
	c.Status.VerifiedTarget = chaosrules.Digest(c.Spec.Target)
	return c
}

func service(t testing.TB, status string) *networkingv1.ExternalService {
	s := &networkingv1.ExternalService{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}}
	read(t, status, &s.Status)
	return s
}

func of(unread []inspect.Unread, objects ...client.Object) *Report {
	return Of(inspect.New(&inspect.Snapshot{Objects: objects, Unread: unread}), labels.Everything(), 30*24*time.Hour, noon)
}

// lines are the proofs of a Report in one line each.
func (r *Report) lines() (lines []string) {
	for i := range r.Proofs {
		p := &r.Proofs[i]
		line := fmt.Sprintf("%s %s%s: %s", p.Name, p.Disruption, p.Dependency, p.Verdict)
		for i, e := range []*Evidence{p.Survived, p.Failed, p.Inconclusive} {
			if e != nil {
				line += []string{" survived ", " failed ", " tried "}[i] + e.Record
			}
		}
		lines = append(lines, line)
	}
	return lines
}

const byAPI = `{dryRun: false, target: {workload: {kind: Deployment, name: api}}}`

func TestAVerdictIsByTheRecordsOfTheWorkload(t *testing.T) {
	for name, test := range map[string]struct {
		objects []client.Object
		want    []string
	}{
		"nothing is proven": {[]client.Object{deployment("api", "db")}, []string{"api LostPod: Never", "api Restart: Never", "api AbsentDependencydb: Never"}},
		"all is proven": {[]client.Object{deployment("api"),
			policy(t, `{targets: [{kind: Deployment, name: api}], history: [{id: r2, result: Superseded, target: {kind: Deployment, name: api}, completionTime: "2026-03-01T01:00:00Z"}, {id: r1, result: Succeeded, target: {kind: Deployment, name: api}, completionTime: "2026-03-01T00:00:00Z"}]}`),
			chaosPod(t, byAPI, `{history: [{id: c2, result: NoVictim, completionTime: "2026-03-01T01:00:00Z"}, {id: c1, result: Survived, message: "died: pod a of Deployment api (Evicted)", completionTime: "2026-03-01T00:00:00Z"}]}`),
			service(t, `{history: [{id: f1, type: Fault, result: Succeeded, completionTime: "2026-03-01T00:10:00Z"}], fault: {request: "BlackHole for=10m", type: BlackHole, outcome: DeadlineReached, deadlineTime: "2026-03-01T00:10:00Z", startTime: "2026-03-01T00:00:00Z", completionTime: "2026-03-01T00:10:00Z", dependants: [{kind: Deployment, name: api, ready: StayedReady}]}}`),
		}, []string{"api LostPod: Survived survived c1", "api Restart: Survived survived r1", "api AbsentDependencydb: Survived survived f1"}},
		"what clients noticed is a failure": {[]client.Object{deployment("api"), deployment("web"),
			chaosPod(t, byAPI, `{history: [{id: c1, result: ProbesFailed, message: "3 of 9 requests failed while pods died; 3 of 9 of probe shop, of which 0 may; died: pod a of Deployment web (Evicted)", completionTime: "2026-03-01T00:00:00Z"}]}`)},
			[]string{"web LostPod: Failed failed c1", "api LostPod: Never", "api Restart: Never", "web Restart: Never"}},
		"what is old is stale": {[]client.Object{deployment("api"),
			policy(t, `{targets: [{kind: Deployment, name: api}], history: [{id: r1, result: Succeeded, target: {kind: Deployment, name: api}, completionTime: "2026-01-30T00:00:00Z"}]}`), service(t, `{}`)},
			[]string{"api LostPod: Never", "api Restart: Stale survived r1", "api AbsentDependencydb: Never"}},
		"a later failure comes first, an earlier one does not count": {[]client.Object{deployment("api"), deployment("web"),
			policy(t, `{history: [{id: r3, result: Failed, reason: TargetGone, target: {kind: Deployment, name: web}, completionTime: "2026-03-01T03:00:00Z"}, {id: r2, result: Failed, reason: Unavailable, target: {kind: Deployment, name: web}, completionTime: "2026-03-01T02:00:00Z"}, {id: r1, result: Succeeded, target: {kind: Deployment, name: web}, completionTime: "2026-03-01T00:00:00Z"}]}`),
			chaosPod(t, byAPI, `{history: [{id: c2, result: Survived, message: "died: pod a of Deployment api (Gone)", completionTime: "2026-03-01T01:00:00Z"}, {id: c1, result: RecoveryFailed, message: "Deployment api has 1 of 3 pods ready", completionTime: "2026-03-01T00:00:00Z"}]}`)},
			[]string{"web Restart: Failed survived r1 failed r2 tried r3", "api LostPod: Survived survived c2", "api Restart: Never", "api AbsentDependencydb: Never", "web LostPod: Never"}},
		"a policy by a name restarts nothing of another name": {[]client.Object{deployment("web"),
			policy(t, `{history: [{id: r1, result: Succeeded, target: {kind: StatefulSet, name: web}, completionTime: "2026-03-01T00:00:00Z"}]}`)},
			[]string{"web LostPod: Never", "web Restart: Never"}},
		"dry runs and runs without victims prove nothing": {[]client.Object{deployment("api"),
			chaosPod(t, byAPI, `{history: [{id: c2, result: DryRun, completionTime: "2026-03-01T01:00:00Z"}, {id: c1, result: NoVictim, completionTime: "2026-03-01T00:00:00Z"}]}`)},
			[]string{"api LostPod: Never tried c2", "api Restart: Never"}},
		"the runs of a selector are of those whose pods died": {[]client.Object{deployment("api"), deployment("web"), deployment("spared"),
			chaosPod(t, `{dryRun: false, target: {selector: {}}}`, `{history: [{id: c2, result: RecoveryFailed, message: "Deployment web did not keep its pods ready", completionTime: "2026-03-01T01:00:00Z"}, {id: c1, result: Survived, message: "died: pod a of Deployment api (Evicted); pod b of Deployment web (Deleted); pod c of Deployment spared (Spared: TooFewReady)", completionTime: "2026-03-01T00:00:00Z"}]}`)},
			[]string{"web LostPod: Failed survived c1 failed c2", "api LostPod: Survived survived c1", "api Restart: Never", "spared LostPod: Never", "spared Restart: Never", "web Restart: Never"}},
		"a record of another target is of that one": {[]client.Object{deployment("api"), deployment("web"),
			chaosPod(t, byAPI, `{history: [{id: c1, result: Survived, message: "died: pod b of Deployment web (Deleted)", completionTime: "2026-03-01T00:00:00Z"}]}`)},
			[]string{"api LostPod: Never", "api Restart: Never", "web LostPod: Survived survived c1", "web Restart: Never"}},
		"a record that the history has no longer": {[]client.Object{deployment("api"),
			chaosPod(t, byAPI, `{lastSuccessfulRunTime: "2026-03-01T00:00:00Z", conditions: [{type: Survived, status: "True", reason: Recovered}], history: [{id: c9, result: DryRun, completionTime: "2026-03-01T01:00:00Z"}]}`)},
			[]string{"api LostPod: Survived survived ", "api Restart: Never"}},
		"a record of the future, and one without a time, are no proof, but a failure is one": {[]client.Object{deployment("api"), deployment("web"),
			policy(t, `{history: [{id: r2, result: Failed, reason: TimedOut, target: {kind: Deployment, name: web}}, {id: r1, result: Succeeded, target: {kind: Deployment, name: api}, completionTime: "2027-03-01T00:00:00Z"}]}`),
			chaosPod(t, byAPI, `{history: [{id: c1, result: Survived, message: "died: pod a of Deployment api (Gone)"}]}`)},
			[]string{"web Restart: Failed failed r2", "api LostPod: Never tried c1", "api Restart: Never tried r1", "api AbsentDependencydb: Never", "web LostPod: Never"}},
		"an unready dependant has failed, also while the fault lasts": {[]client.Object{deployment("api", "db"), deployment("web", "db"),
			service(t, `{fault: {request: "Drain endpoint=a for=10m", type: Drain, deadlineTime: "2026-03-02T12:10:00Z", startTime: "2026-03-02T11:50:00Z", dependants: [{kind: Deployment, name: api, ready: BecameUnready}]}}`)},
			[]string{"api AbsentDependencydb: Failed failed ", "api LostPod: Never", "api Restart: Never", "web LostPod: Never", "web Restart: Never", "web AbsentDependencydb: Never tried "}},
		"a part of the addresses, a fault that was ended, a failover and what an earlier record leaves open are no proof": {[]client.Object{deployment("api", "db"), deployment("web", "db"),
			service(t, `{history: [{id: o1, type: Failover, result: Succeeded, reason: PriorityUnhealthy, completionTime: "2026-03-02T11:00:00Z"}, {id: f2, type: Fault, result: Succeeded, completionTime: "2026-03-01T00:10:00Z"}], fault: {request: "FailOver for=10m", type: FailOver, outcome: DeadlineReached, deadlineTime: "2026-03-01T00:10:00Z", startTime: "2026-03-01T00:00:00Z", completionTime: "2026-03-01T00:10:00Z", dependants: [{kind: Deployment, name: api, ready: StayedReady}]}}`)},
			[]string{"api LostPod: Never", "api Restart: Never", "api AbsentDependencydb: Never tried o1", "web LostPod: Never", "web Restart: Never", "web AbsentDependencydb: Never tried o1"}},
		"a word of a later version is no proof": {[]client.Object{deployment("api"),
			policy(t, `{history: [{id: r1, result: Rewound, target: {kind: Deployment, name: api}, completionTime: "2026-03-01T00:00:00Z"}]}`),
			chaosPod(t, byAPI, `{history: [{id: c1, result: Endured, completionTime: "2026-03-01T00:00:00Z"}]}`)},
			[]string{"api LostPod: Never tried c1", "api Restart: Never tried r1", "api AbsentDependencydb: Never"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := of(nil, test.objects...).lines()
			if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestWhatIsNotProvenTellsWhatWouldProveIt(t *testing.T) {
	isTarget := `{targets: [{kind: Deployment, name: api}]}`
	for name, test := range map[string]struct {
		objects []client.Object
		at      int
		want    string
	}{
		"no ChaosPod":          {[]client.Object{deployment("api")}, 0, "Make a ChaosPod with Deployment api as target.workload, and dryRun false."},
		"a dry run":            {[]client.Object{deployment("api"), chaosPod(t, `{target: {workload: {kind: Deployment, name: api}}}`, `{}`)}, 0, "Set spec.dryRun of ChaosPod killer to false: a dry run proves nothing."},
		"a ChaosPod":           {[]client.Object{deployment("api"), chaosPod(t, byAPI, `{}`)}, 0, "Request a run: `fairlead run chaospod/killer -n shop`."},
		"a halt":               {[]client.Object{deployment("api"), chaosPod(t, byAPI, `{halt: {reason: RecoveryFailed, startTime: "2026-03-01T00:00:00Z"}}`)}, 0, "End the halt: `fairlead resume chaospod/killer -n shop`. Request a run"},
		"no policy":            {[]client.Object{deployment("api")}, 1, "Make a RebootPolicy with Deployment api as one of its targets."},
		"a policy":             {[]client.Object{deployment("api"), policy(t, isTarget)}, 1, "Request a restart: `fairlead restart rebootpolicy/payments -n shop`."},
		"no ExternalService":   {[]client.Object{deployment("api", "db")}, 2, "There is no ExternalService shop/db: create it"},
		"an ExternalService":   {[]client.Object{deployment("api", "db"), service(t, `{}`)}, 2, "`fairlead fault externalservice/db BlackHole --for=5m -n shop`"},
		"a failure of a chaos": {[]client.Object{deployment("api"), chaosPod(t, byAPI, `{history: [{id: c1, result: RecoveryFailed}]}`)}, 0, "Find out why: `fairlead why deployment/api -n shop`. Then prove it again. Request a run"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := of(nil, test.objects...).Proofs[test.at].Remedy; !strings.Contains(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// hostile is what an object may say where a user may write its status.
const hostile = "<script>alert(1)</script>\x1b[31m\u202e\r\n=cmd|' /C calc'!A0"

func unreadPolicies() []inspect.Unread {
	return []inspect.Unread{{Resource: "rebootpolicies.autoreboot.fairlead.dev", Message: "this user may not: " + hostile}}
}

func TestWhatCouldNotBeReadIsNeverProven(t *testing.T) {
	refused := []inspect.Unread{{Resource: "deployments.apps", Message: "this user may not"}, unreadPolicies()[0]}
	got := of(refused, chaosPod(t, byAPI, `{history: [{id: c1, result: RecoveryFailed}]}`))
	if want := "api LostPod: Failed failed c1\napi Restart: Unknown"; strings.Join(got.lines(), "\n") != want {
		t.Errorf("is\n%s", strings.Join(got.lines(), "\n"))
	}
	if got := Of(inspect.New(&inspect.Snapshot{Unread: refused, Objects: []client.Object{chaosPod(t, byAPI, `{}`)}}), labels.SelectorFromSet(labels.Set{"a": "b"}), time.Hour, noon); len(got.Proofs) > 0 {
		t.Errorf("the labels of a workload that was not read are not known: %v", got.lines())
	}
}

// full has each verdict, with hostile words wherever there may be any.
func full(t testing.TB) *Report {
	p := policy(t, `{targets: [{kind: Deployment, name: api}], history: [{id: "=r1", result: Succeeded, target: {kind: Deployment, name: api}, completionTime: "2026-03-01T00:00:00Z", requests: {sent: 421, failed: 2, inconclusive: 1}}]}`)
	c := chaosPod(t, byAPI, `{history: [{id: c1, result: RecoveryFailed, completionTime: "2026-03-01T01:00:00Z"}]}`)
	p.Status.History[0].Message, c.Status.History[0].Message, c.Status.History[0].Reason = hostile, hostile, "@SUM(A1)"
	return of([]inspect.Unread{{Resource: "statefulsets.apps", Message: hostile}}, deployment("api", "db"), p, c, service(t, `{}`))
}

func TestNoFormObeysHostileWords(t *testing.T) {
	r := full(t)
	for name, write := range map[string]func(io.Writer) error{
		"text": func(to io.Writer) error { return r.WriteText(to, true) }, "csv": r.WriteCSV, "html": r.WriteHTML,
	} {
		var text strings.Builder
		if err := write(&text); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(text.String(), "\x1b\u202e\r") || name == "html" && strings.Contains(text.String(), "<script") {
			t.Errorf("%s: %q", name, text.String())
		}
	}
}

func TestTheTextHasWhatIsKnownAndWhatIsNot(t *testing.T) {
	var text strings.Builder
	if err := full(t).WriteText(&text, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"WORKLOAD         SURVIVES        VERDICT    LAST SURVIVED", "Deployment/api   a lost pod      Failed     -  ",
		"At 2026-03-01T01:00:00Z (35h ago), ChaosPod killer, record c1: RecoveryFailed (@SUM(A1)); <script>",
		"Deployment/api   a restart       Survived   2026-03-01T00:00:00Z (36h ago)   RebootPolicy payments, record =r1: Succeeded, 2 of 421 requests failed, and 1 did not count; ",
		"Deployment/api   absence of db   Never      -  ", "To do: Inject a fault", "\n1 Failed, 1 Never, 1 Survived.\n", "Not known: statefulsets.apps could not be read: <script>",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
}

func TestNoCellIsAFormula(t *testing.T) {
	var text strings.Builder
	if err := full(t).WriteCSV(&text); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(text.String())).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Fatalf("%v, %d rows", err, len(rows))
	}
	for _, row := range rows {
		for i, cell := range row {
			if strings.ContainsAny(cell[:min(1, len(cell))], "=+-@\t\r") {
				t.Errorf("column %s: %q", rows[0][i], cell)
			}
		}
	}
	if rows[1][12] != "'@SUM(A1)" || rows[2][10] != "'=r1" || rows[2][14] != "421" || rows[4][5] != "Unknown" {
		t.Errorf("%q", rows)
	}
}

func TestThePageIsWellFormedAndNeedsNothingElse(t *testing.T) {
	var text strings.Builder
	if err := full(t).WriteHTML(&text); err != nil {
		t.Fatal(err)
	}
	page := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(text.String(), "<!doctype html>")))
	page.Strict, page.AutoClose, page.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var headings []string
	headers := 0
	for {
		token, err := page.Token()
		if err != nil {
			break
		}
		start, is := token.(xml.StartElement)
		if !is {
			continue
		}
		switch name := start.Name.Local; name {
		case "h1", "h2":
			headings = append(headings, name)
		case "th":
			headers++
			if len(start.Attr) != 1 || start.Attr[0].Name.Local != "scope" {
				t.Errorf("a header without a scope: %v", start)
			}
		case "script", "img", "link", "iframe", "form", "a":
			t.Errorf("it has %v", start)
		}
		for _, a := range start.Attr {
			if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "src" || a.Name.Local == "href" || strings.Contains(a.Value, "url(") {
				t.Errorf("%s has %v", start.Name.Local, a)
			}
		}
	}
	if want := "h1 h2 h2 h2"; strings.Join(headings, " ") != want || headers != 2*6+3 {
		t.Errorf("headings %v, want %s; %d headers", headings, want, headers)
	}
}

func TestNothingIsAReportAsWell(t *testing.T) {
	var text, page strings.Builder
	r := of(nil)
	if err := r.WriteText(&text, true); err != nil || text.String() != "There is no workload here.\n" {
		t.Errorf("%q, %v", text.String(), err)
	}
	if err := r.WriteHTML(&page); err != nil || strings.Contains(page.String(), "<table>") {
		t.Errorf("%q, %v", page.String(), err)
	}
}
