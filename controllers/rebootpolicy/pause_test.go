// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
)

// The rollout is paused before the template changes, under a field owner of its own, and resumed by giving up its fields.
func TestARolloutIsPausedBeforeItBegins(t *testing.T) {
	p, action := reloading(common.WorkloadDeployment)
	action.Workload.Pause = time.Minute
	w := &fakeAPI{}
	if result, err := w.actor().Do(t.Context(), p, action, "41"); err != nil || result.Outcome != restart.Done {
		t.Fatalf("result %+v, error %v", result, err)
	}
	if len(w.all) != 2 || !strings.Contains(w.all[0], `"spec":{"paused":true}`) || !strings.Contains(w.all[0], `"autoreboot.fairlead.dev/paused-by":"payments"`) ||
		!strings.Contains(w.all[0], `"deployment.reloader.stakater.com/paused-at":"2026-03-02T14:00:00Z"`) || strings.Contains(w.all[1], "paused") ||
		!strings.Contains(w.all[1], `"autoreboot.fairlead.dev/restart-id":"x-1"`) {
		t.Errorf("applied %q", w.all)
	}
	if w.owners[0] != pauseOwner || w.owners[1] != restartOwner {
		t.Errorf("by %q", w.owners)
	}

	action.Verb = restart.Resume
	if result, err := w.actor().Do(t.Context(), p, action, "41"); err != nil || result.Outcome != restart.Done {
		t.Fatalf("result %+v, error %v", result, err)
	}
	if got := w.all[2]; strings.Contains(got, "paused") || strings.Contains(got, "spec") || !strings.Contains(got, `"uid":"u"`) || w.owners[2] != pauseOwner {
		t.Errorf("applied %q by %s", got, w.owners[2])
	}
}
