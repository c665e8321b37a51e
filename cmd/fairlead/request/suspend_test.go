// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
)

func suspendOrResume(t *testing.T, suspend bool) *Request {
	t.Helper()
	r, err := NewSuspend(inspect.Key{Kind: inspect.RebootPolicy, Namespace: "shop", Name: "web"}, suspend)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestASuspensionSaysWhatItDoesAndSetsOneFieldAlone(t *testing.T) {
	made := &autorebootv1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{
		APIVersion: autorebootv1.GroupVersion.String(), Kind: inspect.ClusterRebootPolicy, Name: "all", Controller: ptr.To(true)}}}}
	halted := &chaosv1.ChaosPod{Status: chaosv1.ChaosPodStatus{Halt: &common.Halt{Reason: "NotSurvived"}}}
	for name, test := range map[string]struct {
		suspend bool
		of      client.Object
		want    string
		isError bool
	}{
		"suspend":         {true, &autorebootv1.RebootPolicy{}, "sets spec.suspend to true: the operator starts no restart", false},
		"suspend a chaos": {true, halted, "starts no run", false},
		"resume":          {false, two(), "it is not suspended", true},
		"resume a halt":   {false, halted, "has halted (NotSurvived): retry it", true},
		"of a cluster":    {true, made, "set spec.template.spec.suspend there", true},
	} {
		if said, err := suspendOrResume(t, test.suspend).verb.announce(test.of, ""); (err != nil) != test.isError || !strings.Contains(said+errorText(err), test.want) {
			t.Errorf("%s: %q, %v", name, said, err)
		}
	}
	change, err := suspendOrResume(t, false).change(&autorebootv1.RebootPolicy{})
	if err != nil {
		t.Fatal(err)
	}
	if data, err := change.Data(nil); err != nil || string(data) != `[{"op":"add","path":"/spec/suspend","value":false}]` {
		t.Errorf("%s, %v", data, err)
	}
	for kind, want := range map[string]string{inspect.ClusterRebootPolicy: "spec.template.spec.suspend", "Deployment": "name an ExternalService"} {
		if _, err := NewSuspend(inspect.Key{Kind: kind}, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestASuspensionIsDoneWhenTheOperatorHasObservedIt(t *testing.T) {
	for want, change := range map[string]func(*autorebootv1.RebootPolicy){
		"done it is suspended":                func(*autorebootv1.RebootPolicy) {},
		"pending not carried it out yet":      func(p *autorebootv1.RebootPolicy) { p.Generation = 3 },
		"pending the operator has not":        func(p *autorebootv1.RebootPolicy) { p.Status.Conditions = nil },
		"failed another writer has changed s": func(p *autorebootv1.RebootPolicy) { p.Spec.Suspend = nil },
	} {
		p := &autorebootv1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
		p.Spec.Suspend, p.Status.ObservedGeneration = ptr.To(true), 2
		p.Status.Conditions = []metav1.Condition{{Type: common.ConditionSuspended, Status: metav1.ConditionTrue}}
		change(p)
		expect(t, suspendOrResume(t, true), p, want)
	}
}
