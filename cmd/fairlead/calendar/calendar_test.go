// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/internal/cron"
)

func read(t testing.TB, spec string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(spec), into); err != nil {
		t.Fatal(err)
	}
}

func policy(t testing.TB, name, spec string) *autorebootv1.RebootPolicy {
	p := &autorebootv1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	read(t, spec, &p.Spec)
	return p
}

func chaosPod(t testing.TB, name, spec string) *chaosv1.ChaosPod {
	c := &chaosv1.ChaosPod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	read(t, spec, &c.Spec)
	return c
}

// at parses a time; a wrong one is zero, which no test wants.
func at(text string) time.Time {
	parsed, _ := time.Parse(time.RFC3339, text)
	return parsed
}

// of are the events of objects in two days, as lines.
func of(t testing.TB, from string, blackouts string, objects ...client.Object) []string {
	t.Helper()
	var all []cron.Blackout
	read(t, blackouts, &all)
	parsed, err := cron.NewBlackouts(all)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range Of(&inspect.Snapshot{Objects: objects}, inspect.Freeze{Blackouts: all, Calendar: parsed}, at(from), at(from).AddDate(0, 0, 2)).Events {
		line := fmt.Sprintf("%s %s %s", e.Type, strings.TrimSpace(e.Name+" "+e.Title), e.Start.UTC().Format(time.RFC3339))
		if e.End != nil {
			line += " " + e.End.UTC().Format(time.RFC3339)
		}
		if e.Note != "" {
			line += " " + e.Note
		}
		lines = append(lines, line)
	}
	return lines
}

