// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
)

// two returns an ExternalService with two endpoints. The second is drained.
func two() *v1.ExternalService {
	return &v1.ExternalService{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db", Generation: 2},
		Spec:       v1.ExternalServiceSpec{Endpoints: []v1.Endpoint{{Name: "primary"}, {Name: "standby", State: ptr.To(v1.EndpointDrained)}}},
		Status: v1.ExternalServiceStatus{ObservedGeneration: 2, Conditions: []metav1.Condition{
			{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Message: "1 address"}}},
	}
}

func drainOf(endpoint string, state v1.EndpointState) *Request {
	return NewDrain(inspect.Key{Kind: inspect.ExternalService, Namespace: "shop", Name: "db"}, endpoint, state)
}

func TestADrainSaysWhatItDoesAndChangesOneStateAlone(t *testing.T) {
	for name, test := range map[string]struct {
		endpoint string
		state    v1.EndpointState
		want     string
		isError  bool
	}{
		"the last one":     {"primary", v1.EndpointDrained, "nothing is published then", false},
		"drained already":  {"standby", v1.EndpointDrained, "is Drained already", true},
		"active already":   {"primary", v1.EndpointActive, "is Active already", true},
		"put back":         {"standby", v1.EndpointActive, "published again", false},
		"no such endpoint": {"other", v1.EndpointDrained, "name one of primary, standby", true},
	} {
		if said, err := drainOf(test.endpoint, test.state).verb.announce(two(), ""); (err != nil) != test.isError || !strings.Contains(said+errorText(err), test.want) {
			t.Errorf("%s: %q, %v", name, said, err)
		}
	}
	change, err := drainOf("standby", v1.EndpointActive).change(two())
	if err != nil {
		t.Fatal(err)
	}
	data, err := change.Data(nil)
	want := `[{"op":"test","path":"/spec/endpoints/1/name","value":"standby"},{"op":"add","path":"/spec/endpoints/1/state","value":"Active"}]`
	if err != nil || string(data) != want || !json.Valid(data) {
		t.Errorf("%s, %v", data, err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestADrainIsDoneWhenTheOperatorHasCarriedItOut(t *testing.T) {
	for want, change := range map[string]func(*v1.ExternalService){
		"done endpoint standby is Drained: 1 address": func(*v1.ExternalService) {},
		"pending not carried it out yet":              func(es *v1.ExternalService) { es.Generation = 3 },
		"pending the operator has not carried":        func(es *v1.ExternalService) { es.Status.Conditions = nil },
		"failed another writer":                       func(es *v1.ExternalService) { es.Spec.Endpoints = es.Spec.Endpoints[:1] },
		"failed is not ready":                         func(es *v1.ExternalService) { es.Status.Conditions[0].Status = metav1.ConditionFalse },
		"done endpoint standby is Drained": func(es *v1.ExternalService) { // as was said, nothing is published
			es.Spec.Endpoints, es.Status.Conditions[0].Status = es.Spec.Endpoints[1:], metav1.ConditionFalse
		},
		"pending carried it out yet": func(es *v1.ExternalService) {
			es.Status.Conditions = append(es.Status.Conditions, metav1.Condition{Type: v1.ConditionReconciling, Status: metav1.ConditionTrue})
		},
	} {
		es := two()
		change(es)
		expect(t, drainOf("standby", v1.EndpointDrained), es, want)
	}
}

// expect wants a state of a verdict, and a part of its text.
func expect(t *testing.T, r *Request, object client.Object, want string) {
	t.Helper()
	v := r.verb.verdict(object, object, r.Token)
	got := "pending"
	if v.Done {
		got = map[bool]string{true: "failed", false: "done"}[v.Failed]
	}
	if state, part, _ := strings.Cut(want, " "); got != state || !strings.Contains(v.Text, part) {
		t.Errorf("%s, %q, want %q", got, v.Text, want)
	}
}

func TestARotationIsDoneWhenTheNewRootIsTrusted(t *testing.T) {
	r := NewRotation("fairlead-system", "fairlead-webhook-ca", noon.Time)
	for _, test := range []struct{ rotated, rotation, want string }{
		{"", "", "pending not begun"},
		{string(r.Token), `{"phase":"Publishing"}`, "pending the phase Publishing"},
		{string(r.Token), `{"phase":"Signing"}`, "pending the phase Signing"},
		{string(r.Token), `{"phase":"Retiring"}`, "done the new root signs"},
		{string(r.Token), "", "done the new root signs"},
		{string(r.Token), "{", "pending unreadable"},
	} {
		secret := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			"fairlead.dev/rotated": test.rotated, "fairlead.dev/rotation": test.rotation}}}
		expect(t, r, secret, test.want)
	}
	under := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"fairlead.dev/rotation": `{"phase":"Signing"}`}}}
	if _, err := r.verb.announce(under, r.Token); err == nil || !strings.Contains(err.Error(), "under way (Signing)") {
		t.Error(err)
	}
}

func TestAFaultIsEndedByRemovingTheRequestThatWasRead(t *testing.T) {
	noon := metav1.NewTime(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))
	lasting := &v1.FaultStatus{Request: "BlackHole for=1h", StartTime: &noon, DeadlineTime: noon}
	ended := &v1.FaultStatus{Request: "BlackHole for=1h", StartTime: &noon, CompletionTime: &noon, Outcome: "Withdrawn", Message: "the annotation was removed"}
	r := NewFaultEnd(inspect.Key{Kind: inspect.ExternalService, Namespace: "shop", Name: "db"})
	of := func(annotation string, fault *v1.FaultStatus) *v1.ExternalService {
		es := two()
		es.Annotations, es.Status.Fault = map[string]string{v1.InjectFaultAnnotation: annotation}, fault
		return es
	}
	for name, test := range map[string]struct {
		of   *v1.ExternalService
		want string
	}{
		"none":        {of("", nil), "!it has no fault"},
		"lasts":       {of("BlackHole for=1h", lasting), `ends the fault "BlackHole for=1h", which lasts until 2026-03-02T12:00:00Z`},
		"over":        {of("BlackHole for=1h", ended), "takes back the fault"},
		"removed now": {of("", lasting), "!the operator ends the fault"},
		"not begun":   {of("BlackHole for=1h", nil), "takes back the fault"},
	} {
		said, err := r.verb.announce(test.of, "")
		if want, isError := strings.CutPrefix(test.want, "!"); (err != nil) != isError || !strings.HasPrefix(said+errorText(err), want) {
			t.Errorf("%s: %q, %v", name, said, err)
		}
	}
	change, err := r.change(of("BlackHole for=1h", lasting))
	if err != nil {
		t.Fatal(err)
	}
	data, err := change.Data(nil)
	want := `[{"op":"test","path":"/metadata/annotations/networking.fairlead.dev~1inject-fault","value":"BlackHole for=1h"},{"op":"remove","path":"/metadata/annotations/networking.fairlead.dev~1inject-fault"}]`
	if err != nil || string(data) != want {
		t.Errorf("%s, %v", data, err)
	}
	for want, now := range map[string]*v1.FaultStatus{"has not ended it yet": lasting, "(Withdrawn): the annotation was removed": ended, "no fault lasts": nil} {
		if v := r.verb.verdict(of("BlackHole for=1h", lasting), of("", now), ""); v.Done == (now == lasting) || v.Failed || !strings.Contains(v.Text, want) {
			t.Errorf("%s: %+v", want, v)
		}
	}
}
