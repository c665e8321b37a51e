// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/internal/text"
)

// width is how long a line of a comment or of the plan gets.
const width = 110

// WriteObjects writes the objects as YAML. Comments say what each came from and what is not as it was; they name no
// file, so that it does not matter how the input was given.
func (r *Result) WriteObjects(to io.Writer) error {
	var out bytes.Buffer
	lost := r.about(Refused)
	if len(lost) > 0 {
		out.WriteString("# Not all of it could be migrated:\n")
		for _, m := range lost {
			comment(&out, "- "+m.Object+": "+m.about())
		}
	}
	for _, m := range r.made {
		out.WriteString("---\n")
		comment(&out, capital(m.origin())+".")
		for _, remark := range m.remarks {
			comment(&out, capital(string(remark.Effect))+": "+m.about(remark))
		}
		out.Write(m.text)
	}
	_, err := to.Write(out.Bytes())
	return err
}

// about returns the remarks of an effect, without their places, each once.
func (r *Result) about(e Effect) (all []Remark) {
	for _, m := range r.Remarks {
		m.Place = Place{}
		if m.Effect == e && !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	return all
}

// origin returns the sources of an object, as a phrase for its comment.
func (m *made) origin() string {
	if len(m.covered) == 0 {
		return "from " + strings.Join(m.from, ", ")
	}
	origin := "for " + plural(len(m.subjects)-len(m.from), "workload") + " in " + plural(len(m.covered), "namespace")
	if len(m.from) > 0 {
		origin += ", from " + strings.Join(m.from, ", ")
	}
	return origin
}

// about is a remark, with its object where the object is made from several.
func (m *made) about(r Remark) string {
	if len(m.covered) > 0 && r.Object != m.key.String() || len(m.from) > 1 && slices.Contains(m.from, r.Object) {
		return r.Object + ": " + r.about()
	}
	return r.about()
}

// WritePlan writes what was read, what it becomes, and what to do with it.
func (r *Result) WritePlan(to io.Writer) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "Plan: %s to Fairlead. %s read, %s written.\n", r.peer.Name, plural(r.Objects, "object"),
		plural(len(r.made), r.peer.Into))
	for _, m := range r.made {
		line(&out, "", fmt.Sprintf("\n%s, %s", m.key, m.origin()))
		for _, workloads := range m.covered {
			line(&out, "  ", "covers "+workloads)
		}
		for _, remark := range m.remarks {
			place := ""
			if remark.Place != (Place{}) {
				place = " (" + remark.Place.String() + ")"
			}
			line(&out, "  ", string(remark.Effect)+": "+m.about(remark)+place)
		}
	}
	r.section(&out, "Cannot be migrated:", Refused)
	r.section(&out, "Left as it is:", Left)
	r.section(&out, "In the input already:", Differs)
	if len(r.made) > 0 {
		list(&out, "What differs for all of them:", r.differences)
		list(&out, "Steps:", r.peer.Steps)
	}
	_, err := to.Write(out.Bytes())
	return err
}

// section lists remarks about objects that were not written.
func (r *Result) section(out *bytes.Buffer, title string, e Effect) {
	for _, m := range r.Remarks {
		if m.Effect != e || r.isOfMade(m) {
			continue
		}
		if title != "" {
			fmt.Fprintf(out, "\n%s\n", title)
			title = ""
		}
		where := ""
		if m.Place != (Place{}) {
			where = m.Place.String() + ": "
		}
		line(out, "  ", where+m.Object+": "+m.about())
	}
}

// isOfMade reports whether a remark is listed below an object that was written.
func (r *Result) isOfMade(m Remark) bool {
	return slices.ContainsFunc(r.made, func(o *made) bool { return slices.Contains(o.remarks, m) })
}

func list(out *bytes.Buffer, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s\n", title)
	for i, l := range lines {
		line(out, "  ", fmt.Sprintf("%d. %s", i+1, l))
	}
}

// comment writes a comment.
func comment(out *bytes.Buffer, content string) { line(out, "# ", content) }

// line writes a text after a prefix, wrapped. All lines but the first are indented.
func line(out *bytes.Buffer, prefix, content string) {
	lead, begun := "", strings.HasPrefix(content, "\n")
	if begun {
		out.WriteByte('\n')
	}
	length := 0
	for _, word := range strings.Fields(text.OneLine(content)) {
		switch {
		case length == 0:
			out.WriteString(prefix + lead)
			length = len(prefix) + len(lead)
		case length+1+len(word) > width:
			lead = "  "
			out.WriteString("\n" + prefix + lead)
			length = len(prefix) + len(lead)
		default:
			out.WriteByte(' ')
			length++
		}
		out.WriteString(word)
		length += len(word)
	}
	out.WriteByte('\n')
}

// withComments returns an object with comments above some fields, which are by their path below another one.
func withComments(object []byte, below string, comments map[string]string) []byte {
	var out bytes.Buffer
	var above []string // by depth
	for text := range bytes.Lines(object) {
		indent := (len(text) - len(bytes.TrimLeft(text, " "))) / 2
		key, _, isField := strings.Cut(strings.TrimSpace(string(text)), ":")
		if isField && !strings.HasPrefix(key, "-") && indent <= len(above) {
			above = append(above[:indent], key)
			if path, is := strings.CutPrefix(strings.Join(above, "."), below+"."); is && comments[path] != "" {
				fmt.Fprintf(&out, "%*s# %s\n", 2*indent, "", comments[path])
			}
		}
		out.Write(text)
	}
	return out.Bytes()
}

func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

func plural(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
