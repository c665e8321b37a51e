// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/manifest"
)

// ignoring is what the comments of a document say:
//
//	# fairlead:ignore            before its first field: the document is not checked
//	# fairlead:ignore FL1604     before its first field: nor is this, anywhere in the document
//	zone: a # fairlead:ignore    behind a field, or on a line of its own above it: nor is this line
type ignoring struct {
	whole bool
	ids   []string         // of the document
	lines map[int][]string // by line; nothing in the list: all ids
	wrong []Finding        // ids that there are not
}

var ignoreComment = regexp.MustCompile(`(^|[ \t])#[ \t]*fairlead:ignore(?:[ \t]+(.*?))?[ \t\r]*$`)

// ignored reads the comments of a document.
func ignored(part manifest.Part) ignoring {
	var i ignoring
	if !bytes.Contains(part.Text, []byte("fairlead:ignore")) {
		return i
	}
	number, begun := part.Line, false
	for line := range bytes.Lines(part.Text) {
		text := strings.TrimRight(string(line), "\n")
		bare := strings.TrimSpace(text)
		comment := strings.HasPrefix(bare, "#")
		if found := ignoreComment.FindStringSubmatch(text); found != nil {
			i.add(found[2], number, comment, begun)
		}
		begun = begun || bare != "" && !comment && !strings.HasPrefix(bare, "---") && !strings.HasPrefix(bare, "%")
		number++
	}
	return i
}

func (i *ignoring) add(names string, line int, alone, begun bool) {
	ids := strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
	for n, id := range ids {
		if known, ok := Known(id); ok {
			ids[n] = known.ID
			continue
		}
		i.wrong = append(i.wrong, Finding{Severity: Warning, Rule: RuleIgnore, Line: line, Column: 1,
			Message: fmt.Sprintf("fairlead:ignore names %.32q, which is no rule; %s lists them", id, Pages)})
	}
	switch {
	case !begun && len(ids) == 0:
		i.whole = true
	case !begun:
		i.ids = append(i.ids, ids...)
	default:
		if alone {
			line++
		}
		if i.lines == nil {
			i.lines = map[int][]string{}
		}
		i.lines[line] = ids
	}
}

// hides says that a finding is not to be reported. Its id is known.
func (i *ignoring) hides(f *Finding) bool {
	if slices.Contains(i.ids, f.ID) {
		return true
	}
	ids, has := i.lines[f.Line]
	return has && (len(ids) == 0 || slices.Contains(ids, f.ID))
}
