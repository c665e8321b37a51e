// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
)

// restartsFor reports whether a change of a source restarts a workload that a target selects, in a policy with the compatibility
// Reloader.
func restartsFor(o *OnChange, t *autorebootv1.Target, source SourceName, in Place, marks Marks) bool {
	claim := NoClaim
	if in != 0 {
		claim = o.ClaimTo(source, in, TakesAll(t))
	}
	if slices.Contains(o.Names(), source) {
		claim = max(claim, o.ClaimTo(source, in, TakesAll(t)))
	}
	return o.Selects(t) && claim != NoClaim && !claim.IsIgnored(marks, autorebootv1.CompatibilityReloader)
}

// reloaders reads annotations such as "auto=true secret/reload=a,b", with short names for those of Reloader.
func reloaders(text string) map[string]string {
	short := map[string]string{
		"auto": "reloader.stakater.com/auto", "search": "reloader.stakater.com/search", "pause": "deployment.reloader.stakater.com/pause-period",
		"match": "reloader.stakater.com/match", "ignore": "reloader.stakater.com/ignore",
		"configmap/auto": "configmap.reloader.stakater.com/auto", "configmap/reload": "configmap.reloader.stakater.com/reload",
		"secret/auto": "secret.reloader.stakater.com/auto", "secret/reload": "secret.reloader.stakater.com/reload",
		"class/auto": "secretproviderclass.reloader.stakater.com/auto", "class/reload": "secretproviderclass.reloader.stakater.com/reload",
		"configmap/exclude": "configmaps.exclude.reloader.stakater.com/reload", "secret/exclude": "secrets.exclude.reloader.stakater.com/reload",
		"class/exclude": "secretproviderclasses.exclude.reloader.stakater.com/reload",
	}
	found := map[string]string{}
	for _, one := range strings.Fields(text) {
		name, value, _ := strings.Cut(one, "=")
		if full, is := short[name]; is {
			name = full
		}
		found[name] = strings.ReplaceAll(value, "~", " ")
	}
	return found
}

