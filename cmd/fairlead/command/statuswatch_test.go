// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"slices"
	"testing"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
)

func TestAWatchTellsWhatDiffers(t *testing.T) {
	branch := func(name string, health inspect.Health, said string, below ...inspect.Branch) inspect.Branch {
		return inspect.Branch{Key: inspect.Key{Kind: "Deployment", Namespace: "shop", Name: name}, Health: health, Said: said, Branches: below}
	}
	before := &inspect.Status{Trees: []inspect.Branch{branch("a", inspect.Healthy, "", branch("b", inspect.Degraded, "1 of 2 pods available"), branch("c", inspect.Healthy, ""))}}
	now := &inspect.Status{
		Trees:  []inspect.Branch{branch("a", inspect.Failed, "RestartFailed", branch("b", inspect.Degraded, "1 of 2 pods available"), branch("d", inspect.Waiting, ""))},
		Unread: []inspect.Unread{{Resource: "chaospods", Message: "no"}},
	}
	for allNamespaces, want := range map[bool][]string{
		false: {"Deployment/a  Failed: RestartFailed; it was Healthy", "Deployment/c  gone; it was Healthy", "Deployment/d  Waiting", "Not known  chaospods could not be read: no. "},
		true:  {"Not known  chaospods could not be read: no. ", "shop  Deployment/a  Failed: RestartFailed; it was Healthy", "shop  Deployment/c  gone; it was Healthy", "shop  Deployment/d  Waiting"},
	} {
		if got := differences(linesOf(before, allNamespaces), linesOf(now, allNamespaces)); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := differences(linesOf(now, true), linesOf(now, true)); len(got) != 0 {
		t.Errorf("nothing differs, and it tells %q", got)
	}
}
