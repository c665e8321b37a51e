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

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// The annotations of Reloader (stakater/Reloader, internal/pkg/options/flags.go) and of Wave (wave-k8s/wave,
// pkg/core/types.go).
const (
	reloaderAuto           = "reloader.stakater.com/auto"
	reloaderConfigMapAuto  = "configmap.reloader.stakater.com/auto"
	reloaderSecretAuto     = "secret.reloader.stakater.com/auto"
	reloaderClassAuto      = "secretproviderclass.reloader.stakater.com/auto"
	reloaderSearch         = "reloader.stakater.com/search"
	reloaderConfigMaps     = "configmap.reloader.stakater.com/reload"
	reloaderSecrets        = "secret.reloader.stakater.com/reload"
	reloaderClasses        = "secretproviderclass.reloader.stakater.com/reload"
	reloaderLessConfigMaps = "configmaps.exclude.reloader.stakater.com/reload"
	reloaderLessSecrets    = "secrets.exclude.reloader.stakater.com/reload"
	reloaderLessClasses    = "secretproviderclasses.exclude.reloader.stakater.com/reload"
	reloaderPause          = "deployment.reloader.stakater.com/pause-period"

	waveUpdate     = "wave.pusher.com/update-on-config-change"
	waveConfigMaps = "wave.pusher.com/extra-configmaps"
	waveSecrets    = "wave.pusher.com/extra-secrets" //nolint:gosec // the name of an annotation
)

// OnChangeAnnotations returns the names of all annotations that OnChangeOf reads.
func OnChangeAnnotations() []string {
	return []string{
		common.RestartOnChangeAnnotation, common.IgnoreAnnotation,
		reloaderAuto, reloaderConfigMapAuto, reloaderSecretAuto, reloaderClassAuto, reloaderSearch, reloaderConfigMaps, reloaderSecrets,
		reloaderClasses, reloaderLessConfigMaps, reloaderLessSecrets, reloaderLessClasses, reloaderPause, waveUpdate, waveConfigMaps, waveSecrets,
	}
}

const (
	// ReloaderMatchAnnotation is on a ConfigMap or Secret that Reloader finds for workloads which search.
	ReloaderMatchAnnotation = "reloader.stakater.com/match"
	// ReloaderIgnoreAnnotation is on a ConfigMap or Secret that Reloader ignores.
	ReloaderIgnoreAnnotation = "reloader.stakater.com/ignore"
	// ReloaderRolloutAnnotation is on a Rollout of Argo Rollouts that Reloader restarts by spec.restartAt where the value is
	// ReloaderRestartsRollout, and by a new revision otherwise.
	ReloaderRolloutAnnotation, ReloaderRestartsRollout = "reloader.stakater.com/rollout-strategy", "restart"
)

const (
	// maxOnChangeNames is how many sources an annotation of a workload may name, and maxOnChangeBytes how
	// long a list may be: each reader of the workload splits it.
	maxOnChangeNames = 64
	maxOnChangeBytes = 8192
	// maxPatterns is how many regular expressions the annotations of a workload may have, and maxPatternCost how large each may
	// be once its repetitions are written out: they are compiled whenever the workload is read, and (?i)(\pL{30}){30} is short.
	maxPatterns    = 16
	maxPatternCost = 500
	// maxPause is the longest time between two restarts that an annotation may ask for.
	maxPause = 30 * 24 * time.Hour
)

// SourceName names a source of a workload's namespace.
type SourceName struct {
	Kind autorebootv1.SourceKind
	Name string
}

// OnChange is what the annotations of a workload say about the changes that it is restarted for.
type OnChange struct {
	// OptedIn means that the workload asks to be restarted, and OptedOut that no selector selects it.
	OptedIn, OptedOut bool
	// Pause is the shortest time between two restarts that the workload asks for; 0 for none.
	Pause time.Duration
	// Mistakes are what is wrong with the annotations, a sentence each.
	Mistakes []string

	// references are the kinds of which those count that the pod template refers to, and whether only those of them that have
	// ReloaderMatchAnnotation.
	references map[autorebootv1.SourceKind]bool
	names      []SourceName
	patterns   []pattern
	except     []SourceName
}

// pattern matches names of a kind that a pod template refers to.
type pattern struct {
	kind autorebootv1.SourceKind
	name *regexp.Regexp
}

