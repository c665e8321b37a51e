// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	comment       = regexp.MustCompile(`^\s*//`)
)

func TestWordsAreThoseOfTheKubernetesDocumentation(t *testing.T) {
	for _, text := range []string{
		"Some" + "body waits.", "who" + "ever waits,", "It is made an" + "ew.\n", "a\n\n\t// Of answers the state.\n",
		"\t// Ready says why.\n", "// all but" + " for one", "x() // is told" + " of it",
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
	read := map[string]int{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if path == filepath.Join("..", "bin") || path == filepath.Join("..", ".git") {
				return filepath.SkipDir
			}
			return nil
		}
		extension := filepath.Ext(path)
		if !slices.Contains([]string{".go", ".md", ".mod", ".yaml", ".yml", ".json"}, extension) && !slices.Contains([]string{"Dockerfile", "Makefile"}, entry.Name()) {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read[extension]++
		for _, line := range vague(strings.TrimPrefix(filepath.ToSlash(path), "../"), string(content)) {
			t.Errorf("%s: say who or what acts; a function returns, and a server responds: %s", path, line)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read[".go"] < 500 || read[".md"] < 20 || read[".yaml"] < 20 {
		t.Errorf("read %v files: the search is broken", read)
	}
}

// vague returns the lines that use a word that the documentation of Kubernetes would not. The API's own
// documentation is for users and says what a field says; helpers of suites are read by few.
func vague(path, text string) []string {
	var found []string
	goFile := filepath.Ext(path) == ".go"
	docstring, phrases := answeringFunction, false
	if goFile && !strings.HasPrefix(path, "api/") && !strings.HasPrefix(path, "test/") {
		docstring, phrases = speakingFunction, true
	}
	before := ""
	for line := range strings.Lines(text) {
		begins := goFile && !comment.MatchString(before)
		if vagueWords.MatchString(line) || begins && docstring.MatchString(line) || phrases && turnedPhrases.MatchString(line) {
			found = append(found, strings.TrimSpace(line))
		}
		before = line
	}
	return found
}