// What Reloader v1.4.21 decides (pkg/common ShouldReload, with getContainerUsingResource of internal/pkg/handler) for a change of
// one source, with --auto-reload-all and without it. Where Fairlead does less, less says why; it never does more.
func TestTheAnnotationsOfReloaderDecideAsTheyDoThere(t *testing.T) {
	const referred = InEnv
	for _, test := range []struct {
		name                       string
		workload, template, source string // annotations; a blank in a value is ~
		of                         SourceName
		in                         Place
		restarts, all              bool // without --auto-reload-all, and with it
		less                       string
	}{
		{"nothing", "", "", "", SourceName{secret, "a"}, referred, false, true, ""},
		{"nothing, and not referred to", "", "", "", SourceName{secret, "a"}, 0, false, false, ""},

		{"auto", "auto=true", "", "", SourceName{secret, "a"}, referred, true, true, ""},
		{"auto, of a ConfigMap", "auto=true", "", "", SourceName{configMap, "a"}, referred, true, true, ""},
		{"auto, of a class", "auto=true", "", "", SourceName{class, "a"}, InMount, true, true, ""},
		{"auto as Go reads it", "auto=T", "", "", SourceName{secret, "a"}, referred, true, true, ""},
		{"auto, not referred to", "auto=true", "", "", SourceName{secret, "a"}, 0, false, false, ""},
		{"auto is false", "auto=false", "", "", SourceName{secret, "a"}, referred, false, false, ""},
		{"auto is another word", "auto=yes", "", "", SourceName{secret, "a"}, referred, false, false, ""},
		{"auto is empty", "auto=", "", "", SourceName{secret, "a"}, referred, false, true, ""},
		{"auto in an init container", "auto=true", "", "", SourceName{secret, "a"}, InInitEnv, true, true, ""},
		{"auto in a volume that is mounted", "auto=true", "", "", SourceName{secret, "a"}, InMount, true, true, ""},
		{"auto in a volume that no container mounts", "auto=true", "", "", SourceName{secret, "a"}, InVolume, false, false, ""},
		{"auto in the credentials of a volume", "auto=true", "", "", SourceName{secret, "a"}, InCredentials, false, false, ""},

		{"typed", "secret/auto=true", "", "", SourceName{secret, "a"}, referred, true, true, ""},
		{"typed, of another kind", "secret/auto=true", "", "", SourceName{configMap, "a"}, referred, false, true, ""},
		{"typed is false", "secret/auto=false", "", "", SourceName{secret, "a"}, referred, false, false, ""},
		{"typed is false, of another kind", "secret/auto=false", "", "", SourceName{configMap, "a"}, referred, false, true, ""},
		{"typed is empty", "secret/auto=", "", "", SourceName{secret, "a"}, referred, false, true, ""},
		{"typed, beside auto that is false", "secret/auto=true auto=false", "", "", SourceName{secret, "a"}, referred, true, true, ""},
		{"typed, beside auto that is false, of another kind", "secret/auto=true auto=false", "", "", SourceName{configMap, "a"}, referred, false, false, ""},
		{"auto beside typed that is false", "secret/auto=false auto=true", "", "", SourceName{secret, "a"}, referred, true, true, ""},
		{"typed, of a class", "class/auto=true", "", "", SourceName{class, "a"}, InMount, true, true, ""},
		{"typed, of a Secret for a class", "secret/auto=true", "", "", SourceName{class, "a"}, InMount, false, true, ""},

		{"named", "secret/reload=a", "", "", SourceName{secret, "a"}, referred, true, true, ""},
		{"named, not referred to", "secret/reload=a", "", "", SourceName{secret, "a"}, 0, true, true, ""},
		{"named, another", "secret/reload=a", "", "", SourceName{secret, "b"}, referred, false, true, ""},
		{"named, of another kind", "secret/reload=a", "", "", SourceName{configMap, "a"}, referred, false, true, ""},
		{"named among several, with blanks", "secret/reload=b,~a~,", "", "", SourceName{secret, "a"}, 0, true, true, ""},
		{"named, in a volume that no container mounts", "secret/reload=a", "", "", SourceName{secret, "a"}, InVolume, true, true, ""},
		{"named, beside auto that is false", "secret/reload=a auto=false", "", "", SourceName{secret, "a"}, referred, true, true, ""},
		{"another named, beside auto that is false", "secret/reload=a auto=false", "", "", SourceName{secret, "b"}, referred, false, false, ""},
		{"another named, beside auto", "secret/reload=a auto=true", "", "", SourceName{secret, "b"}, referred, true, true, ""},
		{"named, of a class", "class/reload=a", "", "", SourceName{class, "a"}, 0, true, true, ""},
		{"named with nothing", "secret/reload=", "", "", SourceName{secret, "a"}, referred, false, true, ""},

		{"a regular expression", "secret/reload=app-.*", "", "", SourceName{secret, "app-1"}, referred, true, true, ""},
		{"a regular expression of a whole name", "secret/reload=pp", "", "", SourceName{secret, "app"}, referred, false, true, ""},
		{"a regular expression that matches another", "secret/reload=b.*", "", "", SourceName{secret, "app-1"}, referred, false, true, ""},
		{"a regular expression with alternatives matches both ends", "secret/reload=app|web", "", "", SourceName{secret, "app-1"}, referred, true, true, ""},
		{"a regular expression that is none", "secret/reload=(,a", "", "", SourceName{secret, "a"}, referred, true, true, ""},
		{"a regular expression, not referred to", "secret/reload=app-.*", "", "", SourceName{secret, "app-1"}, 0, true, true, "only names in the pod template are compared"},
		{"a dot in a name", "secret/reload=a.b", "", "", SourceName{secret, "a-b"}, 0, true, true, "a name is itself alone"},

		{"search, marked", "search=true", "", "match=true", SourceName{secret, "a"}, referred, true, true, ""},
		{"search, not marked", "search=true", "", "", SourceName{secret, "a"}, referred, false, true, ""},
		{"search, marked otherwise", "search=true", "", "match=1", SourceName{secret, "a"}, referred, false, true, ""},
		{"search is another word", "search=1", "", "match=true", SourceName{secret, "a"}, referred, false, true, ""},
		{"search, not referred to", "search=true", "", "match=true", SourceName{secret, "a"}, 0, false, false, ""},
		{"search, beside auto that is false", "search=true auto=false", "", "match=true", SourceName{secret, "a"}, referred, true, true, ""},
		{"search, not marked, beside auto that is false", "search=true auto=false", "", "", SourceName{secret, "a"}, referred, false, false, ""},
		{"search, of a class", "search=true auto=false", "", "match=true", SourceName{class, "a"}, InMount, true, true, "the annotations of a class are not read"},
		{"marked, without a search", "", "", "match=true", SourceName{secret, "a"}, referred, false, true, ""},

		{"excluded", "auto=true secret/exclude=b,~a", "", "", SourceName{secret, "a"}, referred, false, false, ""},
		{"excluded, and named", "secret/reload=a secret/exclude=a", "", "", SourceName{secret, "a"}, 0, false, false, ""},
		{"excluded, and found by a regular expression", "secret/reload=a+ secret/exclude=a", "", "", SourceName{secret, "a"}, referred, false, false, ""},
		{"excluded, and searched", "search=true secret/exclude=a", "", "match=true", SourceName{secret, "a"}, referred, false, false, ""},
		{"excluded, of another kind", "auto=true configmap/exclude=a", "", "", SourceName{secret, "a"}, referred, true, true, ""},
		{"excluded, of a class", "auto=true class/exclude=a", "", "", SourceName{class, "a"}, InMount, false, false, ""},
		{"excluded alone", "secret/exclude=a", "", "", SourceName{secret, "a"}, referred, false, false, ""},
		{"excluded on the workload, auto on the template", "secret/exclude=a", "auto=true", "", SourceName{secret, "a"}, referred, false, false, ""},
		{"excluded on the template means nothing", "auto=true", "secret/exclude=a", "", SourceName{secret, "a"}, referred, true, true, ""},
		{"auto and excluded on the template", "", "auto=true secret/exclude=a", "", SourceName{secret, "a"}, referred, true, true, ""},

		{"ignored", "auto=true", "", "ignore=true", SourceName{secret, "a"}, referred, false, false, ""},
		{"ignored, and named", "secret/reload=a", "", "ignore=true", SourceName{secret, "a"}, 0, false, false, ""},
		{"ignored, and found by a regular expression", "secret/reload=a+", "", "ignore=true", SourceName{secret, "a"}, referred, false, false, ""},
		{"ignored, and searched", "search=true", "", "ignore=true match=true", SourceName{secret, "a"}, referred, false, false, ""},
		{"ignored with another word", "auto=true", "", "ignore=1", SourceName{secret, "a"}, referred, true, true, ""},
		{"ignored by the workload means nothing", "auto=true ignore=true", "", "", SourceName{secret, "a"}, referred, true, true, ""},

		{"auto on the template", "", "auto=true", "", SourceName{secret, "a"}, referred, true, true, ""},
		{"named on the template", "", "secret/reload=a", "", SourceName{secret, "a"}, 0, true, true, ""},
		{"search on the template", "", "search=true", "match=true", SourceName{secret, "a"}, referred, true, true, ""},
		{"of another kind on the workload, named on the template (Reloader#122)", "secret/reload=b", "configmap/reload=a", "", SourceName{configMap, "a"}, 0, true, true, ""},
		{"typed of another kind on the workload, auto on the template", "secret/auto=true", "auto=true", "", SourceName{configMap, "a"}, referred, true, true, ""},
		{"named on the workload, named on the template", "secret/reload=b", "secret/reload=a", "", SourceName{secret, "a"}, 0, false, false, ""},
		{"named on the workload, auto on the template", "secret/reload=b", "auto=true", "", SourceName{secret, "a"}, referred, false, true, ""},
		{"auto is false on the workload, true on the template", "auto=false", "auto=true", "", SourceName{secret, "a"}, referred, false, false, ""},
		{"auto is empty on the workload, named on the template", "auto=", "secret/reload=a", "", SourceName{secret, "a"}, 0, false, false, ""},
		{"typed on the workload, typed of another kind on the template", "secret/auto=false", "configmap/auto=true", "", SourceName{configMap, "a"}, referred, true, true, ""},
		{"auto is false on the template", "", "auto=false", "", SourceName{secret, "a"}, referred, false, false, ""},
		{"a pause on the workload, auto on the template", "pause=5m", "auto=true", "", SourceName{secret, "a"}, referred, true, true, ""},
		{"a pause alone", "pause=5m", "", "", SourceName{secret, "a"}, referred, false, true, ""},

		{"ignored by Fairlead's annotation on the workload", "auto=true fairlead.dev/ignore=true", "", "", SourceName{secret, "a"}, referred, true, true, "Fairlead's own annotation goes first"},
		{"ignored by Fairlead's annotation on the source", "auto=true", "", "fairlead.dev/ignore=true", SourceName{secret, "a"}, referred, true, true, "Fairlead's own annotation goes first"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := &Workload{Kind: common.WorkloadDeployment, Annotations: reloaders(test.workload), TemplateAnnotations: reloaders(test.template)}
			o, marks := OnChangeOf(autorebootv1.CompatibilityReloader, w), MarksOf(reloaders(test.source))
			byAnnotation, all := &autorebootv1.Target{OptIn: ptr.To(autorebootv1.OptInAnnotation)}, &autorebootv1.Target{}
			restarts, withAll := restartsFor(&o, byAnnotation, test.of, test.in, marks), restartsFor(&o, all, test.of, test.in, marks)
			if test.less == "" && (restarts != test.restarts || withAll != test.all) {
				t.Errorf("restarts: %t, want %t; with --auto-reload-all: %t, want %t", restarts, test.restarts, withAll, test.all)
			}
			if test.less != "" && (restarts || withAll) {
				t.Errorf("restarts: %t, with --auto-reload-all: %t, but %s", restarts, withAll, test.less)
			}
			for annotation := range w.Annotations {
				if !slices.Contains(OnChangeAnnotations(), annotation) && annotation != ReloaderIgnoreAnnotation {
					t.Errorf("OnChangeAnnotations lacks %s", annotation)
				}
			}
		})
	}
}

