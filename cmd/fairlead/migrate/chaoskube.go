// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

var chaosDifferences = []string{
	"A ChaosPod evicts, so that PodDisruptionBudgets apply. `action: {type: Delete}` deletes, as until now.",
	"It keeps half of a workload's pods ready (safety.minReady), waits for rollouts and restarts, and takes one pod of each workload in a run.",
	"It verifies that the workload recovers, and halts where it does not (verification.onFailure). Pods without a controller, and those in kube-system, are never killed.",
}

var chaosSteps = []string{
	"dryRun is what the old project had. Apply with true for a first look: status.history names the pods that would have been killed.",
	"Scale the old project to zero: Fairlead does not know of its kills.",
	"Set dryRun false where it is to kill. The user who applies that needs the right to evict the pods.",
}

var chaoskube = &Peer{
	Name: "chaoskube", Title: "chaoskube", Into: "ChaosPod", Flags: []string{"to-namespaces"},
	Reads: []Kind{
		deploymentReads,
		{GroupKind: statefulSetKind, Version: "v1", Plural: "statefulsets", Optional: true},
		{GroupKind: jobKind, Version: "v1", Plural: "jobs", Optional: true},
		{GroupKind: cronJobKind, Version: "v1", Plural: "cronjobs", Optional: true},
		{GroupKind: namespaceKind, Version: "v1", Plural: "namespaces", Optional: true},
	},
	Follows: func(in *input) []key { return configMapsOf(in, "chaoskube") },
	Differences: slices.Concat([]string{
		"chaoskube is one process for the cluster, and a ChaosPod is of one namespace. Where there are several, each has an interval that is longer by their " +
			"number, so that as many pods die in the cluster as until now, and jitter, so that they do not die at once.",
	}, chaosDifferences),
	Steps:     chaosSteps,
	translate: translateChaoskube,
}

func translateChaoskube(r *run) {
	for _, o := range r.ofProject("chaoskube") {
		s := r.subject(o)
		c := chaos{run: r, subject: s, flags: r.settings(s, "chaoskube", "CHAOSKUBE_")}
		c.translate()
	}
}

// chaos is the translation of one chaoskube.
type chaos struct {
	*run
	*subject
	flags map[string]setting
	spec  chaosv1.ChaosPodSpec
}

// text returns the value of a flag.
func (c *chaos) text(name string) string { return c.flags[name].value }

// say adds a remark about a flag. Its value may be a secret, and is not repeated unless it cannot be read.
func (c *chaos) say(e Effect, flag, format string, values ...any) {
	c.remark(e, c.flags[flag].at, "--"+flag, fmt.Sprintf(format, values...))
}

// suspend stops the ChaosPod, since it would choose other pods than chaoskube did.
func (c *chaos) suspend(flag, text string) {
	suspend := true
	c.spec.Suspend = &suspend
	c.say(Lost, flag, "%s; suspended, since more pods would be chosen otherwise", text)
}

func (c *chaos) duration(name, fallback string) time.Duration {
	text := c.text(name)
	if _, given := c.flags[name]; !given {
		text = fallback
	}
	span, err := time.ParseDuration(text)
	if err != nil {
		c.say(Refused, name, "%.40q is no duration such as 10m", text)
	}
	return span
}

func (c *chaos) whole(name string, fallback int) int {
	if _, given := c.flags[name]; !given {
		return fallback
	}
	value, err := strconv.Atoi(c.text(name))
	if err != nil {
		c.say(Refused, name, "%.40q is no whole number", c.text(name))
	}
	return value
}

// selector parses a flag as chaoskube does.
func (c *chaos) selector(name string) labels.Requirements {
	selector, err := labels.Parse(c.text(name))
	if err != nil {
		c.say(Refused, name, "is no selector: %v", err)
		return nil
	}
	requirements, _ := selector.Requirements()
	return requirements
}