func TestWhatIsToComeIsAsTheControllersHaveIt(t *testing.T) {
	for name, test := range map[string]struct {
		from, blackouts string
		objects         []client.Object
		want            []string
	}{
		"a window that is open, over the change to summer time": {"2026-03-28T01:30:00Z", "[]",
			[]client.Object{policy(t, "a", `{windows: [{name: night, cron: "0 2 * * *", duration: 2h, timeZone: Europe/Zurich}]}`)},
			[]string{"Window a night 2026-03-28T01:00:00Z 2026-03-28T03:00:00Z", "Window a night 2026-03-29T01:00:00Z 2026-03-29T03:00:00Z", "Window a night 2026-03-30T00:00:00Z 2026-03-30T02:00:00Z"}},
		"a restart waits for its window, and is one with those that come due meanwhile": {"2026-03-02T12:00:00Z", "[]",
			[]client.Object{policy(t, "a", `{suspend: true, windows: [{name: win, cron: "0 2 * * *", duration: 1h}], triggers: [{name: hourly, type: Schedule, schedule: {cron: "0 18,20 * * *"}}]}`)},
			[]string{"Restart a hourly 2026-03-03T02:00:00Z the policy is suspended", "Window a win 2026-03-03T02:00:00Z 2026-03-03T03:00:00Z the policy is suspended",
				"Restart a hourly 2026-03-04T02:00:00Z the policy is suspended", "Window a win 2026-03-04T02:00:00Z 2026-03-04T03:00:00Z the policy is suspended"}},
		"a restart that would be too late": {"2026-03-02T12:00:00Z", "[]",
			[]client.Object{policy(t, "a", `{blackouts: [{name: b, cron: "0 17 2 * *", duration: 5h}], triggers: [{name: t, type: Schedule, schedule: {cron: "0 18 * * *", startingDeadline: 1h}}]}`)},
			[]string{"Blackout a b 2026-03-02T17:00:00Z 2026-03-02T22:00:00Z", "Restart a t 2026-03-03T18:00:00Z"}},
		"a freeze holds runs and restarts": {"2026-03-02T12:00:00Z", "[{name: f, start: '2026-03-02T00:00:00Z', end: '2026-03-03T14:00:00Z'}]",
			[]client.Object{chaosPod(t, "c", `{dryRun: false, schedule: {cron: "0 13 * * *", startingDeadline: 10m}}`),
				policy(t, "a", `{triggers: [{name: t, type: Schedule, schedule: {cron: "0 13 2 * *"}}]}`)},
			[]string{"Freeze f 2026-03-02T00:00:00Z 2026-03-03T14:00:00Z", "Restart a t 2026-03-03T14:00:00Z"}},
		"runs, of which one is a dry run": {"2026-03-02T12:00:00Z", "[]",
			[]client.Object{chaosPod(t, "c", `{dryRun: false, schedule: {cron: "0 13 * * *"}}`), chaosPod(t, "d", `{schedule: {at: "2026-03-03T01:00:00Z"}}`)},
			[]string{"Run c 2026-03-02T13:00:00Z", "Run d 2026-03-03T01:00:00Z a dry run", "Run c 2026-03-03T13:00:00Z"}},
		"what starts again within an hour is one event": {"2026-03-02T12:00:00Z", "[]",
			[]client.Object{chaosPod(t, "c", `{schedule: {cron: "0,15,30,45 9,14 * * *"}}`), policy(t, "a", `{triggers: [{name: t, type: Schedule, schedule: {cron: "0,20,40 3 3 * *"}}]}`)},
			[]string{"Run c 2026-03-02T14:00:00Z 2026-03-02T14:45:00Z a dry run, 4 times", "Restart a t 2026-03-03T03:00:00Z", "Restart a t 2026-03-03T03:20:00Z", "Restart a t 2026-03-03T03:40:00Z",
				"Run c 2026-03-03T09:00:00Z 2026-03-03T09:45:00Z a dry run, 4 times", "Run c 2026-03-03T14:00:00Z 2026-03-03T14:45:00Z a dry run, 4 times", "Run c 2026-03-04T09:00:00Z 2026-03-04T09:45:00Z a dry run, 4 times"}},
		"what cannot be parsed has no events": {"2026-03-02T12:00:00Z", "[]",
			[]client.Object{policy(t, "a", `{windows: [{name: w, cron: "x", duration: 1h}], triggers: [{name: t, type: Schedule, schedule: {cron: "y"}}]}`), chaosPod(t, "c", `{schedule: {cron: z}}`)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := of(t, test.from, test.blackouts, test.objects...); !slices.Equal(got, test.want) {
				t.Errorf("%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestACalendarIsBoundedAndSaysSo(t *testing.T) {
	minutely := policy(t, "a", `{windows: [{name: w, cron: "*/2 * * * *", duration: 1m}], triggers: [{name: t, type: Schedule, schedule: {cron: "* * * * *"}}]}`)
	var objects []client.Object
	for range 30 {
		objects = append(objects, minutely)
	}
	c := Of(&inspect.Snapshot{Objects: objects}, inspect.Freeze{}, at("2026-03-02T12:00:00Z"), at("2026-04-02T12:00:00Z"))
	if len(c.Events) > maxEvents || len(c.Notes) != 1 {
		t.Errorf("%d events, %q", len(c.Events), c.Notes)
	}
}

// A program that subscribes knows an event by its UID.
func TestAnEventKeepsItsUID(t *testing.T) {
	uids := func(from string) map[string]string {
		found := map[string]string{}
		c := Of(&inspect.Snapshot{Objects: []client.Object{
			policy(t, "a", `{windows: [{name: night, cron: "0 22 * * *", duration: 4h}, {name: always, cron: "0 * * * *", duration: 1h}]}`),
			chaosPod(t, "c", `{schedule: {cron: "0 13 * * *", jitterPercent: 20}}`),
		}}, inspect.Freeze{}, at(from), at("2026-03-08T00:00:00Z"))
		for i := range c.Events {
			e := &c.Events[i]
			if other := found[e.uid()]; other != "" {
				t.Errorf("%s and %s have one UID", other, e.Title)
			}
			found[e.uid()] = e.Type + e.Title + e.Start.String()
			if e.lasts {
				found[e.uid()] = e.Type + e.Title
			}
		}
		return found
	}
	early, late := uids("2026-03-02T10:00:00Z"), uids("2026-03-03T23:00:00Z")
	for uid, what := range late {
		if early[uid] != what {
			t.Errorf("%s had the UID of %q", what, early[uid])
		}
	}
}

func TestICalendarIsFoldedAndEscaped(t *testing.T) {
	end := metav1.NewTime(at("2026-03-02T13:00:00Z"))
	c := &Calendar{Events: []Event{{Type: Window, Key: inspect.Key{Kind: "RebootPolicy", Namespace: "shop", Name: strings.Repeat("ä", 200)},
		Title: "a;b,c\\d\r\nBEGIN:VEVENT\x00\x1b[31m", Start: metav1.NewTime(at("2026-03-02T12:00:00Z").In(time.FixedZone("x", 3600))), End: &end}},
		Unread: []inspect.Unread{{Resource: "a", Message: "b\nc"}}}
	var text strings.Builder
	if err := c.WriteICS(&text, at("2026-03-01T00:00:00Z")); err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text.String(), "\r\n"), "\r\n") {
		if len(line) > 75 || !utf8.ValidString(line) || strings.ContainsAny(line, "\r\n\x00\x1b") {
			t.Errorf("%q", line)
		}
	}
	unfolded := strings.ReplaceAll(text.String(), "\r\n ", "")
	for _, want := range []string{
		`a\;b\,c\\d\nBEGIN:VEVENT[31m`, "\r\nDTSTART:20260302T120000Z\r\nDTEND:20260302T130000Z\r\n", "\r\nDTSTAMP:20260301T000000Z\r\n",
		`DESCRIPTION:a could not be read: b\nc`, "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:", "END:VEVENT\r\nEND:VCALENDAR\r\n",
	} {
		if !strings.Contains(unfolded, want) {
			t.Errorf("%q is not in\n%s", want, unfolded)
		}
	}
	if strings.Count(unfolded, "\r\nBEGIN:VEVENT\r\n") != 1 {
		t.Errorf("a title has begun an event:\n%s", unfolded)
	}
}
