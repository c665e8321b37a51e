// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

var kubeMonkey = &Peer{
	Name: "kube-monkey", Title: "workloads with the labels of kube-monkey", Into: "ChaosPod",
	Reads:   []Kind{deploymentReads, statefulSetReads, daemonSetReads},
	Follows: func(in *input) []key { return configMapsOf(in, "kube-monkey") },
	Differences: slices.Concat([]string{
		"kube-monkey decides by lot on each weekday whether a workload loses pods, on one of mtbf of them on average. A ChaosPod has an interval of that length, " +
			"with jitter; a run that is due outside of the window begins when that opens.",
		"The configuration of kube-monkey is one for all workloads, and is repeated in each ChaosPod.",
	}, chaosDifferences),
	Steps:     append(slices.Clone(chaosSteps), "Remove the labels of kube-monkey from the workloads when nothing reads them any more; from a pod template, that starts a rollout."),
	translate: translateKubeMonkey,
}

// Labels of kube-monkey, and the defaults of its configuration.
const (
	monkeyPrefix  = "kube-monkey/"
	monkeyZone    = "America/Los_Angeles"
	monkeyStart   = 10
	monkeyEnd     = 16
	monkeyGrace   = 5
	weekdayLength = 24 * time.Hour * 7 / 5
	maxWait       = 72 * time.Hour // of a run that is due on a Friday evening, until Monday
)

// monkey is the configuration of kube-monkey.
type monkey struct {
	dryRun         bool
	zone           string
	start, end     int
	grace          int64
	allowed, never []string
}

func translateKubeMonkey(r *run) {
	config, from := r.monkeyConfig()
	workloads := slices.Concat(r.objects[deploymentKind], r.objects[statefulSetKind], r.objects[daemonSetKind])
	names := map[string]int{}
	for _, o := range workloads {
		if monkeyLabels(o) != nil {
			names[o.namespace+"/"+o.name]++
		}
	}
	found := false
	for _, o := range workloads {
		path := monkeyLabels(o)
		if path == nil {
			continue
		}
		s := r.subject(o)
		found = true
		if slices.Contains(config.never, o.namespace) || len(config.allowed) > 0 && !slices.Contains(config.allowed, o.namespace) {
			s.say(Left, "its namespace is one that kube-monkey's configuration excludes")
			continue
		}
		if len(path) > 2 {
			s.root().in(path...).enter()
			s.remark(Differs, s.place, "spec.template.metadata.labels", "has the labels of kube-monkey, which reads those of the workload itself; they are taken as meant")
		}
		p := &chaosv1.ChaosPod{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: s.workloadName(names)}}
		s.monkey(s.root().in(path...), config, p)
		r.emit(p, append([]*subject{s}, from...)...)
	}
	if found && len(from) == 0 {
		r.remarks = append(r.remarks, Remark{Effect: Left, Object: "kube-monkey", Text: "its configuration is not in the input, so that the defaults are assumed: " +
			"dry_run, from 10 to 16 in America/Los_Angeles, a grace period of 5s; give its ConfigMap and Deployment too"})
	}
}

// monkeyLabels returns where a workload has the labels, where it is enabled.
func monkeyLabels(o *object) []string {
	for _, path := range [][]string{{"metadata", "labels"}, {"spec", "template", "metadata", "labels"}} {
		n := o.Node
		for _, k := range path {
			n = n.Get(k)
		}
		if n.Text(monkeyPrefix+"enabled") == "enabled" {
			return path
		}
	}
	return nil
}

