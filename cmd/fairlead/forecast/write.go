// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
	"github.com/fairlead-dev/fairlead/internal/events"
)

// WriteText writes a Forecast as sentences. now tells how far a time is.
func (f *Forecast) WriteText(to io.Writer, now time.Time) error {
	var text strings.Builder
	line := func(format string, values ...any) { fmt.Fprintf(&text, format+"\n", values...) }
	for i := range f.Sources {
		line("%s", f.Sources[i].sentence())
	}
	if len(f.Sources) == 0 {
		line("No ConfigMap and no Secret changes.")
	}
	for i := range f.Restarts {
		r := &f.Restarts[i]
		line("%s restarts as number %d of RebootPolicy %s, wave %d, at most %s at once.", r.Key, r.Order, r.Policy, r.Wave, r.MaxTargets)
		for _, c := range r.Causes {
			line("  Trigger %s (%s) sees %s change in %s.", c.Trigger, c.Type, c.Source, keysText(c.Keys))
		}
		line("  %s", r.startText(now))
		for _, h := range r.Holds {
			line("  Held by %s: %s.", h.Reason, strings.TrimSuffix(h.Message, "."))
			if h.Until == nil && h.Remedy != "" {
				line("    To do: %s", h.Remedy)
			}
		}
	}
	for _, key := range f.Rollouts {
		line("%s is rolled out at once by its own controller, since its pod template changes.", key)
	}
	if line("%s", f.summary(now)); len(f.Notes) > 0 {
		for _, note := range f.Notes {
			line("Note: %s", note)
		}
	}
	for _, u := range f.Unread {
		line("Not known: %s.", u)
	}
	_, err := io.WriteString(to, text.String())
	return err
}

// sentence is about what changes of a source, and which policies watch it.
func (s *Source) sentence() string {
	what := map[string]string{
		Changed: "changes in " + keysText(s.Keys), Created: "is created, which restarts workloads only where onCreate is Restart", Assumed: "could not be read, and is assumed to change in " + keysText(s.Keys),
	}[s.Change]
	text := fmt.Sprintf("%s %s.", s.Key, what)
	switch {
	case len(s.WatchedBy) > 0:
		text += " Watched by RebootPolicy " + events.Summarize(s.WatchedBy) + "."
	default:
		text += " No RebootPolicy that could be read watches it."
	}
	if len(s.Unwatched) > 0 {
		text += " Not restarted, though they refer to it: " + events.Summarize(s.Unwatched) + "."
	}
	return text
}

// keysText names keys.
func keysText(keys []string) string {
	if len(keys) == 1 {
		return "the key " + keys[0]
	}
	return "the keys " + events.Summarize(keys)
}

// startText is about when a restart starts.
func (r *Restart) startText(now time.Time) string {
	switch {
	case r.Starts == nil:
		return "It starts once nothing holds it."
	case r.Window != "":
		return "It starts at " + inspect.TimeText(r.Starts, now) + " at the earliest, in the window " + r.Window + "."
	case r.Starts.After(now):
		return "It starts at " + inspect.TimeText(r.Starts, now) + " at the earliest."
	}
	return "It starts at once."
}

// summary is the last sentence.
func (f *Forecast) summary(now time.Time) string {
	switch n := len(f.Restarts); {
	case n > 0 && f.ExpectedEnd != nil:
		return fmt.Sprintf("%s would restart. The last is expected to end by %s.", events.Plural(n, "workload", "workloads"),
			inspect.TimeText(f.ExpectedEnd, now))
	case n > 0:
		return fmt.Sprintf("%s would restart.", events.Plural(n, "workload", "workloads"))
	case len(f.ordered) > 0:
		return "Whether a workload restarts depends on the order in which the manifests are applied."
	case inspect.HasErrors(f.Unread):
		return "Whether a workload restarts is unknown."
	}
	return "No workload restarts."
}

// WriteMarkdown writes a Forecast as a comment for a pull request.
func (f *Forecast) WriteMarkdown(to io.Writer, now time.Time) error {
	var text strings.Builder
	line := func(cells ...string) { fmt.Fprintf(&text, "| %s |\n", strings.Join(cells, " | ")) }
	fmt.Fprintf(&text, "### Restarts\n\n%s\n", escape(f.summary(now)))
	if len(f.Sources) > 0 {
		text.WriteString("\n")
	}
	for i := range f.Sources[:min(len(f.Sources), maxRows)] {
		fmt.Fprintf(&text, "- %s\n", escape(f.Sources[i].sentence()))
	}
	if len(f.Restarts) > 0 {
		text.WriteString("\n")
		line("Workload", "Policy", "Order", "Because", "Starts", "Held by")
		line("---", "---", "---", "---", "---", "---")
	}
	for i := range f.Restarts[:min(len(f.Restarts), maxRows)] {
		r := &f.Restarts[i]
		var causes, holds []string
		for _, c := range r.Causes {
			causes = append(causes, escape(fmt.Sprintf("%s: %s, %s", c.Trigger, c.Source, keysText(c.Keys))))
		}
		for _, h := range r.Holds {
			holds = append(holds, escape(h.Reason+": "+h.Message))
		}
		line(escape(r.String()), escape(r.Policy), fmt.Sprintf("%d, wave %d", r.Order, r.Wave), strings.Join(causes, "<br>"),
			escape(r.startText(now)), strings.Join(holds, "<br>"))
	}
	if left := max(len(f.Restarts)-maxRows, 0) + max(len(f.Sources)-maxRows, 0); left > 0 {
		fmt.Fprintf(&text, "\n%d more are in the output as JSON.\n", left)
	}
	if len(f.Rollouts) > 0 {
		var names []string
		for _, key := range f.Rollouts {
			names = append(names, key.String())
		}
		fmt.Fprintf(&text, "\nRolled out at once by their own controllers, since the pod template changes: %s.\n", escape(events.Summarize(names)))
	}
	if len(f.Notes)+len(f.Unread) > 0 {
		text.WriteString("\n")
	}
	for _, u := range f.Unread {
		fmt.Fprintf(&text, "- **Not known:** %s.\n", escape(u.String()))
	}
	for _, note := range f.Notes {
		fmt.Fprintf(&text, "- %s\n", escape(note))
	}
	_, err := io.WriteString(to, text.String())
	return err
}

// maxRows bounds the rows of a table in a comment: GitHub accepts 65,536 characters.
const maxRows = 100

// escape has a text be no markup: no table cell, link, mention, HTML or emphasis.
func escape(text string) string { return markup.Replace(strings.Join(strings.Fields(text), " ")) }

var markup = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`,
	"@", "&#64;", "#", `\#`, "!", `\!`, "~", `\~`, "://", "&#58;//", "www.", "www&#46;",
)
