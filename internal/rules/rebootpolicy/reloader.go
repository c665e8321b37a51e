// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// The annotations of Reloader (stakater/Reloader, internal/pkg/options/flags.go) that are not about a single kind of
// source.
const (
	// ReloaderAutoAnnotation is on a workload or its pod template. The workload is restarted for what the template refers
	// to.
	ReloaderAutoAnnotation = "reloader.stakater.com/auto"
	// ReloaderSearchAnnotation is on a workload or its pod template. The workload is restarted for those references that
	// have ReloaderMatchAnnotation.
	ReloaderSearchAnnotation = "reloader.stakater.com/search"
	// ReloaderMatchAnnotation is on a ConfigMap or Secret that counts for workloads with ReloaderSearchAnnotation.
	ReloaderMatchAnnotation = "reloader.stakater.com/match"
	// ReloaderIgnoreAnnotation is on a ConfigMap or Secret that Reloader ignores.
	ReloaderIgnoreAnnotation = "reloader.stakater.com/ignore"
	// ReloaderPauseAnnotation is on a Deployment. Reloader pauses its rollout for that time after it has changed it.
	ReloaderPauseAnnotation = "deployment.reloader.stakater.com/pause-period"
	// ReloaderPausedAtAnnotation is on a Deployment that Reloader has paused; its value is the time.
	// ReloaderLastReloadedFromAnnotation is on a pod template that Reloader has changed; its value is the source.
	ReloaderPausedAtAnnotation         = "deployment.reloader.stakater.com/paused-at"
	ReloaderLastReloadedFromAnnotation = "reloader.stakater.com/last-reloaded-from"
	// ReloaderRolloutAnnotation is on a Rollout of Argo Rollouts. With the value ReloaderRestartsRollout, Reloader
	// restarts it by spec.restartAt. Otherwise it creates a new revision.
	ReloaderRolloutAnnotation = "reloader.stakater.com/rollout-strategy"
	// ReloaderRestartsRollout is a value of ReloaderRolloutAnnotation.
	ReloaderRestartsRollout = "restart"
)

// reloaderKind has the annotations of Reloader for a kind of source.
type reloaderKind struct {
	kind autorebootv1.SourceKind
	// auto requests restarts for what the pod template refers to. named and except list names.
	auto, named, except string
}

var reloaderKinds = []reloaderKind{
	{configMap, "configmap.reloader.stakater.com/auto", "configmap.reloader.stakater.com/reload",
		"configmaps.exclude.reloader.stakater.com/reload"},
	{secret, "secret.reloader.stakater.com/auto", "secret.reloader.stakater.com/reload", "secrets.exclude.reloader.stakater.com/reload"},
	{class, "secretproviderclass.reloader.stakater.com/auto", "secretproviderclass.reloader.stakater.com/reload",
		"secretproviderclasses.exclude.reloader.stakater.com/reload"},
}

// ReloaderAnnotations returns the names of the annotations of Reloader that OnChangeOf reads.
func ReloaderAnnotations() []string {
	names := []string{ReloaderAutoAnnotation, ReloaderSearchAnnotation, ReloaderPauseAnnotation}
	for _, k := range reloaderKinds {
		names = append(names, k.auto, k.named, k.except)
	}
	return names
}

const (
	// maxPatterns bounds the regular expressions in the annotations of a workload. maxPatternCost bounds the size of each
	// with its repetitions written out: (?i)(\pL{30}){30} is short and large. They are compiled whenever the workload is
	// read.
	maxPatterns    = 16
	maxPatternCost = 500
	// maxPause is the longest pause of a rollout that an annotation may ask for.
	maxPause = 30 * 24 * time.Hour
)

// pattern matches the names of sources of a kind that a pod template refers to.
type pattern struct {
	kind autorebootv1.SourceKind
	name *regexp.Regexp
	text string
}

func (p *pattern) matches(source SourceName) bool {
	return p.kind == source.Kind && p.name.MatchString(source.Name)
}

