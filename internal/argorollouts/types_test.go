// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package argorollouts

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The schema of the CRD does not look into a pod template, and may be of another version: one object that is not as expected must
// not keep the others of its list from being read.
func TestAListWithAnObjectThatIsNotAsExpectedHasAllObjects(t *testing.T) {
	t.Parallel()
	const list = `{"items":[
		{"metadata":{"name":"good"},"spec":{"replicas":2,"restartAt":"2026-03-02T14:00:00Z"},"status":{"replicas":2}},
		{"metadata":{"name":"template"},"spec":{"replicas":1,"template":{"spec":{"containers":"secret"}}}},
		{"metadata":{"name":"time"},"spec":{"restartAt":"secret"}},
		{"metadata":{"name":"list"},"spec":["secret"]},
		{"metadata":{"name":"status"},"spec":{},"status":{"conditions":{"a":"secret"}}},
		{"metadata":{"name":"more"},"spec":{"later":{"field":1}},"status":{"later":true}}]}`
	var read RolloutList
	if err := json.Unmarshal([]byte(list), &read); err != nil || len(read.Items) != 6 {
		t.Fatalf("%v: %+v", err, read)
	}
	faults := map[string]string{}
	for i := range read.Items {
		r := &read.Items[i]
		if faults[r.Name] = r.Spec.Fault; strings.Contains(r.Spec.Fault, "secret") {
			t.Errorf("%s: the fault has the value: %s", r.Name, r.Spec.Fault)
		}
		if diff := cmp.Diff(r, r.DeepCopyObject()); diff != "" {
			t.Errorf("%s: a copy differs: %s", r.Name, diff)
		}
	}
	if diff := cmp.Diff(map[string]string{
		"good": "", "status": "", "more": "",
		"template": "spec.template.spec.containers is of another type than expected",
		"time":     "its spec is not as expected", "list": "its spec is not as expected",
	}, faults); diff != "" {
		t.Error(diff)
	}
	if good := read.Items[0]; good.Spec.RestartAt == nil || good.Status.Replicas != 2 || !good.IsRestarting() {
		t.Errorf("%+v", good)
	}
}