func (c *chaos) translate() {
	dry := c.text("dry-run") != "false"
	c.spec.DryRun = &dry
	c.spec.Target.Selector = &common.LabelSelector{}
	c.addSelector("labels")
	c.addAnnotations()
	c.kinds()
	for _, name := range []string{"included-pod-names", "excluded-pod-names"} {
		if c.text(name) != "" {
			c.suspend(name, "pods are chosen by labels: put them into target.selector or filter.exclude")
		}
	}
	age := common.DurationOf(c.duration("minimum-age", "0s"))
	c.spec.Filter = &chaosv1.Filter{MinAge: &age}
	c.calendar()
	if grace := c.duration("grace-period", "-1s"); grace >= 0 {
		seconds := int64(grace / time.Second)
		c.spec.Action = &chaosv1.Action{GracePeriodSeconds: &seconds}
		if seconds == 0 {
			remove := chaosv1.ActionDelete
			c.spec.Action.Type, c.spec.Action.AllowForceDelete = &remove, ptr.To(true)
		}
	}
	c.rest()
	namespaces := c.namespaces()
	c.rate(len(namespaces))
	for _, namespace := range namespaces {
		p := &chaosv1.ChaosPod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: c.name}}
		c.spec.DeepCopyInto(&p.Spec)
		c.emit(p, c.subject)
	}
}

// rate sets how many pods die, and how often.
func (c *chaos) rate(namespaces int) {
	kills := c.whole("max-kill", 1)
	count := intstr.FromInt(kills)
	if kills != 1 {
		c.spec.Count = &count
	}
	interval := c.duration("interval", "10m") * time.Duration(max(namespaces, 1))
	if replicas := c.root().in("spec", "replicas"); replicas.number() > 1 {
		replicas.say(Differs, "are %d processes, each of which kills: the interval is divided by their number", replicas.number())
		interval /= time.Duration(replicas.number())
	}
	if interval > 0 && interval < 10*time.Second {
		c.say(Differs, "interval", "runs are at least 10s apart")
		interval = 10 * time.Second
	}
	if interval <= 0 {
		c.say(Refused, "interval", "must be greater than 0")
		return
	}
	c.spec.Schedule.Interval = common.DurationOf(interval)
	if namespaces > 1 {
		jitter := int32(50)
		c.spec.Schedule.JitterPercent = &jitter
	}
	perDay := int32(min(max((24*time.Hour+interval-1)/interval*time.Duration(kills), 1), 10000))
	c.spec.Safety = &chaosv1.Safety{MaxPerDay: &perDay}
}

// addSelector adds requirements on labels.
func (c *chaos) addSelector(flag string) {
	for _, q := range c.selector(flag) {
		out := common.LabelRequirement{Key: q.Key()}
		for _, value := range slices.Sorted(maps.Keys(q.Values())) {
			out.Values = append(out.Values, common.LabelValue(value))
		}
		to := c.spec.Target.Selector
		switch q.Operator() {
		case selection.Equals, selection.DoubleEquals:
			if _, twice := to.MatchLabels[q.Key()]; !twice {
				if to.MatchLabels == nil {
					to.MatchLabels = map[string]common.LabelValue{}
				}
				to.MatchLabels[q.Key()] = out.Values[0]
				continue
			}
			out.Operator = metav1.LabelSelectorOpIn
		case selection.In:
			out.Operator = metav1.LabelSelectorOpIn
		case selection.NotEquals, selection.NotIn:
			out.Operator = metav1.LabelSelectorOpNotIn
		case selection.Exists:
			out.Operator = metav1.LabelSelectorOpExists
		case selection.DoesNotExist:
			out.Operator = metav1.LabelSelectorOpDoesNotExist
		default:
			c.suspend(flag, fmt.Sprintf("%s compares numbers, which a selector here does not", q.String()))
			continue
		}
		to.MatchExpressions = append(to.MatchExpressions, out)
	}
}

// addAnnotations takes labels of the same names for annotations.
func (c *chaos) addAnnotations() {
	all := c.selector("annotations")
	if len(all) == 0 {
		return
	}
	c.say(Differs, "annotations", "pods are chosen by labels: they need labels of the same names and values as the annotations")
	for _, q := range all {
		if op := q.Operator(); op == selection.DoesNotExist || op == selection.NotEquals || op == selection.NotIn {
			c.suspend("annotations", "give the pods that are to be spared the label first, and resume then")
			break
		}
	}
	c.addSelector("annotations")
}

