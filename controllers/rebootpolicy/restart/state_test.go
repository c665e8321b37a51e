// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func states() []State {
	return []State{Idle, Pending, BackingOff, Planned, RollingOut, Evicting, Soaking, GivenUp, Halted}
}

// reachable are the states that can be come to from one, over the events that are not left out.
func reachable(from State, without ...Event) map[State]bool {
	seen := map[State]bool{from: true}
	for todo := []State{from}; len(todo) > 0; todo = todo[1:] {
		for _, row := range Transitions() {
			if row.To != Stay && slices.Contains(row.From, todo[0]) && !slices.Contains(without, row.Event) && !seen[row.To] {
				seen[row.To] = true
				todo = append(todo, row.To)
			}
		}
	}
	return seen
}

func TestEveryStateIsReachable(t *testing.T) {
	seen := reachable(Idle)
	for _, s := range states() {
		if !seen[s] {
			t.Errorf("nothing leads to %s", s)
		}
	}
	if len(seen) != len(states()) {
		t.Errorf("the table has states that are not declared: %v", seen)
	}
}

func TestEveryPathEnds(t *testing.T) {
	for _, s := range states() {
		if !reachable(s)[Idle] {
			t.Errorf("nothing leads from %s back to Idle", s)
		}
	}
	// While a restart is in flight, no event leads back: so it ends, and time alone sees to that.
	order := []State{Planned, RollingOut, Evicting, Soaking}
	for i, s := range order {
		fails := false
		for _, row := range Transitions() {
			if !slices.Contains(row.From, s) {
				continue
			}
			if row.To == Stay {
				t.Errorf("%s stays in %s: it might for ever", row.Event, s)
			}
			if at := slices.Index(order, row.To); at >= 0 && at <= i {
				t.Errorf("%s leads from %s back to %s", row.Event, s, row.To)
			}
			fails = fails || row.Event == Failed
		}
		if !fails {
			t.Errorf("a restart can not fail in %s", s)
		}
	}
	// Only a human or other content leads out of a halt.
	if seen := reachable(Halted, Corrected, CorrectedAnew, HaltEnded, HaltEndedRetry, HaltEndedIdle); len(seen) != 1 {
		t.Errorf("Halted leads to %v without a human", seen)
	}
}

func TestAnEventMeansOneThingInAState(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range Transitions() {
		if row.do == nil {
			t.Errorf("%s does nothing", row.Event)
		}
		for _, from := range row.From {
			key := fmt.Sprintf("%s in %s", row.Event, from)
			if seen[key] {
				t.Errorf("%s stands in the table twice", key)
			}
			seen[key] = true
		}
	}
}

func TestPhasesAreStates(t *testing.T) {
	for _, phase := range []autorebootv1.RestartPhase{autorebootv1.PhasePlanned, autorebootv1.PhaseRollingOut, autorebootv1.PhaseEvicting, autorebootv1.PhaseSoaking} {
		if !slices.Contains(states(), State(phase)) {
			t.Errorf("phase %s is no state", phase)
		}
	}
}

// The diagram of the reference is made from the table: run the test with -update to write it.
func TestTheDiagramOfTheReferenceIsTheTable(t *testing.T) {
	const path = "../../../docs/reference/restart-states.md"
	got := reference()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what the table says; run: go test ./controllers/rebootpolicy/restart -run Diagram -update (-file +table):\n%s", path, diff)
	}
}

func reference() []byte {
	var b bytes.Buffer
	b.WriteString(`# The states of a restart

Every target of a RebootPolicy is in one of these states. This page is made from the table in
[controllers/rebootpolicy/restart/state.go](../../controllers/rebootpolicy/restart/state.go) that the operator runs on.

` + "```mermaid\nstateDiagram-v2\n    [*] --> Idle\n")
	edges := map[string][]string{}
	var order []string
	for _, row := range Transitions() {
		for _, from := range row.From {
			if row.To == Stay || row.To == from {
				continue
			}
			edge := fmt.Sprintf("%s --> %s", from, row.To)
			if edges[edge] == nil {
				order = append(order, edge)
			}
			edges[edge] = append(edges[edge], string(row.Event))
		}
	}
	for _, edge := range order {
		fmt.Fprintf(&b, "    %s: %s\n", edge, strings.Join(edges[edge], ", "))
	}
	b.WriteString("```\n\n| state | in the status | what it waits for |\n| --- | --- | --- |\n")
	for _, s := range states() {
		words := descriptions()[string(s)]
		stored, waits, _ := strings.Cut(words, "|")
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s, stored, waits)
	}
	b.WriteString("\n| event | from | to | meaning |\n| --- | --- | --- | --- |\n")
	for _, row := range Transitions() {
		from := make([]string, 0, len(row.From))
		for _, s := range row.From {
			from = append(from, "`"+string(s)+"`")
		}
		to := "the same"
		if row.To != Stay {
			to = "`" + string(row.To) + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", row.Event, strings.Join(from, ", "), to, descriptions()[string(row.Event)])
	}
	b.WriteString("\nThe [reasons of `Waiting`](conditions.md#rebootpolicy) say what else a restart waits for. " +
		"A restart whose pods are all newer than what changed is dropped as `Superseded`, whatever else would hold it.\n")
	return b.Bytes()
}