// Whatever is read otherwise than Reloader does is said.
func TestMistakesInTheAnnotationsOfReloaderAreNamed(t *testing.T) {
	for name, test := range map[string]struct {
		kind     common.WorkloadKind
		workload string
		want     string
		pause    time.Duration
	}{
		"no regular expression":         {common.WorkloadDeployment, "secret/reload=(", `"(" is not the name of a Secret, or one of at most 16 regular expressions`, 0},
		"a list that ends with a comma": {common.WorkloadDeployment, "secret/reload=a,", "", 0},
		"a pause":                       {common.WorkloadDeployment, "auto=true pause=1h5m", "", 65 * time.Minute},
		"a pause alone":                 {common.WorkloadDeployment, "pause=5m", "", 5 * time.Minute},
		"a pause of a year":             {common.WorkloadDeployment, "auto=true pause=8760h", "", maxPause},
		"a negative pause":              {common.WorkloadDeployment, "auto=true pause=-5m", `"-5m" is no duration such as 5m`, 0},
		"a pause of another kind":       {common.WorkloadStatefulSet, "auto=true pause=5m", "pause-period has no effect on a StatefulSet", 0},
	} {
		o := OnChangeOf(autorebootv1.CompatibilityReloader, &Workload{Kind: test.kind, Annotations: reloaders(test.workload)})
		if got := strings.Join(o.Mistakes, "; "); (got == "") != (test.want == "") || !strings.Contains(got, test.want) || o.Pause != test.pause {
			t.Errorf("%s: %q and %s, want %q and %s", name, got, o.Pause, test.want, test.pause)
		}
	}
	o := OnChangeOf(autorebootv1.CompatibilityReloader, &Workload{Annotations: reloaders("secret/reload=app-.*,web-.*,b")})
	if got := o.Unmatched([]SourceName{{secret, "web-1"}, {configMap, "app-1"}}); len(got) != 1 || got[0] != (SourceName{secret, "app-.*"}) {
		t.Errorf("without a match are %v", got)
	}
}

