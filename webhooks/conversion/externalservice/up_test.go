// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
)

func TestAFormThatWasUsedBeforeIsFilledLikeANewOne(t *testing.T) {
	long := make([]string, maxReused+8)
	for i := range long {
		long[i] = fmt.Sprintf("db-%d.example.com", i)
	}
	var used hub
	for i, spec := range []v1alpha1.ExternalServiceSpec{
		{Hosts: []string{"192.0.2.1", "db.example.com", "192.0.2.2"}, Probe: &v1alpha1.Probe{Probe: common.Probe{PeriodSeconds: ptr.To[int32](5)}}},
		{Hosts: []string{"db.example.com", "192.0.2.1"}, RefreshSeconds: ptr.To[int32](30)},
		{},
		{Hosts: long, Ports: map[string]v1alpha1.PortNumber{"sql": 5432}},
		{Hosts: long[:maxReused]},
		{Hosts: []string{"2001:db8::1"}},
	} {
		upInto(spoke{Spec: spec}, &used)
		want := up(spoke{Spec: spec})
		if diff := cmp.Diff(want.Spec, used.Spec); diff != "" {
			t.Errorf("form %d (-new +used):\n%s", i, diff)
		}
		if used.arena == nil || len(used.arena.hosts) > maxReused {
			t.Errorf("form %d keeps %+v", i, used.arena)
		}
	}
}
