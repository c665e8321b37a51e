// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// maxDepth bounds the chain of objects that wait for each other.
const maxDepth = 3

// maxRelated is how many policies of a ClusterRebootPolicy are listed beside it.
const maxRelated = 20

// Finding is one reason for which an object is as it is.
type Finding struct {
	// About is a condition, an address, a workload or a trigger.
	About string `json:"about"`
	// Status is that of a condition, or the health of what Finding is about. It may be empty.
	Status string `json:"status,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Since is when it became so, and Until when it ends at the latest, or next may.
	Since *metav1.Time `json:"since,omitempty"`
	Until *metav1.Time `json:"until,omitempty"`
	// Message is what was observed, in the words of the operator.
	Message string `json:"message,omitempty"`
	// Meaning explains the reason.
	Meaning string `json:"meaning,omitempty"`
	Remedy  string `json:"remedy,omitempty"`
	// Override names the command that overrides it, or states that none does. It is empty where nothing waits.
	Override string `json:"override,omitempty"`
	// Because are the reasons of an object that this one waits for.
	Because []Explanation `json:"because,omitempty"`
}

// Explanation is why an object is as it is.
type Explanation struct {
	Key
	Health   Health    `json:"health"`
	Summary  string    `json:"summary"`
	Findings []Finding `json:"findings,omitempty"`
	// Related are the objects that this one needs, and those that need it.
	Related []Related `json:"related,omitempty"`
	// Unread is what could not be read, so that nothing is said of it.
	Unread []Unread `json:"unread,omitempty"`
}

// Related is an object beside the one that is explained.
type Related struct {
	Role string `json:"role"`
	Key
	Health Health `json:"health"`
	Said   string `json:"said,omitempty"`
}

// explainer makes one Explanation.
type explainer struct {
	graph     *Graph
	explained map[Key]bool
}

// Explain returns why an object of the Graph is as it is.
func (g *Graph) Explain(o *Object) Explanation {
	e := &explainer{g, map[Key]bool{}}
	x := e.explain(o, 0)
	if lacking := g.leaderless(o.Key); lacking != nil {
		x.Findings = append([]Finding{lacking.finding()}, x.Findings...)
	} else {
		for _, l := range Lacking(g.leaders) { // of other namespaces, or of another installation
			x.Findings = append([]Finding{l.finding()}, x.Findings...)
		}
	}
	x.Unread = g.Unread
	for _, r := range o.Needs {
		x.Related = append(x.Related, Related{r.Role, r.Object.Key, r.Object.Health, r.Object.Said})
	}
	for _, r := range o.NeededBy {
		if r.Role == roleMadeBy && len(o.NeededBy) > maxRelated {
			continue // the findings count them
		}
		x.Related = append(x.Related, Related{r.inverse(), r.Object.Key, r.Object.Health, r.Object.Said})
	}
	return x
}

// explain describes an object and, as deep as is bounded, what it waits for.
func (e *explainer) explain(o *Object, depth int) Explanation {
	x := Explanation{Key: o.Key, Health: o.Health, Summary: summary(o)}
	if o.Source == nil || e.explained[o.Key] || depth > maxDepth {
		return x
	}
	e.explained[o.Key] = true
	x.Findings = slices.Concat(e.conditions(o), e.details(o, depth))
	return x
}

// summaries are sentences about what an object is, by its health.
var summaries = map[Health]string{
	Healthy:     "It is as its spec says, and nothing waits.",
	Suspended:   "Nothing begins while it is suspended.",
	Progressing: "Something is under way.",
	Waiting:     "Something is due, and waits.",
	Degraded:    "It works, and something is wrong or out of the ordinary.",
	Unknown:     "Its state is unknown.",
	Failed:      "It does not work as its spec says.",
}

func summary(o *Object) string {
	switch {
	case o.Source == nil || o.Health == Unknown && stateOf(o.Source).conditions == nil:
		return fmt.Sprintf("Its state is unknown: %s.", o.Said)
	case IsWorkload(o.Kind):
		return fmt.Sprintf("It has %s.", o.Said)
	case !kindOf(o.Kind).isOwned: // a pod, or what pods read
		return strings.ToUpper(o.Said[:1]) + o.Said[1:] + "."
	case o.Health == Unknown:
		return fmt.Sprintf("Its state is unknown (%s).", o.Said)
	}
	return summaries[o.Health]
}

// normal are the conditions and states of which nothing is said, as nothing is to be told. Stalled and Reconciling are absent then.
var normal = map[string][]metav1.ConditionStatus{
	"Ready": {metav1.ConditionTrue}, "Resolved": {metav1.ConditionTrue}, "Healthy": {metav1.ConditionTrue},
	"FailedOver": {metav1.ConditionFalse}, "FaultInjected": {metav1.ConditionFalse}, "Waiting": {metav1.ConditionFalse},
	"Suspended": {metav1.ConditionFalse}, "DisruptionBudgetBlocks": {metav1.ConditionFalse},
	"Progressing": {metav1.ConditionFalse}, "Verified": {metav1.ConditionTrue, metav1.ConditionUnknown},
	"Survived": {metav1.ConditionTrue, metav1.ConditionUnknown},
}

// conditions are the findings of the conditions that are out of the ordinary, each reason once.
func (e *explainer) conditions(o *Object) (found []Finding) {
	said := map[string]bool{}
	for _, c := range stateOf(o.Source).conditions {
		if slices.Contains(normal[c.Type], c.Status) && c.Reason != "FaultRefused" || said[c.Reason] {
			continue
		}
		said[c.Reason] = true
		f := e.finding(o, c.Type, c.Reason, c.Type == "Waiting")
		f.About, f.Status, f.Message = c.Type, string(c.Status), c.Message
		if service, is := o.Source.(*networkingv1.ExternalService); is && c.Reason == networkingv1.ReasonNoAddresses {
			f.Remedy = e.graph.published[o.Key].addressRemedy(service)
		}
		if !c.LastTransitionTime.IsZero() {
			f.Since = &c.LastTransitionTime
		}
		found = append(found, f)
	}
	return found
}

// finding explains a reason; waits tells that something is held by it.
func (e *explainer) finding(o *Object, about, reason string, waits bool) Finding {
	f := Finding{Reason: reason}
	r, known := reasonOf(o.Kind, about, reason)
	if !known && reason != "" {
		r = common.Reason{Meaning: "This version of fairlead does not know the reason.", Remedy: "Use the version of fairlead that the operator has."}
	}
	f.Meaning, f.Remedy = r.Meaning, r.Remedy
	command, requests := strings.CutPrefix(r.Verb, "fairlead ")
	verb, arguments, _ := strings.Cut(command, " ")
	if requests && isHaltedFor(o, about, reason) {
		verb, arguments = VerbRetry, ""
	}
	isIgnored, why := false, ""
	if requests {
		isIgnored, why = e.ignores(o, verb, reason)
	}
	switch {
	case isIgnored:
		f.Override = why
	case requests:
		f.Override = fmt.Sprintf(effects[waits && verb != VerbFault], strings.TrimSpace(
			fmt.Sprintf("fairlead %s %s -n %s %s", verb, o.Argument(), o.Namespace, arguments)), annotations[verb][o.Kind])
	case waits:
		f.Override = notOverridden[o.Kind]
	}
	if r.Verb != "" && !requests {
		f.Remedy += " Use `" + r.Verb + "`."
	}
	return f
}

// effects are sentences about a command and the annotation that it sets, by whether it overrides what an object waits for.
var effects = map[bool]string{true: "`%s` overrides it, by the annotation %s.", false: "Run `%s`, which sets the annotation %s."}

// notOverridden are sentences about what waits, that no request ends it.
var notOverridden = map[string]string{
	ExternalService: "No annotation overrides it.",
	RebootPolicy:    "No annotation overrides it: restart-now waits for it as well.",
	ChaosPod:        "No annotation overrides it: run-now waits for it as well.",
}

// details are the findings that are of no condition.
func (e *explainer) details(o *Object, depth int) []Finding {
	switch o.Kind {
	case ExternalService:
		return e.externalService(o)
	case RebootPolicy:
		return e.policy(o, depth)
	case ClusterRebootPolicy:
		return e.clusterPolicy(o)
	case ChaosPod:
		return e.chaosPod(o, depth)
	case Secret, ConfigMap:
		return e.readers(o, depth)
	case Pod:
		if pod, is := o.Source.(*corev1.Pod); is {
			return e.pod(o, pod, depth)
		}
	}
	return append(e.workload(o, depth), e.notTaken(o)...)
}

// because explains the objects of some relations that are not healthy.
func (e *explainer) because(relations []Relation, depth int) (found []Explanation) {
	for _, r := range relations {
		if r.Object.Health != Healthy {
			x := e.explain(r.Object, depth+1)
			x.Summary = r.Role + ": " + x.Summary
			found = append(found, x)
		}
	}
	return found
}
