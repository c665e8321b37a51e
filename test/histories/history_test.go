// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package histories

import (
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// kind is the kind of a move.
type kind string

const (
	// editSpec rewrites an ExternalService so that its address and port stay as they are.
	editSpec kind = "edit"
	// replaceObjects writes each object of the history as a manifest has it: without finalizers and annotations.
	replaceObjects kind = "replace"
	// failPrimary and recoverPrimary are of the primary endpoint of an ExternalService with a standby.
	failPrimary    kind = "fail"
	recoverPrimary kind = "recover"
	// changeConfig gives the ConfigMap of a Deployment other data.
	changeConfig kind = "change"
	// toggleSuspend suspends an object and resumes it, with nothing between.
	toggleSuspend kind = "toggle"
	// relabel takes the label away by which a RebootPolicy selects its Deployment, and puts it back.
	relabel kind = "relabel"
	// renameTrigger gives the trigger of a RebootPolicy another name.
	renameTrigger kind = "rename"
	// runChaos asks a ChaosPod for a run.
	runChaos kind = "run"
	// disturbPath has the path to the API server treat requests as fault says, for a while.
	disturbPath kind = "disturb"
	// refuseWrites has an admission policy refuse a kind of write of the operator, for a while.
	refuseWrites kind = "refuse"
	// freezeCluster is a blackout of the cluster in which the path is disturbed and a ConfigMap changes.
	freezeCluster kind = "freeze"
	// killLeader ends the leader by SIGKILL.
	killLeader kind = "kill"
)

// move is one step of a history.
type move struct {
	Kind kind
	// Which chooses among the variants of a kind.
	Which int
	// Fault is that of disturb and of freeze.
	Fault int
	// Pause is waited before the move, and Lasts is how long a disturbance or a refusal lasts.
	Pause, Lasts time.Duration
}

// String is a move as a failure shows it.
func (m move) String() string {
	text := fmt.Sprintf("after %s: %s", m.Pause, m.Kind)
	switch m.Kind {
	case editSpec:
		text += " " + variants[m.Which%len(variants)].name
	case disturbPath, freezeCluster:
		text += fmt.Sprintf(" %s for %s", faults[m.Fault%len(faults)].name, m.Lasts)
	case refuseWrites:
		text += fmt.Sprintf(" %s for %s", refusals[m.Which%len(refusals)].name, m.Lasts)
	case toggleSuspend:
		text += " " + toggled[m.Which%len(toggled)].name
	case relabel, renameTrigger:
		text += " of " + restarted[m.Which%len(restarted)]
	}
	return text
}

// history is a list of moves.
type history []move

// String has a line for each move.
func (h history) String() string {
	var b strings.Builder
	for i, m := range h {
		fmt.Fprintf(&b, "%2d  %s\n", i+1, m)
	}
	return b.String()
}

// weighted repeats a kind that is to be drawn more often.
var weighted = []kind{
	editSpec, editSpec, replaceObjects, failPrimary, recoverPrimary, changeConfig, changeConfig, toggleSuspend, relabel, renameTrigger, runChaos, disturbPath, disturbPath, disturbPath, refuseWrites, refuseWrites, freezeCluster, killLeader,
}

// histories draws a history of some moves.
func histories(least, most int) *rapid.Generator[history] {
	one := rapid.Custom(func(t *rapid.T) move {
		return move{
			Kind:  rapid.SampledFrom(weighted).Draw(t, "kind"),
			Which: rapid.IntRange(0, 11).Draw(t, "which"),
			Fault: rapid.IntRange(0, len(faults)-1).Draw(t, "fault"),
			Pause: time.Duration(rapid.IntRange(0, 4).Draw(t, "pause")) * 500 * time.Millisecond,
			Lasts: time.Duration(rapid.IntRange(1, 6).Draw(t, "lasts")) * time.Second,
		}
	})
	return rapid.Custom(func(t *rapid.T) history {
		return rapid.SliceOfN(one, least, most).Draw(t, "moves")
	})
}
