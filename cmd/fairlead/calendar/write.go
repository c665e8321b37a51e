// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/version"
)

// WriteText writes a line for each event.
func (c *Calendar) WriteText(to io.Writer) error {
	table := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
	if len(c.Events) > 0 {
		_, _ = fmt.Fprintln(table, "START\tEND\tTYPE\tOBJECT\tNAME\tNOTE") // Flush returns the error
	}
	for i := range c.Events {
		e := &c.Events[i]
		end := "-"
		if e.End != nil {
			end = e.End.UTC().Format(time.RFC3339)
		}
		_, _ = fmt.Fprintln(table, strings.Join([]string{
			e.Start.UTC().Format(time.RFC3339), end, e.Type, e.object(), cmp.Or(e.Title, "-"), cmp.Or(e.Note, "-"),
		}, "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	var text strings.Builder
	for _, note := range c.Notes {
		fmt.Fprintf(&text, "Note: %s\n", note)
	}
	for _, u := range c.Unread {
		fmt.Fprintf(&text, "Not known: %s.\n", u)
	}
	_, err := io.WriteString(to, text.String())
	return err
}

// object names the object of an event.
func (e *Event) object() string {
	if e.Type == Freeze {
		return "the whole cluster"
	}
	return e.String()
}

// utc is a time of iCalendar in UTC, which needs no definition of a zone.
const utc = "20060102T150405Z"

// WriteICS writes the events as iCalendar (RFC 5545). The UID of an event is the same in each calendar that has it, so that a
// program that subscribes replaces it. now is when the calendar is made.
func (c *Calendar) WriteICS(to io.Writer, now time.Time) error {
	var text strings.Builder
	line := func(name, value string) { fold(&text, name+":"+value) }
	line("BEGIN", "VCALENDAR")
	line("VERSION", "2.0")
	line("PRODID", "-//fairlead.dev//fairlead "+escape(version.Get().Version)+"//EN")
	line("CALSCALE", "GREGORIAN")
	line("METHOD", "PUBLISH")
	line("NAME", "Fairlead")
	line("X-WR-CALNAME", "Fairlead")
	line("REFRESH-INTERVAL;VALUE=DURATION", "PT1H")
	var unread []string
	for _, u := range c.Unread {
		unread = append(unread, u.String())
	}
	if said := append(unread, c.Notes...); len(said) > 0 {
		line("DESCRIPTION", escape(strings.Join(said, "\n")))
	}
	for i := range c.Events {
		e := &c.Events[i]
		line("BEGIN", "VEVENT")
		line("UID", e.uid())
		line("DTSTAMP", now.UTC().Format(utc))
		line("DTSTART", e.Start.UTC().Format(utc))
		if e.End != nil {
			line("DTEND", e.End.UTC().Format(utc))
		}
		summary := e.Type + ": " + e.object()
		if e.Title != "" {
			summary += ", " + e.Title
		}
		if e.Note != "" {
			summary += " (" + e.Note + ")"
		}
		line("SUMMARY", escape(summary))
		line("CATEGORIES", escape(e.Type))
		line("TRANSP", "TRANSPARENT")
		line("END", "VEVENT")
	}
	line("END", "VCALENDAR")
	_, err := io.WriteString(to, text.String())
	return err
}

// uid depends on what an event is and on when it begins.
func (e *Event) uid() string {
	begins := e.Start.UTC().Format(utc)
	if e.lasts {
		begins = ""
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{e.Type, e.String(), e.Title, begins}, "\x00")))
	return hex.EncodeToString(sum[:16]) + "@fairlead.dev"
}

// escape is a text of iCalendar on one line.
func escape(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	return escaper.Replace(text)
}

var escaper = strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\n", `\n`)

// maxLine is how many bytes a line may have, without its end.
const maxLine = 75

// fold writes a line, which goes on below it where it is too long, and cuts no character.
func fold(to *strings.Builder, line string) {
	for limit := maxLine; len(line) > limit; limit = maxLine - 1 {
		at := limit
		for !utf8.RuneStart(line[at]) {
			at--
		}
		to.WriteString(line[:at] + "\r\n ")
		line = line[at:]
	}
	to.WriteString(line + "\r\n")
}
