// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// OnChangeAnnotations returns the names of all annotations of workloads and pod templates that OnChangeOf reads.
func OnChangeAnnotations() []string {
	return slices.Concat([]string{common.RestartOnChangeAnnotation, common.IgnoreAnnotation}, ReloaderAnnotations(), waveAnnotations)
}

const (
	// maxOnChangeNames bounds the sources that an annotation of a workload may name, and maxOnChangeBytes the length of
	// such a list. Each reader of the workload parses it.
	maxOnChangeNames = 64
	maxOnChangeBytes = 8192
)

// SourceName identifies a source in the namespace of a workload.
type SourceName struct {
	Kind autorebootv1.SourceKind
	Name string
}

// Place is a position at which a pod template refers to a source. Other projects ignore some of the places.
type Place uint8

// The places; a source may be in several.
const (
	// InEnv is env or envFrom of a container.
	InEnv Place = 1 << iota
	// InInitEnv is env or envFrom of an init container.
	InInitEnv
	// InMount is a volume that a container or an init container mounts.
	InMount
	// InVolume is a volume that none of them mounts.
	InVolume
	// InCredentials is the Secret with which a volume is mounted.
	InCredentials

	anyPlace = InEnv | InInitEnv | InMount | InVolume | InCredentials
)

// Claim is how a source counts for a workload. If there are two claims to one source, the greater applies.
type Claim int

const (
	// NoClaim means that the source does not count.
	NoClaim Claim = iota
	// IfMarked means that the source counts if it has ReloaderMatchAnnotation, unless an annotation ignores it.
	IfMarked
	// Found means that the source counts, unless an annotation ignores it.
	Found
	// NamedForReloader means that an annotation of Reloader names the source. It counts unless an annotation of Reloader
	// ignores it.
	NamedForReloader
	// Named means that the source counts, whatever annotations it has.
	Named
)

// Marks are the annotations of a source that decide whether it counts.
type Marks struct {
	// Ignore is common.IgnoreAnnotation. The others are annotations of Reloader.
	Ignore, ReloaderIgnore, ReloaderMatch bool
}

// MarksOf reads the annotations of a source.
func MarksOf(annotations map[string]string) Marks {
	has := func(name string) bool { return annotations[name] == "true" }
	return Marks{
		Ignore: has(common.IgnoreAnnotation), ReloaderIgnore: has(ReloaderIgnoreAnnotation), ReloaderMatch: has(ReloaderMatchAnnotation),
	}
}

// IsIgnored reports whether a source with these annotations does not count for a policy.
func (c Claim) IsIgnored(m Marks, compatibility autorebootv1.Compatibility) bool {
	switch {
	case c == Named:
		return false
	case m.ReloaderIgnore && compatibility == autorebootv1.CompatibilityReloader:
		return true
	case c == NamedForReloader:
		return false
	}
	return m.Ignore || c == IfMarked && !m.ReloaderMatch
}

// OnChange holds what the annotations of a workload define about the changes for which it is restarted.
type OnChange struct {
	// OptedIn means that the workload requests restarts, and OptedOut that no selector selects it.
	OptedIn, OptedOut bool
	// Pause is how long the rollout of a restart is to stay paused; 0 means not at all.
	Pause time.Duration
	// Mistakes are the mistakes in the annotations, one sentence each.
	Mistakes []string

	// kinds has the claims to what the pod template refers to; nil means all of it. places are the places that count.
	kinds  map[autorebootv1.SourceKind]kindClaim
	places Place
	// names are sources that count even if the pod template does not refer to them, by the claim naming.
	names    []SourceName
	naming   Claim
	patterns []pattern
	except   []SourceName
}

// kindClaim is the claim to sources of a kind that the pod template refers to. If byDefault is set, it is Found for a
// target that takes all workloads.
type kindClaim struct {
	asked     Claim
	byDefault bool
}

// OnChangeOf reads the annotations of a workload. Those of its pod template count only for projects that read them.
// Fairlead's annotation takes precedence over those of another project.
func OnChangeOf(compatibility autorebootv1.Compatibility, w *Workload) OnChange {
	o := OnChange{places: anyPlace, naming: Named}
	o.OptedOut = w.Annotations[common.IgnoreAnnotation] == "true"
	value, own := w.Annotations[common.RestartOnChangeAnnotation]
	if own {
		o.readOwn(value)
	}
	other := OnChange{places: anyPlace, naming: Named}
	switch compatibility {
	case autorebootv1.CompatibilityReloader:
		other.readReloader(w)
	case autorebootv1.CompatibilityWave:
		other.readWave(w)
	}
	if !own {
		other.OptedOut = other.OptedOut || o.OptedOut
		return other
	}
	if other.OptedIn || other.OptedOut {
		o.mistake("annotation %s overrides those of %s, which are ignored: remove one or the others",
			common.RestartOnChangeAnnotation, compatibility)
	}
	return o
}