func descriptions() map[string]string {
	return map[string]string{
		"Idle":       "nothing but `internal.baselines`|A trigger.",
		"Pending":    "`pending`|What its `reason` says.",
		"BackingOff": "`pending`, not younger than `lastRestartTime`|The time of its retry, or other content of its sources, and then what its `reason` says.",
		"Planned":    "`inFlight`, phase `Planned`|The operator itself: the workload may or may not have been changed.",
		"RollingOut": "`inFlight`, phase `RollingOut`|The workload's controller.",
		"Evicting":   "`inFlight`, phase `Evicting`|Evictions, and the pods that take the places.",
		"Soaking":    "`inFlight`, phase `Soaking`|The end of `verification.soak`.",
		"GivenUp":    "`attempts` above `retry.maxAttempts`|A new change, or an hour without one.",
		"Halted":     "`status.halt` names it|Other content of its sources, unless `limit` halted it; or a user: a change of the spec, or the annotation `retry`.",

		"Fired":                 "A trigger asks that did not before, or asks again.",
		"PartlyRecovered":       "Some of its triggers do not ask any more.",
		"Recovered":             "None of its triggers asks any more.",
		"Expired":               "The last trigger that asked has passed its deadline.",
		"Superseded":            "Every pod was made after what changed; for a retry, also after the restart that failed, and for one that was refused, after the refusal; the workload is then complete.",
		"Held":                  "The reason to wait is another than before.",
		"Start":                 "Every check admits it. Baselines move, and the restart's id is stored.",
		"OverLimit":             "One more restart would exceed `limit`.",
		"Annotated":             "The pod template carries the restart's id.",
		"EvictionStarted":       "The first eviction was asked for.",
		"StartRefused":          "The API server refused to begin it: nothing was done, and no attempt counts.",
		"RetryRefused":          "The same of the retry of one that failed.",
		"PodsReplaced":          "Every pod is new, and all are available.",
		"Verified":              "It stayed available through the soak.",
		"Failed":                "It was not verified, and will be tried again.",
		"ProbesFailed":          "More requests of `verification.probes` failed than may, or none could be sent, with `onFailure: Continue`. All pods are new, so that it is not tried again.",
		"ProbesFailedAndHalted": "The same with `onFailure: Halt`.",
		"NodeLost":              "Its rollout waits for nothing but pods that can neither become ready nor end, such as on a node that is not ready. The workload's controller goes on with it once they can.",
		"FailedAndGivenUp":      "It failed once more than `retry.maxAttempts` allows, with `onFailure: Continue`.",
		"FailedAndHalted":       "The same with `onFailure: Halt`; or the eviction API cannot decide.",
		"Reverted":              "The workload's owner took the annotation away.",
		"TargetGone":            "The workload is gone, or another one of its name.",
		"Unselected":            "The policy does not select the workload any more, and the restart was not begun or has timed out: it is owed where the workload is selected again.",
		"Corrected":             "Its sources have other content than that for which its restart failed. The restart starts once `debounce` allows it, and other targets follow once it is verified.",
		"CorrectedAnew":         "The same where the restart that failed is not tried again.",
		"AttemptsReset":         "No trigger asked for an hour, and it is healthy.",
		"HaltEnded":             "A user acted, and it is asked for.",
		"HaltEndedRetry":        "A user acted, and its retry is pending.",
		"HaltEndedIdle":         "A user acted, and nothing is asked for.",
	}
}
