// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package guides

import (
	"regexp"
	"slices"
	"strings"
)

// step is a command of a guide, or something that happens outside.
type step struct {
	line    int    // of the page, from 1
	outside string // "" for a command
	command string
	output  []string // what the page shows, from the line after the command on
}

var outside = regexp.MustCompile(`^<!-- test: (.+) -->$`)

// steps are those of a page, in order.
func steps(page string) (found []step) {
	var block, more bool // within a block of console, within a command of several lines
	var end string       // of a heredoc
	for i, line := range strings.Split(page, "\n") {
		switch {
		case line == "```console":
			block = true
		case strings.HasPrefix(line, "```"):
			block, more, end = false, false, ""
		case !block:
			if text := outside.FindStringSubmatch(line); text != nil {
				found = append(found, step{line: i + 1, outside: text[1]})
			}
		case more:
			last := &found[len(found)-1]
			last.command += "\n" + line
			if end == "" {
				more = strings.HasSuffix(line, `\`)
			} else {
				more = line != end
			}
			last.line = i + 1
		case strings.HasPrefix(line, "$ "):
			end = ""
			if _, word, found := strings.Cut(line, "<<'"); found {
				end, _, _ = strings.Cut(word, "'")
			}
			found = append(found, step{line: i + 1, command: line[2:]})
			more = end != "" || strings.HasSuffix(line, `\`)
		case len(found) > 0:
			last := &found[len(found)-1]
			last.output = append(last.output, line)
		}
	}
	return found
}

// rewritten is the page with what the commands printed, by the line that they end at.
func rewritten(page string, all []step, printed map[int][]string) string {
	lines := strings.Split(page, "\n")
	for _, s := range slices.Backward(all) {
		if output, changed := printed[s.line]; changed {
			lines = slices.Replace(lines, s.line, s.line+len(s.output), output...)
		}
	}
	return strings.Join(lines, "\n")
}

// What differs from run to run, and what it becomes before a comparison.
var volatile = []struct {
	pattern *regexp.Regexp
	becomes string
}{
	{regexp.MustCompile(`\(x\d+ over \S+\)`), ""},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`), "<time>"},
	{regexp.MustCompile(`\b10\.\d+\.\d+\.\d+\b`), "<cluster-ip>"},
	{regexp.MustCompile(`\b[0-9a-f]{8}-\d+\b`), "<id>"},
	{regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz0-9]{8,10}-[bcdfghjklmnpqrstvwxz0-9]{5}\b`), "-<hash>"},
	{regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz0-9]{8,10}\b`), "-<hash>"},
	{regexp.MustCompile(`\b(\d+(\.\d+)?(ms|s|m|h|d))+\b`), "<duration>"}, // not an id such as 4406666d
	{regexp.MustCompile(`\s+`), " "},
}

// shows reports whether the page shows what the command printed. Events of one second come in any order.
func (s step) shows(printed []string) bool {
	if !strings.Contains(s.command, " events ") {
		return same(s.output, printed)
	}
	return slices.Equal(sorted(s.output), sorted(printed))
}

func sorted(lines []string) []string {
	all := make([]string, len(lines))
	for i, line := range lines {
		all[i] = plain(line)
	}
	slices.Sort(all)
	return all
}

// same reports whether two outputs say the same. A line "..." of the page stands for any number of lines.
func same(shown, printed []string) bool {
	if len(shown) == 0 {
		return len(printed) == 0
	}
	if shown[0] == "..." {
		return same(shown[1:], printed) || len(printed) > 0 && same(shown, printed[1:])
	}
	return len(printed) > 0 && plain(shown[0]) == plain(printed[0]) && same(shown[1:], printed[1:])
}

func plain(line string) string {
	for _, v := range volatile {
		line = v.pattern.ReplaceAllString(line, v.becomes)
	}
	return strings.TrimSpace(line)
}