// OnChangeOf reads the annotations of a workload. Those of its pod template count only where another project reads them.
// The annotation of Fairlead goes before those of another project.
func OnChangeOf(compatibility autorebootv1.Compatibility, workload, template map[string]string) OnChange {
	var o OnChange
	o.OptedOut = workload[common.IgnoreAnnotation] == "true"
	value, own := workload[common.RestartOnChangeAnnotation]
	if own {
		o.readOwn(value)
	}
	other := OnChange{}
	switch compatibility {
	case autorebootv1.CompatibilityReloader:
		other.readReloader(workload, template)
	case autorebootv1.CompatibilityWave:
		other.readWave(workload)
	}
	if !own {
		other.OptedOut = other.OptedOut || o.OptedOut
		return other
	}
	if other.OptedIn || other.OptedOut {
		o.mistake("annotation %s is there beside those of %s, which therefore do not count: remove one or the others",
			common.RestartOnChangeAnnotation, compatibility)
	}
	return o
}

// Selects reports whether a target takes a workload that its selector matches.
func (o *OnChange) Selects(t *autorebootv1.Target) bool {
	return !o.OptedOut && (o.OptedIn || ptr.Deref(t.OptIn, autorebootv1.OptInAll) == autorebootv1.OptInAll)
}

// Counts reports whether a source counts that the pod template refers to. Where marked is set, it counts only
// with the annotation ReloaderMatchAnnotation.
func (o *OnChange) Counts(source SourceName) (counts, marked bool) {
	switch {
	case slices.Contains(o.except, source):
		return false, false
	case !o.OptedIn:
		return true, false
	case slices.ContainsFunc(o.patterns, func(p pattern) bool { return p.kind == source.Kind && p.name.MatchString(source.Name) }):
		return true, false
	}
	marked, counts = o.references[source.Kind]
	return counts, marked
}

// Names returns the sources that count whether the pod template refers to them or not.
func (o *OnChange) Names() []SourceName { return o.names }

const (
	configMap = autorebootv1.SourceConfigMap
	secret    = autorebootv1.SourceSecret
	class     = autorebootv1.SourceSecretProviderClass
)

// kindsByWord are those of RestartOnChangeAnnotation.
var kindsByWord = map[string]autorebootv1.SourceKind{"configmap": configMap, "secret": secret, "secretproviderclass": class}

// listing is an annotation that lists sources of a kind.
type listing struct {
	annotation string
	kind       autorebootv1.SourceKind
}

// readOwn reads RestartOnChangeAnnotation.
func (o *OnChange) readOwn(value string) {
	switch value {
	case "true":
		o.OptedIn, o.references = true, map[autorebootv1.SourceKind]bool{configMap: false, secret: false, class: false}
		return
	case "false":
		o.OptedOut = true
		return
	}
	o.OptedIn = true
	o.list(common.RestartOnChangeAnnotation, value, func(item string) bool {
		kind, name, _ := strings.Cut(item, "/")
		return o.add(SourceName{kindsByWord[kind], name})
	}, `"true", "false", configmap/, secret/ or secretproviderclass/ and a name`)
}

// add adds a name, and reports whether it is one.
func (o *OnChange) add(source SourceName) bool {
	if source.Kind == "" || len(validation.IsDNS1123Subdomain(source.Name)) > 0 {
		return false
	}
	o.names = append(o.names, source)
	return true
}

// list reads the items of an annotation; take reports whether an item is what it should be. One that is absent has none, and
// so has an empty one of another project.
func (o *OnChange) list(annotation, value string, take func(item string) bool, what string) {
	if len(value) > maxOnChangeBytes {
		o.mistake("annotation %s has %d bytes, and may have %d: it names nothing", annotation, len(value), maxOnChangeBytes)
		return
	}
	if value == "" && annotation != common.RestartOnChangeAnnotation {
		return
	}
	read := 0
	for item := range strings.SplitSeq(value, ",") {
		item = strings.TrimSpace(item)
		if read++; read > maxOnChangeNames {
			o.mistake("annotation %s names more than %d: the others are not read", annotation, maxOnChangeNames)
			return
		}
		if !take(item) {
			o.mistake("annotation %s: %.80q is not %s", annotation, item, what)
		}
	}
}