// TakesAll reports whether a target takes workloads that do not request restarts, as Reloader does with
// --auto-reload-all.
func TakesAll(t *autorebootv1.Target) bool {
	return ptr.Deref(t.OptIn, autorebootv1.OptInAll) == autorebootv1.OptInAll
}

// Selects reports whether a target takes a workload that matches its selector.
func (o *OnChange) Selects(t *autorebootv1.Target) bool {
	return !o.OptedOut && (o.OptedIn || TakesAll(t))
}

// ClaimTo returns the claim to a source that the pod template refers to in some places. takesAll is whether the target
// takes all workloads.
func (o *OnChange) ClaimTo(source SourceName, in Place, takesAll bool) Claim {
	switch {
	case slices.Contains(o.except, source):
		return NoClaim
	case slices.Contains(o.names, source):
		return o.naming
	case slices.ContainsFunc(o.patterns, func(p pattern) bool { return p.matches(source) }):
		return NamedForReloader
	case o.places&in == 0:
		return NoClaim
	}
	return o.ClaimToKind(source.Kind, takesAll)
}

// ClaimToKind returns the claim to sources of a kind that the pod template refers to, whatever their names.
func (o *OnChange) ClaimToKind(kind autorebootv1.SourceKind, takesAll bool) Claim {
	claim := o.kinds[kind]
	if o.kinds == nil || takesAll && claim.byDefault {
		return Found
	}
	return claim.asked
}

// Names returns the sources that count even if the pod template does not refer to them.
func (o *OnChange) Names() []SourceName { return o.names }

// Except returns the sources that the annotations exclude.
func (o *OnChange) Except() []SourceName { return slices.Clone(o.except) }

const (
	configMap = autorebootv1.SourceConfigMap
	secret    = autorebootv1.SourceSecret
	class     = autorebootv1.SourceSecretProviderClass
)

// kindsByWord are the words for kinds in RestartOnChangeAnnotation.
var kindsByWord = map[string]autorebootv1.SourceKind{"configmap": configMap, "secret": secret, "secretproviderclass": class}

// readOwn parses RestartOnChangeAnnotation.
func (o *OnChange) readOwn(value string) {
	switch value {
	case "true":
		o.OptedIn = true
		return
	case "false":
		o.OptedOut = true
		return
	}
	o.OptedIn, o.kinds = true, map[autorebootv1.SourceKind]kindClaim{}
	if value == "" {
		value = " " // an empty list is a mistake
	}
	o.list(common.RestartOnChangeAnnotation, value, func(item string) bool {
		kind, name, _ := strings.Cut(strings.TrimSpace(item), "/")
		return o.add(SourceName{kindsByWord[kind], name})
	}, `"true", "false", configmap/, secret/ or secretproviderclass/ and a name`)
}

// add adds a name, and reports whether it is valid.
func (o *OnChange) add(source SourceName) bool {
	if source.Kind == "" || len(validation.IsDNS1123Subdomain(source.Name)) > 0 {
		return false
	}
	o.names = append(o.names, source)
	return true
}

// list calls take with each item of an annotation. take reports whether the item is valid; what describes a valid one.
func (o *OnChange) list(annotation, value string, take func(item string) bool, what string) {
	if len(value) > maxOnChangeBytes {
		o.mistake("annotation %s is ignored: it has %d bytes, and the limit is %d", annotation, len(value), maxOnChangeBytes)
		return
	}
	if value == "" {
		return
	}
	read := 0
	for item := range strings.SplitSeq(value, ",") {
		if read++; read > maxOnChangeNames {
			o.mistake("annotation %s names more than %d: the rest is ignored", annotation, maxOnChangeNames)
			return
		}
		if !take(item) {
			o.mistake("annotation %s: %.80q is not %s", annotation, strings.TrimSpace(item), what)
		}
	}
}

func (o *OnChange) mistake(format string, args ...any) {
	o.Mistakes = append(o.Mistakes, fmt.Sprintf(format, args...))
}
