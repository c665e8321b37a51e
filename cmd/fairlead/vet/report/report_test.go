// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet/files"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// shared spares the tests compiling the CRDs again.
var shared = sync.OnceValue(func() *vet.Vet { return vet.New(vet.Options{}) })

// written returns a report about testdata/input.yaml.
func written(t *testing.T, format string, o Options, unread error) string {
	t.Helper()
	var out bytes.Buffer
	r, err := New(format, &out, o)
	if err != nil {
		t.Fatal(err)
	}
	summary, err := shared().Run(t.Context(), func(visit files.Visit) error {
		return files.Walk([]string{"testdata/input.yaml"}, files.Options{}, visit)
	}, r.Object)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.End(summary, unread); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestEachFormatIsAsItWas(t *testing.T) {
	for file, test := range map[string]struct {
		format string
		o      Options
		unread error
	}{
		"text.txt":         {format: Text},
		"quiet.txt":        {format: Text, o: Options{Quiet: true}},
		"strict-quiet.txt": {format: Text, o: Options{Quiet: true, WarningsAsErrors: true}},
		"report.json":      {format: JSON},
		"report.sarif":     {format: SARIF, o: Options{Version: "v1.2.3"}},
		"junit.xml":        {format: JUnit},
		"strict-junit.xml": {format: JUnit, o: Options{WarningsAsErrors: true}, unread: errors.New("other.yaml: no such file")},
	} {
		t.Run(file, func(t *testing.T) {
			got := written(t, test.format, test.o, test.unread)
			path := "testdata/" + file
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatProgramsReadIsWellFormed(t *testing.T) {
	unread := errors.New("a.yaml: \"<gone>\"")
	for _, format := range []string{JSON, SARIF} {
		if out := written(t, format, Options{}, unread); !json.Valid([]byte(out)) || !strings.Contains(out, `a.yaml: \"<gone>\"`) {
			t.Errorf("%s: %s", format, out)
		}
	}
	var suites junitSuites
	if err := xml.Unmarshal([]byte(written(t, JUnit, Options{}, unread)), &suites); err != nil {
		t.Fatal(err)
	}
	if suites.Tests != 5 || suites.Failures != 2 || suites.Errors != 1 {
		t.Errorf("%+v", suites)
	}
}

func TestASARIFResultNamesItsRuleByIndexAndItsFileAsAURI(t *testing.T) {
	r := newSARIF(&bytes.Buffer{}, "")
	for _, check := range vet.Checks() {
		if err := r.Object(vet.Object{File: "a b/ü.yaml", Kind: "ChaosPod", Findings: []vet.Finding{{ID: check.ID, Rule: check.Rule, Line: 1, Column: 1}}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, result := range r.run.Results {
		if got := r.run.Tool.Driver.Rules[result.RuleIndex].ID; got != result.RuleID {
			t.Errorf("rule %s is listed as %s", result.RuleID, got)
		}
		if got := result.Locations[0].PhysicalLocation.ArtifactLocation.URI; got != "a%20b/%C3%BC.yaml" {
			t.Errorf("URI %s", got)
		}
	}
}

func TestAnEmptyRunIsAReportToo(t *testing.T) {
	for format, want := range map[string]string{
		Text:  "0 objects in 0 files: 0 errors, 0 warnings\n",
		JSON:  `"findings": []`,
		SARIF: `"results": []`,
		JUnit: `<testsuites name="fairlead vet" tests="0" failures="0" errors="0"></testsuites>`,
	} {
		var out bytes.Buffer
		r, err := New(format, &out, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.End(vet.Summary{}, nil); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v, %s", format, err, out.String())
		}
	}
	if _, err := New("xml", nil, Options{}); err == nil || !strings.Contains(err.Error(), "sarif") {
		t.Errorf("got %v", err)
	}
}

func TestWhatAClusterHasStandsOnNoLine(t *testing.T) {
	found := vet.Object{File: "prod", Kind: "ChaosPod", Namespace: "shop", Name: "a", Findings: []vet.Finding{{Severity: vet.Error, Rule: vet.RuleConversion, Message: "no"}}}
	for format, want := range map[string][]string{
		Text: {"prod: error: ChaosPod shop/a: no\n",
			"1 object in prod: 1 error, 0 warnings\n"},
		JSON:  {`"cluster": "prod"`, `"line": 0`},
		SARIF: {`"uri": "prod"`},
		JUnit: {"prod: error: no"},
	} {
		var out bytes.Buffer
		r, err := New(format, &out, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.Object(found), r.End(vet.Summary{Cluster: "prod", Objects: 1, Errors: 1}, nil)); err != nil {
			t.Fatal(err)
		}
		for _, piece := range want {
			if !strings.Contains(out.String(), piece) {
				t.Errorf("%s: no %q in %s", format, piece, out.String())
			}
		}
		if format == SARIF && strings.Contains(out.String(), "startLine") {
			t.Errorf("a region of no line: %s", out.String())
		}
	}
}

func TestAFindingStaysOnItsLine(t *testing.T) {
	var out bytes.Buffer
	r := &lines{to: &out, quiet: true}
	if err := r.Object(vet.Object{File: "f", Findings: []vet.Finding{{Severity: vet.Error, Line: 1, Column: 2, Field: "a", Message: "x\ny"}}}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "f:1:2: error: document: a: x; y\n" {
		t.Errorf("%q", got)
	}
}
