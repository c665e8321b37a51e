// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	// vagueWords hide who acts. A comment names the actor, such as a user, a client or a replica. The
	// brackets keep this line out of what it finds.
	vagueWords = regexp.MustCompile(`\b([Nn]o[b]ody|[Ss]ome[b]ody|[Ww]ho[e]ver|[Aa]n[e]w)\b`)
	// speakingFunction begins the docstring of a function or field that is said to speak: functions return
	// or report, fields are or mean, and servers respond.
	speakingFunction  = regexp.MustCompile(`^\s*// [\w.()*]+ (says|tells|answers|knows|speaks)\b`)
	answeringFunction = regexp.MustCompile(`^\s*// [\w.()*]+ answers\b`)
	// turnedPhrases have to be read twice: "except for", "any client", "Defaults to nil", "logs".
	turnedPhrases = regexp.MustCompile(`//.*(\b[Bb]ut f[o]r\b|\b[Aa]ny[b]ody\b|\bis told o[f]\b|\b[Tt]he default is (no[b]ody|nothing)\b)`)
	// translatedPhrases are word for word from another language: "returns", "holds", "one of them", "the previous".
	translatedPhrases = regexp.MustCompile(`//(\s+[\w.]+ (is|are) w[h]at |.*\b(of w[h]ich|is t[o]ld|the f[o]rmer|goes b[e]fore|for w[a]nt of|it is not k[n]own|st[a]nds for|in its m[i]dst)\b)`)
	comment           = regexp.MustCompile(`^\s*//`)
)

func TestWordsAreThoseOfTheKubernetesDocumentation(t *testing.T) {
	for _, text := range []string{
		"Some" + "body waits.", "who" + "ever waits,", "It is made an" + "ew.\n", "a\n\n\t// Of answers the state.\n",
		"\t// Ready says why.\n", "// all but" + " for one", "x() // is to" + "ld of it", "// Row is wh" + "at it costs.", "// pods, of wh" + "ich one is new",
	} {
		if len(vague("controllers/x.go", text)) != 1 {
			t.Errorf("%q passes: the search is broken", text)
		}
	}
	for _, text := range []string{"http.NoBody", "// a server\n// that answers\n", "a new one", `"but` + ` for"`} {
		if found := vague("controllers/x.go", text); len(found) > 0 {
			t.Errorf("%q does not pass: the search is broken", text)
		}
	}
	all := files(t, []string{"."}, ".go", ".md", ".mod", ".yaml", ".yml", ".json")
	all["Dockerfile"], all["Makefile"] = read(t, "Dockerfile"), read(t, "Makefile")
	count := map[string]int{}
	for file, content := range all {
		count[path.Ext(file)]++
		for _, line := range vague(file, content) {
			t.Errorf("%s: say who or what acts; a function returns, and a server responds: %s", file, line)
		}
	}
	if count[".go"] < 500 || count[".md"] < 20 || count[".yaml"] < 20 {
		t.Errorf("read %v files: the search is broken", count)
	}
}

// vague returns the lines that use a word that the documentation of Kubernetes would not. The API's own
// documentation is for users and says what a field says; helpers of suites are read by few.
func vague(file, text string) []string {
	var found []string
	goFile := path.Ext(file) == ".go"
	docstring, phrases := answeringFunction, false
	if goFile && !strings.HasPrefix(file, "api/") && !strings.HasPrefix(file, "test/") {
		docstring, phrases = speakingFunction, true
	}
	before := ""
	for line := range strings.Lines(text) {
		begins := goFile && !comment.MatchString(before)
		if vagueWords.MatchString(line) || begins && docstring.MatchString(line) || phrases && turnedPhrases.MatchString(line) ||
			goFile && translatedPhrases.MatchString(line) {
			found = append(found, strings.TrimSpace(line))
		}
		before = line
	}
	return found
}
