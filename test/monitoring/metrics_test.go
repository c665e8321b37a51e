// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"encoding/json"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
)

// ofTarget are the labels that a scrape adds.
var ofTarget = []string{"job", "namespace", "pod", "instance", "container", "service", "component"}

// foreign are metrics that not this operator makes, but Prometheus, or the library of its client in it.
var foreign = map[string][]string{"up": nil, "process_resident_memory_bytes": nil, "process_cpu_seconds_total": nil}

// metrics are the names that docs/reference/metrics.md lists, which a test of config compares with the code, and
// those of the configuration of kube-state-metrics, each with its labels.
func metrics(t *testing.T) map[string][]string {
	t.Helper()
	all := maps.Clone(foreign)
	word := regexp.MustCompile("`([a-z_]+)`")
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([^|]*)\\| (.*) \\|$").FindAllStringSubmatch(string(content(t, root+"/docs/reference/metrics.md")), -1) {
		var names []string
		for _, label := range word.FindAllStringSubmatch(row[2], -1) {
			names = append(names, label[1])
		}
		all[row[1]] = names
		if strings.HasPrefix(row[3], "Histogram") {
			all[row[1]+"_bucket"], all[row[1]+"_count"], all[row[1]+"_sum"] = append(names, "le"), names, names
		}
	}
	for _, resource := range stateMetrics(t).Spec.Resources {
		for _, metric := range resource.Metrics {
			names := slices.Concat(slices.Collect(maps.Keys(resource.LabelsFromPath)), []string{"customresource_group", "customresource_kind", "customresource_version"})
			if set := metric.Each.StateSet; set != nil {
				names = append(names, slices.Collect(maps.Keys(set.LabelsFromPath))...)
				names = append(names, set.LabelName)
			}
			all["kube_customresource_"+metric.Name] = names
		}
	}
	if len(all) < 80 {
		t.Fatalf("only %d metrics: the search is broken", len(all))
	}
	return all
}

// wrong says what of an expression is not there.
func wrong(known map[string][]string, text string) []string {
	for variable, value := range map[string]string{"$__rate_interval": "5m", "$__range": "1h"} {
		text = strings.ReplaceAll(text, variable, value)
	}
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	var carried []string // labels of all metrics in it
	check := func(label, of string, among []string) {
		if !slices.Contains(among, label) {
			found = append(found, of+" has no label "+label)
		}
	}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		name := selector.Name
		among, exists := known[name]
		if !exists {
			found = append(found, "there is no metric "+name)
			return nil
		}
		among = slices.Concat(among, ofTarget)
		carried = append(carried, among...)
		for _, matcher := range selector.LabelMatchers {
			if matcher.Name != model.MetricNameLabel {
				check(matcher.Name, name, among)
			}
		}
		return nil
	})
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.AggregateExpr:
			for _, label := range node.Grouping {
				check(label, node.String(), carried)
			}
		case *parser.BinaryExpr:
			if node.VectorMatching != nil {
				for _, label := range node.VectorMatching.MatchingLabels {
					check(label, node.String(), carried)
				}
			}
		}
		return nil
	})
	return found
}

func TestTheSearchForMetricsFindsWhatIsWrong(t *testing.T) {
	known := metrics(t)
	for _, text := range []string{
		"sum(fairlead_leaders)", "fairlead_leader{policy=\"a\"}", "sum by (policy) (fairlead_leader)", "rate(fairlead_leader[5m)",
		"fairlead_probe_duration_seconds_buckets", "up and on (policy) fairlead_leader",
	} {
		if len(wrong(known, text)) == 0 {
			t.Errorf("%q passes: the search is broken", text)
		}
	}
}

func TestAlertsUseMetricsThatExist(t *testing.T) {
	known := metrics(t)
	label := regexp.MustCompile(`\$labels\.(\w+)`)
	for _, rule := range alerts(t) {
		expression := rule.Expr.String()
		for _, problem := range wrong(known, expression) {
			t.Errorf("%s: %s", rule.Alert, problem)
		}
		for key, text := range rule.Annotations {
			for _, used := range label.FindAllStringSubmatch(text, -1) {
				if !regexp.MustCompile(`by \([^)]*\b` + used[1] + `\b`).MatchString(expression) {
					t.Errorf("%s: %s uses the label %s, which the expression does not keep", rule.Alert, key, used[1])
				}
			}
		}
	}
}

func TestTheDocumentationNamesMetricsThatExist(t *testing.T) {
	known := metrics(t)
	// Names end with a suffix of their unit or are followed by what no name has.
	name := regexp.MustCompile(`\b(?:fairlead|kube_customresource_fairlead)_[a-z_]+\b`)
	expressions := 0
	for path, text := range documents(t) {
		for _, found := range name.FindAllString(text, -1) {
			if _, exists := known[found]; !exists && !strings.HasSuffix(found, "_") {
				t.Errorf("%s: there is no metric %s", path, found)
			}
		}
		for _, block := range regexp.MustCompile("(?s)```promql\n(.*?)```").FindAllStringSubmatch(text, -1) {
			expressions++
			for _, problem := range wrong(known, block[1]) {
				t.Errorf("%s: %s: %s", path, block[1], problem)
			}
		}
	}
	if expressions == 0 {
		t.Error("found no expression: the search is broken")
	}
}

