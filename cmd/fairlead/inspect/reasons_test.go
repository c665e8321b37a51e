// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"strings"
	"testing"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

func TestAReasonMeansWhatItMeansWhereItIs(t *testing.T) {
	for _, c := range []struct{ kind, of, reason, want string }{
		{ExternalService, networkingv1.ConditionResolved, networkingv1.ReasonTimeout, "The nameserver"},
		{ExternalService, ofAddress, networkingv1.ProbeTimeout, "The check"},
		{ExternalService, ofHistory, networkingv1.ReasonUnknown, "The operator restarted"},
		{ExternalService, ofHistory, networkingv1.ReasonFaultEnded, "The fault ended"},
		{RebootPolicy, ofTrigger, autorebootv1.ReasonUnknown, "The health of the ExternalService"},
		{RebootPolicy, common.ConditionProgressing, common.ReasonInvalidSpec, "No restart starts"},
		{RebootPolicy, ofHistory, autorebootv1.ReasonBackoff, "A restart failed"},
		{RebootPolicy, ofHistory, autorebootv1.EventRestartStarted, ""},
		{ClusterRebootPolicy, common.ConditionReady, common.ReasonInvalidSpec, "The stored spec"},
		{ClusterRebootPolicy, common.ConditionReady, autorebootv1.ReasonBackoff, ""},
	} {
		if r, known := reasonOf(c.kind, c.of, c.reason); known != (c.want != "") || !strings.HasPrefix(r.Meaning, c.want) {
			t.Errorf("%s %s of %s means %q, want %q", c.kind, c.reason, c.of, r.Meaning, c.want)
		}
	}
}

func TestEachCommandOfAReasonIsOneOfItsKind(t *testing.T) {
	for kind, all := range rows {
		for _, r := range all {
			command, is := strings.CutPrefix(r.Verb, "fairlead ")
			verb, _, _ := strings.Cut(command, " ")
			if is && Annotation(verb, kind) == "" || !is && r.Verb != "" && !strings.HasPrefix(r.Verb, "kubectl ") {
				t.Errorf("%s: %s names the command %q, which cannot be run for it", kind, r.Name, r.Verb)
			}
		}
	}
}