func (o *OnChange) mistake(format string, args ...any) {
	o.Mistakes = append(o.Mistakes, fmt.Sprintf(format, args...))
}

// readReloader reads the annotations of Reloader. They may be on the pod template where the workload has none that opts in.
func (o *OnChange) readReloader(workload, template map[string]string) {
	from := workload
	optIn := []string{
		reloaderAuto, reloaderConfigMapAuto, reloaderSecretAuto, reloaderClassAuto, reloaderSearch, reloaderConfigMaps, reloaderSecrets,
		reloaderClasses,
	}
	if !slices.ContainsFunc(optIn, func(name string) bool { _, has := workload[name]; return has }) {
		from = template
	}
	enabled := func(name string) bool { yes, err := strconv.ParseBool(from[name]); return err == nil && yes }
	auto := enabled(reloaderAuto)
	o.OptedOut = from[reloaderAuto] != "" && !auto
	o.references = map[autorebootv1.SourceKind]bool{}
	if from[reloaderSearch] == "true" {
		o.references[configMap], o.references[secret] = true, true
	}
	if auto || enabled(reloaderConfigMapAuto) {
		o.references[configMap] = false
	}
	if auto || enabled(reloaderSecretAuto) {
		o.references[secret] = false
	}
	if auto || enabled(reloaderClassAuto) {
		o.references[class] = false
	}
	for _, l := range []listing{{reloaderConfigMaps, configMap}, {reloaderSecrets, secret}, {reloaderClasses, class}} {
		o.list(l.annotation, from[l.annotation], func(item string) bool {
			return o.add(SourceName{l.kind, item}) || o.addPattern(l.kind, item)
		}, fmt.Sprintf("the name of a %s, or one of at most %d regular expressions of moderate size", l.kind, maxPatterns))
	}
	for _, l := range []listing{{reloaderLessConfigMaps, configMap}, {reloaderLessSecrets, secret}, {reloaderLessClasses, class}} {
		o.list(l.annotation, workload[l.annotation], func(item string) bool {
			o.except = append(o.except, SourceName{l.kind, item})
			return true
		}, "")
	}
	o.OptedIn = len(o.references) > 0 || len(o.names) > 0 || len(o.patterns) > 0 || len(o.Mistakes) > 0
	o.OptedOut = o.OptedOut && !o.OptedIn
	if text, has := workload[reloaderPause]; has && o.OptedIn {
		o.readPause(text)
	}
}

// readPause reads how long Reloader pauses a Deployment after it has changed it: what changes meanwhile is rolled out at the
// end, by one rollout.
func (o *OnChange) readPause(text string) {
	pause, err := time.ParseDuration(text)
	if err != nil || pause <= 0 {
		o.mistake("annotation %s: %.80q is no duration such as 5m", reloaderPause, text)
		return
	}
	o.Pause = min(pause, maxPause)
}

// addPattern adds a pattern of the whole of a name, and reports whether it is one.
func (o *OnChange) addPattern(kind autorebootv1.SourceKind, text string) bool {
	// Names have no letters beyond ASCII, so that classes of Unicode, which are large, are left out.
	parsed, err := syntax.Parse(text, syntax.Perl&^syntax.UnicodeGroups)
	if text == "" || err != nil || len(o.patterns) == maxPatterns || costOf(parsed) > maxPatternCost {
		return false
	}
	expression, err := regexp.Compile("^(?:" + text + ")$")
	if err != nil {
		return false
	}
	o.patterns = append(o.patterns, pattern{kind, expression})
	return true
}

// costOf returns how large a regular expression is with its repetitions written out, or more than maxPatternCost.
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

// readWave reads the annotations of Wave.
func (o *OnChange) readWave(workload map[string]string) {
	if workload[waveUpdate] != "true" {
		return
	}
	o.OptedIn, o.references = true, map[autorebootv1.SourceKind]bool{configMap: false, secret: false}
	for _, l := range []listing{{waveConfigMaps, configMap}, {waveSecrets, secret}} {
		o.list(l.annotation, workload[l.annotation], func(item string) bool { return o.add(SourceName{l.kind, item}) },
			"the name alone of a "+string(l.kind)+" of the workload's namespace, and those of others are not watched")
	}
}
