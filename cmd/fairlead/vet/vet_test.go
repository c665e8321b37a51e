// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet/files"
)

// shared spares the tests compiling the CRDs again.
var shared = sync.OnceValue(func() *Vet { return New(Options{Workers: 2}) })

func run(t testing.TB, source Source) ([]Object, Summary) {
	t.Helper()
	var objects []Object
	summary, err := shared().Run(t.Context(), source, func(o Object) error {
		objects = append(objects, o)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return objects, summary
}

func text(content string) Source {
	return func(visit files.Visit) error { return visit("f.yaml", strings.NewReader(content)) }
}

func folder(paths ...string) Source {
	return func(visit files.Visit) error { return files.Walk(paths, files.Options{}, visit) }
}

// lines writes findings as "line:column severity rule field: message".
func lines(objects []Object) []string {
	var all []string
	for _, o := range objects {
		for _, f := range o.Findings {
			line := fmt.Sprintf("%d:%d %s %s %s: %s", f.Line, f.Column, f.Severity, f.Rule, f.Field, f.Message)
			all = append(all, line)
		}
	}
	return all
}

func TestTheSamplesAreClean(t *testing.T) {
	objects, summary := run(t, folder("../../../config/samples"))
	if got := lines(objects); len(got) > 0 {
		t.Error(got)
	}
	if diff := cmp.Diff(Summary{Files: 9, Documents: 11, Objects: 7, PassedOver: 4}, summary); diff != "" {
		t.Error(diff)
	}
}

func TestGoodObjectsHaveNoErrors(t *testing.T) {
	_, summary := run(t, folder("../../../test/integration/testdata/good.yaml", "../../../config/samples/reference"))
	if summary.Errors > 0 || summary.Objects < 5 {
		t.Errorf("%+v", summary)
	}
}

// Every cause for which the objects of bad.yaml were written, under the field that is at fault.
func TestEveryBadObjectIsFoundWithTheFieldAtFault(t *testing.T) {
	objects, _ := run(t, folder("../../../test/integration/testdata/bad.yaml"))
	const local = "loopback, unspecified, link-local and multicast link-local addresses are not allowed"
	want := map[string][]string{
		"noprobecooldown": {
			"4:1 spec.cooldown: cooldown is required with a Probe trigger",
			"4:8 spec.targets: a target may be listed once",
			`4:111 spec.triggers[0].probe: set exactly one of tcpSocket, httpGet, grpc`,
			"4:174 spec.triggers[0].probe.timeout: \"6s\": timeout must not exceed interval",
		},
		"names": {
			"29:48 spec.triggers: names must be unique: without name, it is type in lower case",
			"29:124 spec.gates: names must be unique: without name, it is type in lower case",
		},
		"union": {
			"9:18 spec.targets[0]: set exactly one of name or selector",
			"9:60 spec.triggers[0].type: \"PodAge\": type PodAge and podAge go together: set both or neither",
			"9:60 spec.triggers[0].type: \"PodAge\": type Schedule and schedule go together: set both or neither",
			`9:85 spec.triggers[0].schedule.cron: "TZ=UTC * * * * *": use timeZone instead of TZ= or CRON_TZ=`,
			`9:125 spec.windows[0].name: "Always": must be lower-case letters, digits and hyphens, with a letter or digit at both ends`,
			`9:158 spec.windows[0].duration: "400h": duration must be between 1m and 168h`,
			`9:174 spec.windows[0].timeZone: "local": timeZone must be an IANA name, not Local`,
		},
		"badips": {
			"14:8 spec.ports: port and protocol must be unique",
			`14:92 spec.endpoints[0].addresses[0]: "127.0.0.1": ` + local,
			`14:103 spec.endpoints[0].addresses[1]: "169.254.169.254": ` + local,
			`14:120 spec.endpoints[0].addresses[2]: "0.0.0.0": ` + local,
			`14:131 spec.endpoints[0].addresses[3]: "224.0.0.251": ` + local,
			`14:131 spec.endpoints[0].addresses[3]: "224.0.0.251": multicast and reserved addresses are not allowed`,
			`14:144 spec.endpoints[0].addresses[4]: "::1": ` + local,
			`14:151 spec.endpoints[0].addresses[5]: "fe80::1": ` + local,
			`14:162 spec.endpoints[0].addresses[6]: "::ffff:127.0.0.1": must be an IP address`,
			`14:182 spec.endpoints[0].addresses[7]: "2001:DB8::1": must be in canonical form, which is 2001:db8::1`,
			`14:207 spec.endpoints[0].addresses[9]: "0x7f.1": must be an IP address: use dns.name for a name`,
		},
		"baddns": {
			`19:66 spec.endpoints[0].dns.name: "kubernetes.default.svc": in-cluster and localhost names are not allowed`,
			`19:114 spec.endpoints[1].dns.name: "10.0.0.1": use addresses for an IP`,
			"19:1 spec: more than one priority needs healthCheck",
			"19:144 spec.endpoints[2]: set exactly one of dns or addresses",
			"19:156 spec.failover: failover needs healthCheck",
		},
		"forced": {
			"24:28 spec.target.workload.group: group must be apps or argoproj.io",
			"24:42 spec.target.workload.kind: kind must be Deployment, StatefulSet, DaemonSet or ReplicaSet, or with group argoproj.io Rollout",
			"24:1 spec: set one of schedule.cron, schedule.interval, schedule.at",
			"24:85 spec.schedule.timeZone: \"UTC\": timeZone goes with cron",
			"24:123 spec.action.gracePeriodSeconds: must be between 1 and 86400: with 0, no node confirms that the pod has stopped",
			`24:147 spec.count: "150%": must be a non-negative integer or a percentage 0%-100%`,
		},
	}
	got := map[string][]string{}
	for _, o := range objects {
		for _, f := range o.Findings {
			if f.Severity == Error {
				got[o.Name] = append(got[o.Name], fmt.Sprintf("%d:%d %s: %s", f.Line, f.Column, f.Field, f.Message))
			}
		}
		// Two rules may speak of one place; which is first does not matter.
		slices.Sort(got[o.Name])
		slices.Sort(want[o.Name])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTheOrderIsThatOfTheInputHoweverManyWork(t *testing.T) {
	var content strings.Builder
	for i := range 200 {
		fmt.Fprintf(&content, "---\napiVersion: networking.fairlead.dev/v1\nkind: ExternalService\nmetadata: {name: n%03d}\nspec: {ports: [{name: a, port: 1}], endpoints: [{name: a, addresses: [127.0.0.1]}]}\n", i)
	}
	objects, summary := run(t, func(visit files.Visit) error {
		return errors.Join(visit("a.yaml", strings.NewReader(content.String())), visit("b.yaml", strings.NewReader(content.String())))
	})
	if summary.Objects != 400 || summary.Errors != 400 || summary.Warnings != 200 || len(objects) != 400 {
		t.Fatalf("%+v", summary)
	}
	for i, o := range objects {
		if want := fmt.Sprintf("n%03d", i%200); o.Name != want || o.Document != i%200+1 {
			t.Fatalf("object %d is %s, document %d", i, o.Name, o.Document)
		}
	}
}

func TestARunEndsWhenItsReportOrItsContextDoes(t *testing.T) {
	endless := func(visit files.Visit) error {
		return visit("f.yaml", &endlessly{[]byte("---\napiVersion: chaos.fairlead.dev/v1\nkind: ChaosPod\n"), 0})
	}
	broken := errors.New("broken pipe")
	_, err := shared().Run(t.Context(), endless, func(Object) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = shared().Run(ctx, endless, func(Object) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// endlessly repeats a text.
type endlessly struct {
	text []byte
	at   int
}

func (e *endlessly) Read(into []byte) (int, error) {
	n := copy(into, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	return n, nil
}

func TestADocumentThatIsTooLargeDoesNotHideTheOthers(t *testing.T) {
	v := New(Options{Workers: 1, MaxDocument: 100})
	var seen int
	_, err := v.Run(t.Context(), func(visit files.Visit) error {
		one := visit("a.yaml", io.MultiReader(strings.NewReader("kind: ChaosPod\n---\n"), strings.NewReader(strings.Repeat("# x\n", 100))))
		return errors.Join(one, visit("b.yaml", strings.NewReader("kind: ChaosPod")))
	}, func(Object) error {
		seen++
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "line 3: the document is too large") || seen != 2 {
		t.Errorf("%d objects, %v", seen, err)
	}
}

func FuzzArbitraryInputNeverPanics(f *testing.F) {
	for _, seed := range []string{
		"apiVersion: networking.fairlead.dev/v1\nkind: ExternalService\nmetadata: {name: a}\nspec: {ports: [{name: a, port: 1}], endpoints: [{name: a, addresses: [192.0.2.1]}]}",
		"apiVersion: networking.fairlead.dev/v1alpha1\nkind: ExternalService\nspec: {endpoints: [1], ports: {a: b}, probe: {grpc: {}}}",
		"apiVersion: autoreboot.fairlead.dev/v1alpha1\nkind: RebootPolicy\nmetadata: {annotations: {a: 5}}\nspec: {policies: [{}]}",
		"apiVersion: chaos.fairlead.dev/v1\nkind: ChaosPodList\nitems: [{}, 1, {spec: {target: {template: {metadata: 3}}}}]",
		"{\"apiVersion\":\"chaos.fairlead.dev/v1alpha1\",\"kind\":\"ChaosPod\",\"metadata\":[],\"spec\":{\"template\":null}}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		objects, _ := run(t, text(string(content)))
		for _, line := range lines(objects) {
			if strings.Contains(line, " internal ") {
				t.Error(line)
			}
		}
	})
}
