// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// alertTests is a file of promtool. It has no annotations: a test here renders them instead.
type alertTests struct {
	Tests []struct {
		Name        string
		InputSeries []struct{ Series, Values string } `json:"input_series"`
		Alerts      []struct {
			EvalTime  string `json:"eval_time"`
			Alertname string
			ExpAlerts []struct {
				ExpLabels map[string]string `json:"exp_labels"`
			} `json:"exp_alerts"`
		} `json:"alert_rule_test"`
	}
}

// firing maps the alerts that fire at an instant to the labels of each.
type firing map[string][]map[string]string

func TestAlertsFireWhenAPersonHasToAct(t *testing.T) {
	var file alertTests
	decode(t, "testdata/alerts.yaml", &file)
	severity, fired, silent := map[string]string{}, map[string]bool{}, map[string]bool{}
	for _, rule := range alerts(t) {
		severity[rule.Alert] = rule.Labels["severity"]
	}
	for _, test := range file.Tests {
		t.Run(test.Name, func(t *testing.T) {
			var load strings.Builder
			load.WriteString("load 1m\n")
			for _, s := range test.InputSeries {
				fmt.Fprintf(&load, "  %s %s\n", s.Series, s.Values)
			}
			want := map[time.Duration]firing{}
			for _, a := range test.Alerts {
				at, err := model.ParseDuration(a.EvalTime)
				if err != nil {
					t.Fatal(err)
				}
				if want[time.Duration(at)] == nil {
					want[time.Duration(at)] = firing{}
				}
				all := []map[string]string{}
				for _, e := range a.ExpAlerts {
					l := map[string]string{"alertname": a.Alertname, "severity": severity[a.Alertname]}
					maps.Copy(l, e.ExpLabels)
					all = append(all, l)
				}
				want[time.Duration(at)][a.Alertname] = all
				fired[a.Alertname] = fired[a.Alertname] || len(all) > 0
				silent[a.Alertname] = silent[a.Alertname] || len(all) == 0
			}
			got := evaluate(t, load.String(), slices.Max(slices.Collect(maps.Keys(want))))
			for at, names := range want {
				for name, all := range names {
					if diff := cmp.Diff(sorted(all), sorted(got[at][name])); diff != "" {
						t.Errorf("%s after %v (-want +got):\n%s", name, at, diff)
					}
				}
				for name := range got[at] {
					if _, expected := names[name]; !expected {
						t.Errorf("%s fires after %v as well: %v", name, at, got[at][name])
					}
				}
			}
		})
	}
	for name := range severity {
		if !fired[name] || !silent[name] {
			t.Errorf("%s: no test in which it fires, or none in which it does not yet", name)
		}
		delete(fired, name)
	}
	for name := range fired {
		t.Errorf("testdata/alerts.yaml tests %s, which does not exist", name)
	}
}

// sorted are the labels of alerts in an order of their own: the rules name no order of two alerts that fire at once.
func sorted(alerts []map[string]string) []map[string]string {
	return slices.SortedFunc(slices.Values(alerts), func(a, b map[string]string) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
}

// evaluate runs all rules once a minute.
func evaluate(t *testing.T, load string, until time.Duration) map[time.Duration]firing {
	t.Helper()
	suite, err := promqltest.NewLazyLoader(load, promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true, Parser: parser.NewParser(parser.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = suite.Close() }()
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:    rules.EngineQueryFunc(suite.QueryEngine(), suite.Storage()),
		AppendableV2: suite.Storage(),
		Context:      t.Context(),
		NotifyFunc:   func(context.Context, string, ...*rules.Alert) {},
		Logger:       promslog.NewNopLogger(),
	})
	groups, errs := manager.LoadGroups(time.Minute, labels.EmptyLabels(), "", nil, false, ruleFile(t))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	fires := map[time.Duration]firing{}
	for passed := time.Duration(0); passed <= until; passed += time.Minute {
		at := time.Unix(0, 0).UTC().Add(passed)
		fires[passed] = firing{}
		suite.WithSamplesTill(at, func(err error) {
			if err != nil {
				t.Fatal(err)
			}
			for _, group := range groups {
				group.Eval(suite.Context(), at)
				for _, rule := range group.Rules() {
					if rule.LastError() != nil {
						t.Fatalf("%s: %v", rule.Name(), rule.LastError())
					}
					for _, alert := range rule.(*rules.AlertingRule).ActiveAlerts() {
						if alert.State != rules.StateFiring {
							continue
						}
						fires[passed][rule.Name()] = append(fires[passed][rule.Name()], alert.Labels.Map())
						for key, text := range alert.Annotations.Map() {
							if regexp.MustCompile(`<error|no value|\{\{|NaN|  `).MatchString(text) && key != "runbook_url" {
								t.Errorf("%s: the annotation %s is %q", rule.Name(), key, text)
							}
						}
					}
				}
			}
		})
	}
	return fires
}

// ruleFile is the PrometheusRule as Prometheus reads it.
func ruleFile(t *testing.T) string {
	t.Helper()
	content, err := yaml.Marshal(prometheusRule(t).Spec)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// prometheusRule is the PrometheusRule of the operator with the groups of those of the kinds.
func prometheusRule(t *testing.T) *monitoringv1.PrometheusRule {
	t.Helper()
	all := &monitoringv1.PrometheusRule{}
	for _, name := range []string{"prometheus", "externalservice", "rebootpolicy", "chaospod"} {
		rule := &monitoringv1.PrometheusRule{}
		decode(t, root+"/config/prometheus/rules/"+name+"_rule.yaml", rule)
		all.Spec.Groups = append(all.Spec.Groups, rule.Spec.Groups...)
	}
	return all
}

func alerts(t *testing.T) []monitoringv1.Rule {
	t.Helper()
	var all []monitoringv1.Rule
	for _, group := range prometheusRule(t).Spec.Groups {
		all = append(all, group.Rules...)
	}
	if len(all) < 20 {
		t.Fatalf("only %d alerts", len(all))
	}
	return all
}

func TestEachAlertHasARunbookAndNoOtherExists(t *testing.T) {
	page := string(content(t, root+"/docs/guides/runbooks.md"))
	sections := map[string]string{}
	for _, part := range strings.Split(page, "\n## ")[1:] {
		title, body, _ := strings.Cut(part, "\n")
		sections[title] = body
	}
	for _, rule := range alerts(t) {
		if want := "https://github.com/fairlead-dev/fairlead/blob/main/docs/guides/runbooks.md#" + strings.ToLower(rule.Alert); rule.Annotations["runbook_url"] != want {
			t.Errorf("%s: runbook_url is %q, want %q", rule.Alert, rule.Annotations["runbook_url"], want)
		}
		body, found := sections[rule.Alert]
		if !found || !strings.Contains(body, "**Meaning.**") || !strings.Contains(body, "**Do.**") {
			t.Errorf("docs/guides/runbooks.md: the section %s needs **Meaning.** and **Do.**", rule.Alert)
		}
		if want := rule.Labels["severity"]; !strings.Contains(body, "Severity: "+want) {
			t.Errorf("docs/guides/runbooks.md: the section %s does not say Severity: %s", rule.Alert, want)
		}
		delete(sections, rule.Alert)
	}
	for title := range sections {
		t.Errorf("docs/guides/runbooks.md has a section %s, which is no alert", title)
	}
}

// decode reads a YAML file strictly.
func decode(t *testing.T, path string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(content(t, path), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