// The operator compiles the patterns of a workload whenever it reads the workload, and the user who annotates it chooses them.
func TestPatternsThatWouldTakeLongToCompileAreMistakes(t *testing.T) {
	for text, want := range map[string]bool{
		"app-.*": true, "app-[a-z0-9]{63}": true, "(?:blue|green)-(?:db|cache)": true, "app[0-9]+": true,
		`(?i)(\pL{30}){30}`: false, `\pN`: false, "((a{10}){10}){9}": false, "(a|b){500}": false, "[^a-z]{400}": false,
		strings.Repeat("a{30}", 30): false, strings.Repeat("(", 1000): false,
	} {
		o := OnChangeOf(autorebootv1.CompatibilityReloader, &Workload{Annotations: map[string]string{"secret.reloader.stakater.com/reload": text}})
		if is := len(o.patterns) == 1 && len(o.Mistakes) == 0; is != want || !o.OptedIn {
			t.Errorf("%.40q: a pattern: %t, want %t; %q", text, is, want, o.Mistakes)
		}
	}
	many := map[string]string{"secret.reloader.stakater.com/reload": strings.Repeat("a.*,", 40) + "b.*", "configmap.reloader.stakater.com/reload": "c.*"}
	if o := OnChangeOf(autorebootv1.CompatibilityReloader, &Workload{Annotations: many}); len(o.patterns) != maxPatterns || len(o.Mistakes) != 42-maxPatterns {
		t.Errorf("%d patterns, %d mistakes", len(o.patterns), len(o.Mistakes))
	}
}
