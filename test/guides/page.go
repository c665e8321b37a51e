// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package guides

import (
	"regexp"
	"slices"
	"strings"
)

// step is a command of a page, a block of another language, or something that happens outside.
type step struct {
	line     int      // of the page, from 1: the last one of the command, or begins
	begins   int      // line at which the block begins
	outside  string   // what happens outside, or ""
	block    string   // the block that it is in, or is
	language string   // of the block
	command  string   // "" for a block that is no console, or shows no command
	output   []string // what the page shows, from the line after the command on
	quiet    bool     // the block shows no output at all: its commands must only succeed
}

var (
	outside = regexp.MustCompile(`^<!-- test: (.+) -->$`)
	fence   = regexp.MustCompile("^( *)```(\\w*)")
)

// steps are those of a page, in order.
func steps(page string) (found []step) {
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		if text := outside.FindStringSubmatch(lines[i]); text != nil {
			found = append(found, step{line: i + 1, outside: text[1]})
		}
		opens := fence.FindStringSubmatch(lines[i])
		if opens == nil {
			continue
		}
		begin := i + 1
		var body []string
		for i++; i < len(lines) && !fence.MatchString(lines[i]); i++ {
			body = append(body, strings.TrimPrefix(lines[i], opens[1]))
		}
		block := step{line: begin, begins: begin, block: strings.Join(body, "\n"), language: opens[2]}
		if all := commands(body, block); block.language == "console" && len(all) > 0 {
			found = append(found, all...)
		} else {
			found = append(found, block)
		}
	}
	return found
}

// commands are those of a block of console, which begins with one.
func commands(body []string, block step) (found []step) {
	var end string // the last line of a command of several lines: "" where the line is, which has no backslash at its end
	more, quiet := false, true
	for i, line := range body {
		switch {
		case more:
			last := &found[len(found)-1]
			last.command += "\n" + line
			last.line++
			more = end == "" && strings.HasSuffix(line, `\`) || end != "" && strings.TrimSpace(line) != end
		case strings.HasPrefix(line, "$ "):
			if end = ""; strings.HasPrefix(line, "$ for ") {
				end = "done"
			} else if _, word, found := strings.Cut(line, "<<'"); found {
				end, _, _ = strings.Cut(word, "'")
			}
			s := block
			s.line, s.command = block.line+1+i, line[2:]
			found = append(found, s)
			more = end != "" || strings.HasSuffix(line, `\`)
		case len(found) == 0:
			return nil
		default:
			last := &found[len(found)-1]
			last.output, quiet = append(last.output, line), false
		}
	}
	for i := range found {
		found[i].quiet = quiet
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
	if s.quiet {
		return true
	}
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

// same reports whether two outputs are equal. A line "..." of the page matches any number of lines.
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