// readReloader reads the annotations in the order of Reloader's ShouldReload (pkg/common): exclusions, names, search,
// auto. For each kind of source, those of the pod template count if the workload has none that opts in. Exclusions and
// the pause are read from the workload only.
func (o *OnChange) readReloader(w *Workload) {
	o.places, o.naming, o.kinds = InEnv|InInitEnv|InMount, NamedForReloader, map[autorebootv1.SourceKind]kindClaim{}
	asksByDefault := false
	for _, k := range reloaderKinds {
		from := w.Annotations
		if !hasAny(from, k.named, ReloaderAutoAnnotation, k.auto, ReloaderSearchAnnotation) {
			from = w.TemplateAnnotations
		}
		claim := kindClaim{byDefault: from[ReloaderAutoAnnotation] == "" && from[k.auto] == ""}
		switch {
		case isTrue(from[ReloaderAutoAnnotation]), isTrue(from[k.auto]):
			claim.asked = Found
		case from[ReloaderSearchAnnotation] == "true" && k.kind != class: // the annotations of a class are not read
			claim.asked = IfMarked
		}
		o.kinds[k.kind] = claim
		o.OptedIn, asksByDefault = o.OptedIn || claim.asked > NoClaim, asksByDefault || claim.byDefault
		o.list(k.named, from[k.named], func(item string) bool {
			item = strings.TrimSpace(item)
			return item == "" || o.add(SourceName{k.kind, item}) || o.addPattern(k.kind, item)
		}, fmt.Sprintf("the name of a %s, or one of at most %d regular expressions of moderate size", k.kind, maxPatterns))
		o.list(k.except, w.Annotations[k.except], func(item string) bool {
			if item = strings.TrimSpace(item); item != "" {
				o.except = append(o.except, SourceName{k.kind, item})
			}
			return true
		}, "")
	}
	o.names = slices.DeleteFunc(o.names, func(name SourceName) bool { return slices.Contains(o.except, name) })
	o.OptedIn = o.OptedIn || len(o.names) > 0 || len(o.patterns) > 0 || len(o.Mistakes) > 0
	if o.OptedOut = !o.OptedIn && !asksByDefault; o.OptedOut {
		o.kinds = nil // a target that names the workload still takes it
	}
	if text, has := w.Annotations[ReloaderPauseAnnotation]; has {
		o.readPause(w.Kind, text)
	}
}

// hasAny reports whether at least one of some annotations exists, whatever its value.
func hasAny(annotations map[string]string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { _, has := annotations[name]; return has })
}

// isTrue reports whether strconv.ParseBool returns true for a text.
func isTrue(text string) bool {
	yes, err := strconv.ParseBool(text)
	return err == nil && yes
}

// readPause reads how long Reloader pauses a Deployment after it has changed it. One rollout at the end covers all
// changes meanwhile.
func (o *OnChange) readPause(kind common.WorkloadKind, text string) {
	pause, err := time.ParseDuration(text)
	switch {
	case kind != common.WorkloadDeployment:
		o.mistake("annotation %s has no effect on a %s", ReloaderPauseAnnotation, kind.Name())
	case err != nil || pause <= 0:
		o.mistake("annotation %s: %.80q is no duration such as 5m", ReloaderPauseAnnotation, text)
	default:
		o.Pause = min(pause, maxPause)
	}
}

// addPattern adds a pattern, and reports whether it is valid. As in Reloader, it is anchored at both ends of a name
// only if it has no alternative outside of parentheses.
func (o *OnChange) addPattern(kind autorebootv1.SourceKind, text string) bool {
	// Names have only ASCII letters. Classes of Unicode, which are large, are not needed.
	parsed, err := syntax.Parse(text, syntax.Perl&^syntax.UnicodeGroups)
	if err != nil || len(o.patterns) == maxPatterns || costOf(parsed) > maxPatternCost {
		return false
	}
	expression, err := regexp.Compile("^" + text + "$")
	if err != nil {
		return false
	}
	o.patterns = append(o.patterns, pattern{kind, expression, text})
	return true
}

// Patterns returns the regular expressions that name sources.
func (o *OnChange) Patterns() (all []SourceName) {
	for i := range o.patterns {
		all = append(all, SourceName{o.patterns[i].kind, o.patterns[i].text})
	}
	return all
}

// Unmatched returns the regular expressions that match none of these sources.
func (o *OnChange) Unmatched(sources []SourceName) (all []SourceName) {
	for i := range o.patterns {
		if p := &o.patterns[i]; !slices.ContainsFunc(sources, p.matches) {
			all = append(all, SourceName{p.kind, p.text})
		}
	}
	return all
}

// costOf returns the size of a regular expression with its repetitions written out. It stops above maxPatternCost.
func costOf(r *syntax.Regexp) int {
	cost := 1 + len(r.Rune)/2
	for _, sub := range r.Sub {
		if cost += costOf(sub); cost > maxPatternCost {
			break
		}
	}
	if r.Op == syntax.OpRepeat {
		cost *= max(r.Min, r.Max, 1)
	}
	return min(cost, maxPatternCost+1)
}