// monkey fills a ChaosPod from labels.
func (s *subject) monkey(labels cursor, config monkey, p *chaosv1.ChaosPod) {
	p.Spec = chaosv1.ChaosPodSpec{
		DryRun: &config.dryRun,
		Target: chaosv1.Target{Workload: &common.WorkloadReference{Kind: common.WorkloadKind(s.GroupVersionKind.Kind), Name: s.name}},
		Filter: &chaosv1.Filter{MinAge: new(common.Duration)},
	}
	*p.Spec.Filter.MinAge = "0s"
	if config.grace > 0 {
		p.Spec.Action = &chaosv1.Action{GracePeriodSeconds: &config.grace}
	} else {
		remove := chaosv1.ActionDelete
		p.Spec.Action = &chaosv1.Action{Type: &remove, GracePeriodSeconds: &config.grace, AllowForceDelete: ptr.To(true)}
	}
	mtbf := labels.in(monkeyPrefix + "mtbf")
	days, err := strconv.Atoi(mtbf.text())
	if err != nil || days < 1 {
		mtbf.say(Refused, "must be a number of weekdays, from 1; kube-monkey leaves the workload alone without it")
		return
	}
	s.monkeySchedule(p, days, config)
	s.monkeyKills(labels)
}

// monkeySchedule sets when runs are due: on each weekday, or once in so many of them.
func (s *subject) monkeySchedule(p *chaosv1.ChaosPod, days int, config monkey) {
	zone := common.TimeZone(config.zone)
	if zone == "UTC" {
		zone = ""
	}
	hours := config.end - config.start
	p.Spec.Windows = []common.Window{{
		Name: "weekdays", Cron: common.Cron(fmt.Sprintf("0 %d * * 1-5", config.start)), TimeZone: zone,
		Duration: common.DurationOf(time.Duration(hours) * time.Hour),
	}}
	due := &p.Spec.Schedule
	if days == 1 {
		// In the middle of the window, and jitter of half of it.
		middle := config.start*60 + hours*30
		jitter := int32(hours * 100 / 48)
		due.Cron, due.TimeZone, due.JitterPercent = common.Cron(fmt.Sprintf("%d %d * * 1-5", middle%60, middle/60)), zone, &jitter
		return
	}
	jitter, deadline := int32(50), common.DurationOf(maxWait)
	due.Interval, due.JitterPercent, due.StartingDeadline = common.DurationOf(time.Duration(days)*weekdayLength), &jitter, &deadline
}

// monkeyKills names what is not carried over of how many pods die: a run takes one pod of a workload.
func (s *subject) monkeyKills(labels cursor) {
	mode, value := labels.in(monkeyPrefix+"kill-mode"), labels.in(monkeyPrefix+"kill-value")
	count, err := strconv.Atoi(value.text())
	if value.exists() && (err != nil || count < 1) {
		value.say(Refused, "must be a whole number from 1")
	}
	switch mode.text() {
	case "":
		mode.say(Differs, "is missing, without which kube-monkey kills nothing; one pod dies in a run")
	case "fixed":
		if count > 1 {
			mode.say(Lost, "kills %d pods at a time, and a run of a ChaosPod takes one pod of a workload", count)
		}
	case "kill-all":
		mode.say(Lost, "kills all pods at a time, and a run of a ChaosPod takes one pod of a workload")
	case "fixed-percent", "random-max-percent":
		mode.say(Lost, "kills a share of the pods, and a run of a ChaosPod takes one pod of a workload")
	default:
		mode.say(Refused, "%.40q is not one of fixed, kill-all, fixed-percent and random-max-percent", mode.text())
	}
	labels.in(monkeyPrefix + "identifier").use() // the workload is named instead
}

// monkeyConfig returns the configuration of kube-monkey, and what it was read from.
func (r *run) monkeyConfig() (monkey, []*subject) {
	c := monkey{dryRun: true, zone: monkeyZone, start: monkeyStart, end: monkeyEnd, grace: monkeyGrace, never: []string{"kube-system"}}
	var from []*subject
	for _, o := range r.objects[configMapKind] {
		text := o.Get("data").Text("config.toml")
		if !strings.Contains(text, "[kubemonkey]") {
			continue
		}
		s := r.subject(o)
		if len(from) > 0 {
			s.say(Refused, "is a second configuration of kube-monkey, beside that of %s; give one of them", from[0].label())
			from[0].refused = true
			continue
		}
		c.read(s, text)
		from = append(from, s)
	}
	for _, o := range r.ofProject("kube-monkey") {
		s := r.subject(o)
		for name, v := range r.settings(s, "kube-monkey", "KUBEMONKEY_") {
			if v.env { // the flags are those of its log
				c.set(strings.ReplaceAll(name, "-", "_"), quoted(v.value), v.say)
			}
		}
		from = append(from, s)
	}
	if len(from) > 0 && (c.start < 0 || c.end > 23 || c.start >= c.end) {
		from[0].say(Refused, "start_hour %d must be below end_hour %d, both from 0 to 23", c.start, c.end)
	}
	return c, from
}

