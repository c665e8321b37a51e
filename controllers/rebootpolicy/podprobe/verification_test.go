// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"slices"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/clientprobe"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

func TestAVerificationAndATriggerOfOneNameShareNothing(t *testing.T) {
	withSuite(t, func(s *suite) {
		list := []common.VerificationProbe{{Name: "shop", Host: "198.18.0.1", TCPSocket: &common.TCPSocketAction{Port: number(8080)}, MaxFailures: ptr.To[int32](1)}}
		rules.DefaultVerificationProbes(list)
		s.Set(policy("p"), []Want{{Trigger: "shop", Workload: "w", Probe: newProbe(onHost("198.18.0.1"))}})
		s.Verification.Set(policy("p"), []clientprobe.Want{{Probe: &list[0]}}, []clientprobe.Disruption{{ID: "a"}})
		s.advance(500 * time.Millisecond)
		s.Forget(policy("p"))
		s.advance(time.Second)
		if got := s.Verification.Requests(policy("p"), "a"); len(got) != 1 || got[0].Sent != 2 {
			t.Errorf("after the triggers were forgotten: %+v", got)
		}
		if !slices.Contains(s.notified(), "p") {
			t.Error("the policy was not notified of its requests")
		}
	})
}
