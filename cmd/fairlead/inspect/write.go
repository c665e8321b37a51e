// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// WriteText writes an Explanation as sentences. now tells how long ago a time was.
func (x Explanation) WriteText(to io.Writer, now time.Time) error {
	w := &writer{now: now}
	for len(x.Findings) > 0 && x.Findings[0].About == aboutOperator { // all else was recorded before
		w.finding(&x.Findings[0], "")
		x.Findings = x.Findings[1:]
	}
	w.explanation(x, "")
	if len(x.Related) > 0 {
		w.line("", "Related objects:")
	}
	for _, r := range x.Related {
		said := string(r.Health)
		if r.Said != "" {
			said += ": " + r.Said
		}
		w.line("  ", "%s, %s (%s)", r.Role, r.Key, said)
	}
	for _, u := range x.Unread {
		w.line("", "Not known: %s.", u)
	}
	_, err := io.WriteString(to, w.text.String())
	return err
}

// writer gathers lines.
type writer struct {
	text strings.Builder
	now  time.Time
}

func (w *writer) line(indent, format string, values ...any) {
	fmt.Fprintf(&w.text, indent+format+"\n", values...)
}

func (w *writer) explanation(x Explanation, indent string) {
	w.line(indent, "%s is %s. %s", x.Key, x.Health, x.Summary)
	for i := range x.Findings {
		w.finding(&x.Findings[i], indent+"  ")
	}
}

func (w *writer) finding(f *Finding, indent string) {
	w.line(indent, "%s.", f.Head(w.now))
	for _, text := range f.Sentences() {
		w.line(indent+"  ", "%s", text)
	}
	for _, x := range f.Because {
		w.explanation(x, indent+"  ")
	}
}

// Head is what a Finding is about, and since when. now tells how long ago that was.
func (f *Finding) Head(now time.Time) string {
	head := strings.ToUpper(f.About[:1]) + f.About[1:]
	if f.Status != "" {
		head += " is " + f.Status
	}
	if f.Reason != "" {
		head += " (" + f.Reason + ")"
	}
	if f.Since != nil {
		head += " since " + TimeText(f.Since, now)
	}
	switch {
	case f.Until == nil:
	case f.Status == "" && f.Reason == "":
		head += " is due at " + TimeText(f.Until, now)
	default:
		head += " until " + TimeText(f.Until, now)
	}
	return head
}

// Sentences are what is known of a Finding, and what to do.
func (f *Finding) Sentences() (all []string) {
	for _, text := range []string{f.Message, f.Meaning, f.Override} {
		if text = strings.TrimSuffix(text, "."); text != "" {
			all = append(all, strings.ToUpper(text[:1])+text[1:]+".")
		}
	}
	if f.Remedy != "" {
		all = append(all, "To do: "+f.Remedy)
	}
	return all
}

// Printable returns a text on one line, without what a terminal would obey or what would reorder the text beside it.
func Printable(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return text
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case IsUnprintable(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return strings.Join(strings.Fields(text), " ")
}

// IsUnprintable reports whether a terminal would obey a rune, or reorder the text beside it.
func IsUnprintable(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

// TimeText writes a time, and how far it is from now.
func TimeText(t *metav1.Time, now time.Time) string {
	if span := t.Sub(now); span > 0 {
		return at(t) + " (in " + duration.HumanDuration(span) + ")"
	}
	return at(t) + " (" + duration.HumanDuration(now.Sub(t.Time)) + " ago)"
}