// quoted returns the value of a variable as the configuration would have it.
func quoted(value string) string {
	if _, err := strconv.Atoi(value); err == nil || value == "true" || value == "false" {
		return value
	}
	if strings.Contains(value, ",") {
		return `["` + strings.Join(strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' }), `","`) + `"]`
	}
	return strconv.Quote(value)
}

var (
	tomlSection = regexp.MustCompile(`^\[+\s*([^\]]+?)\s*\]+`)
	tomlValue   = regexp.MustCompile(`^([A-Za-z0-9_-]+)\s*=\s*(.+)$`)
	tomlComment = regexp.MustCompile(`^((?:[^"#]|"(?:[^"\\]|\\.)*")*)#.*$`)
)

// read reads config.toml. Values of its section kubemonkey are of the forms that JSON has too.
func (c *monkey) read(s *subject, content string) {
	at := s.root().in("data", "config.toml")
	at.use()
	section := ""
	for number, text := range strings.Split(content, "\n") {
		text = strings.TrimSpace(tomlComment.ReplaceAllString(strings.TrimSpace(text), "$1"))
		if found := tomlSection.FindStringSubmatch(text); found != nil {
			section = found[1]
			if section != "kubemonkey" {
				at.note(Lost, "[%s]: %s", section, monkeySections(section))
			}
			continue
		}
		if section != "kubemonkey" || text == "" {
			continue
		}
		say := func(e Effect, format string, values ...any) {
			at.note(e, "line %d: %s", number+1, fmt.Sprintf(format, values...))
		}
		found := tomlValue.FindStringSubmatch(text)
		if found == nil {
			say(Refused, "is no `key = value` in one line; write it so")
			continue
		}
		c.set(found[1], strings.ReplaceAll(found[2], "'", `"`), say)
	}
}

func monkeySections(section string) string {
	switch {
	case strings.HasPrefix(section, "notifications"):
		return "runs are Events, metrics and status.history; nothing is sent"
	case section == "debug":
		return "to begin a run at once, use the annotation chaos.fairlead.dev/run-now"
	}
	return "is about kube-monkey's own process"
}

// set sets one key of the configuration, whose value is written as in JSON.
func (c *monkey) set(name, value string, say func(e Effect, format string, values ...any)) {
	var to any
	switch name {
	case "dry_run":
		to = &c.dryRun
	case "time_zone":
		to = &c.zone
	case "start_hour":
		to = &c.start
	case "end_hour":
		to = &c.end
	case "graceperiod_sec":
		to = &c.grace
	case "whitelisted_namespaces":
		to = &c.allowed
	case "blacklisted_namespaces":
		to = &c.never
	case "run_hour":
		return // when the schedule of a day was made
	default:
		say(Lost, "%s is no field of the configuration that is known here", name)
		return
	}
	if list, is := to.(*[]string); is {
		*list = nil
		if !strings.HasPrefix(value, "[") {
			value = "[" + value + "]"
		}
	}
	if err := json.Unmarshal([]byte(value), to); err != nil {
		say(Refused, "%s: %.60s cannot be read; write it in one line, as a number, true, false, \"text\" or [\"text\"]", name, value)
	}
	if list, is := to.(*[]string); is {
		*list = slices.DeleteFunc(*list, func(n string) bool { return n == "" }) // [""] is all, or none
	}
}