// documents are README.md, CHANGELOG.md and all pages of docs, except decisions, which name what was not taken.
func documents(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, folder := range []string{root, root + "/docs/guides", root + "/docs/reference"} {
		if err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && folder == root && path != root:
				return fs.SkipDir
			case strings.HasSuffix(path, ".md"):
				pages[path] = string(content(t, path))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if len(pages) < 20 {
		t.Fatalf("only %d pages", len(pages))
	}
	return pages
}

type dashboard struct {
	Title, UID string
	Templating struct {
		List []struct{ Name, Definition string }
	}
	Panels []struct {
		ID          int
		Type, Title string
		GridPos     struct{ H, W, X, Y int }
		Datasource  struct{ Type, UID string }
		Targets     []struct {
			RefID, Expr, LegendFormat string
			Datasource                struct{ Type, UID string }
		}
	}
}

func TestTheDashboardImportsAndUsesMetricsThatExist(t *testing.T) {
	var d dashboard
	if err := json.Unmarshal(content(t, root+"/config/prometheus/dashboard/dashboard.json"), &d); err != nil {
		t.Fatal(err)
	}
	known, ids, cells, variables := metrics(t), map[int]bool{}, map[[2]int]string{}, map[string]bool{"__rate_interval": true}
	for _, v := range d.Templating.List {
		variables[v.Name] = true
		for _, name := range regexp.MustCompile(`fairlead_\w+`).FindAllString(v.Definition, -1) {
			if _, exists := known[name]; !exists {
				t.Errorf("variable %s: there is no metric %s", v.Name, name)
			}
		}
	}
	variable, legend := regexp.MustCompile(`\$\{?(\w+)`), regexp.MustCompile(`\{\{(\w+)\}\}`)
	expressions := 0
	for _, p := range d.Panels {
		if ids[p.ID] || p.ID == 0 {
			t.Errorf("%s: the id %d is missing or another panel's", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := cells[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s lies over %s or beyond the edge", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			expressions++
			if p.Datasource.UID != "${datasource}" || target.Datasource.UID != "${datasource}" {
				t.Errorf("%s: names a data source of one installation", p.Title)
			}
			for _, used := range variable.FindAllStringSubmatch(target.Expr, -1) {
				if !variables[used[1]] {
					t.Errorf("%s: there is no variable %s", p.Title, used[1])
				}
			}
			for _, problem := range wrong(known, target.Expr) {
				t.Errorf("%s: %s", p.Title, problem)
			}
			for _, used := range legend.FindAllStringSubmatch(target.LegendFormat, -1) {
				if by := regexp.MustCompile(`by \([^)]*\b` + used[1] + `\b`); strings.Contains(target.Expr, " by (") && !by.MatchString(target.Expr) {
					t.Errorf("%s: the legend uses %s, which the expression does not keep", p.Title, used[1])
				}
			}
		}
	}
	if d.UID == "" || d.Title == "" || expressions < 30 {
		t.Errorf("uid %q, title %q, %d expressions", d.UID, d.Title, expressions)
	}
}

// TestMonitors reads the monitors by the types of prometheus-operator, strictly.
func TestMonitorsAuthenticateAndVerify(t *testing.T) {
	var service monitoringv1.ServiceMonitor
	var pod monitoringv1.PodMonitor
	decode(t, root+"/config/prometheus/service_monitor.yaml", &service)
	decode(t, root+"/config/prometheus/pod-monitor/pod_monitor.yaml", &pod)
	if len(service.Spec.Endpoints) != 1 || len(pod.Spec.PodMetricsEndpoints) != 1 {
		t.Fatal("not one endpoint of each")
	}
	s, p := service.Spec.Endpoints[0], pod.Spec.PodMetricsEndpoints[0]
	if s.TLSConfig == nil || p.TLSConfig == nil || s.Authorization == nil || p.Authorization == nil || s.Port != *p.Port || s.Path != p.Path || !s.HonorLabels || !p.HonorLabels {
		t.Fatalf("differ, or lack TLS, a token or honorLabels: %+v, %+v", s, p)
	}
	if diff := cmp.Diff(s.RelabelConfigs, p.RelabelConfigs); diff != "" || len(s.RelabelConfigs) != 1 || s.RelabelConfigs[0].TargetLabel != "component" {
		t.Errorf("the label component (-ServiceMonitor +PodMonitor): %s", diff)
	}
	for name, config := range map[string]monitoringv1.SafeTLSConfig{"ServiceMonitor": s.TLSConfig.SafeTLSConfig, "PodMonitor": *p.TLSConfig} {
		if config.InsecureSkipVerify != nil || config.CA.Secret == nil || config.CA.Secret.Name != "fairlead-metrics-tls" || config.ServerName == nil || *config.ServerName != "metrics.fairlead.dev" {
			t.Errorf("%s: does not verify the certificate: %+v", name, config)
		}
		for _, authorization := range []*monitoringv1.SafeAuthorization{s.Authorization, p.Authorization} {
			if authorization.Credentials == nil || authorization.Credentials.Name != "fairlead-metrics-reader" || authorization.Credentials.Key != "token" {
				t.Errorf("%s: presents no token: %+v", name, authorization)
			}
		}
	}
}