// kinds of owners: those that Fairlead never takes need not be excluded.
func (c *chaos) kinds() {
	for _, q := range c.selector("kinds") {
		switch owned := slices.Contains([]string{"DaemonSet", "StatefulSet", "ReplicaSet"}, q.Key()); {
		case q.Operator() != selection.Exists && q.Operator() != selection.DoesNotExist:
			c.say(Refused, "kinds", "chaoskube takes kinds such as DaemonSet or !DaemonSet, and %.40q is neither", q.String())
		case q.Operator() == selection.DoesNotExist && !owned:
		default:
			c.suspend("kinds", "name a workload (target.workload), or put its labels into target.selector")
		}
	}
}

// rest names flags that have no counterpart.
func (c *chaos) rest() {
	handled := []string{"labels", "annotations", "kinds", "namespaces", "namespace-labels", "included-pod-names", "excluded-pod-names",
		"excluded-weekdays", "excluded-times-of-day", "excluded-days-of-year", "timezone", "minimum-age", "max-kill", "interval", "dry-run",
		"grace-period", "client-namespace-scope"}
	process := []string{"master", "kubeconfig", "debug", "metrics-address", "log-format", "log-caller", "version", "help"}
	for _, name := range slices.Sorted(maps.Keys(c.flags)) {
		switch {
		case slices.Contains(handled, name), slices.Contains(process, name):
		case name == "slack-webhook":
			c.say(Lost, name, "runs are Events, metrics and status.history; there is no webhook")
		case name == "max-runtime" && strings.HasPrefix(c.text(name), "-"):
		case name == "max-runtime":
			c.say(Lost, name, "a ChaosPod runs until it is deleted or suspended")
		default:
			c.say(Lost, name, "is no flag of chaoskube that is known here")
		}
	}
}

// namespaces returns those that get a ChaosPod.
func (c *chaos) namespaces() []string {
	included, excluded := map[string]bool{}, map[string]bool{}
	for _, q := range c.selector("namespaces") {
		switch q.Operator() {
		case selection.Exists:
			included[q.Key()] = true
		case selection.DoesNotExist:
			excluded[q.Key()] = true
		default:
			c.say(Refused, "namespaces", "chaoskube takes names such as shop or !shop, and %.40q is neither", q.String())
		}
	}
	known := map[string]labels.Set{}
	for _, o := range c.objects[namespaceKind] {
		known[o.name] = labels.Set{}
		if n := o.Get("metadata").Get("labels"); n != nil {
			for i := range n.Members {
				known[o.name][n.Members[i].Key], _ = n.Members[i].Value.Value.(string)
			}
		}
	}
	scope := c.text("client-namespace-scope")
	candidates := slices.Clone(c.options.Namespaces)
	switch {
	case len(candidates) > 0:
	case scope != "":
		candidates = []string{scope}
	case len(included) > 0:
		candidates = slices.Collect(maps.Keys(included))
	default:
		candidates = slices.Collect(maps.Keys(known))
	}
	wanted := labels.NewSelector().Add(c.selector("namespace-labels")...)
	candidates = slices.DeleteFunc(candidates, func(name string) bool {
		if !wanted.Empty() && len(c.options.Namespaces) == 0 && known[name] == nil {
			c.say(Refused, "namespace-labels", "Namespace %s is not in the input; give it too, or name the namespaces with --to-namespaces", name)
		}
		switch {
		case excluded[name], len(included) > 0 && !included[name], scope != "" && scope != name:
			return true
		case name == "kube-system", name == "kube-public", name == "kube-node-lease":
			c.say(Left, "namespaces", "%s gets no ChaosPod: Fairlead kills nothing of Kubernetes itself", name)
			return true
		}
		return len(c.options.Namespaces) == 0 && !wanted.Matches(known[name])
	})
	if len(candidates) == 0 {
		c.subject.say(Refused, "no namespace is known that it acts in: give the Namespaces with the manifests, or name them with --to-namespaces")
	}
	slices.Sort(candidates)
	return slices.Compact(candidates)
}
