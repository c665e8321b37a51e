// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/test/soak/counters"
)

// status is how the API server words what it did not do.
func status(message string) []byte {
	return fmt.Appendf(nil, `{"kind":"Status","apiVersion":"v1","message":%q}`, message)
}

func TestVerdictsOfAnswers(t *testing.T) {
	found := []byte(`{"apiVersion":"networking.fairlead.dev/v1alpha1","kind":"ExternalService","metadata":{"name":"es-1-2"},"spec":{"ports":[]}}`)
	read := wanted{codes: []int{http.StatusOK}, holds: is("networking.fairlead.dev/v1alpha1", "ExternalService", "es-1-2")}
	refusal := wanted{codes: []int{http.StatusUnprocessableEntity}, says: []string{"spec.target.selector"}}
	for name, c := range map[string]struct {
		wanted wanted
		answer answer
		want   counters.Outcome
		reason string
	}{
		"what was asked for": {read, answer{code: 200, body: found}, counters.OK, ""},
		"another version": {
			wanted{codes: []int{200}, holds: is("networking.fairlead.dev/v1", "ExternalService", "es-1-2")},
			answer{code: 200, body: found}, counters.Failed, "asked for networking.fairlead.dev/v1 ExternalService …, got networking.fairlead.dev/v1alpha1",
		},
		"without a spec": {
			read, answer{code: 200, body: []byte(`{"apiVersion":"networking.fairlead.dev/v1alpha1","kind":"ExternalService","metadata":{"name":"es-1-2"}}`)},
			counters.Failed, "a spec of 0 fields",
		},
		"the refusal that was wanted": {
			refusal, answer{code: 422, body: status(`admission webhook "x" denied the request: spec.target.selector: Invalid value`)}, counters.OK, "",
		},
		"a refusal for another reason": {
			refusal, answer{code: 422, body: status(`admission webhook "x" denied the request: spec.count: Invalid value`)}, counters.Failed, "422 admission webhook",
		},
		"a refusal by another webhook": {
			refusal, answer{code: 422, body: status("spec.target.selector: Invalid value")}, counters.Failed, "422 spec.target.selector",
		},
		"what must be refused is taken": {refusal, answer{code: 201, body: found}, counters.Failed, "201"},
		"an object that is gone":        {read, answer{code: 404, body: status("not found")}, counters.Failed, "404 not found"},
		"a conversion that failed": {
			read, answer{code: 500, body: status("conversion webhook for networking.fairlead.dev/v1, Kind=ExternalService failed: Post \"https://x.svc:23456/convert\": EOF")},
			counters.Failed, "conversion webhook for networking.fairlead.dev/v1, Kind=ExternalService failed: Post \"https://x.svc:…/convert\": EOF",
		},
		"a webhook that was not reached": {
			read, answer{code: 500, body: status(`failed calling webhook "x": dial tcp 127.0.0.1:28123: connect: connection refused`)},
			counters.Failed, `failed calling webhook "x": dial tcp 127.0.0.1:…: connect: connection refused`,
		},
		"a webhook that says later": {
			read, answer{code: 503, body: status(`admission webhook "x" denied the request: externalservice soak/a: SubjectAccessReview`)}, counters.Failed, "503",
		},
		"etcd is away":           {read, answer{code: 500, body: status("etcdserver: request timed out")}, counters.Unavailable, "500 etcdserver"},
		"the API server is away": {read, answer{err: errors.New("connect: connection refused")}, counters.Unavailable, "connection refused"},
		"later":                  {read, answer{code: 429, body: status("storage is (re)initializing")}, counters.Deferred, "429"},
	} {
		t.Run(name, func(t *testing.T) {
			got, reason := judge(c.wanted, c.answer)
			if got != c.want || !strings.Contains(reason, c.reason) {
				t.Errorf("outcome %d for %q, want %d for %q", got, reason, c.want, c.reason)
			}
		})
	}
}

func TestAListMustHoldEveryObject(t *testing.T) {
	const version = "networking.fairlead.dev/v1alpha1"
	body := func(itemVersion string) []byte {
		return fmt.Appendf(nil, `{"apiVersion":%q,"items":[{"apiVersion":%[2]q,"metadata":{"name":"a"}},{"apiVersion":%[2]q,"metadata":{"name":"b"}}]}`, version, itemVersion)
	}
	for _, c := range []struct {
		names []string
		item  string
		want  string
	}{
		{nil, version, ""},
		{[]string{"b", "a"}, version, ""},
		{[]string{"a", "c"}, version, "lacks c"},
		{nil, "networking.fairlead.dev/v1", "has an item at networking.fairlead.dev/v1"},
	} {
		err := lists(version, c.names)(body(c.item))
		if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) {
			t.Errorf("a list for %v: %v, want %q", c.names, err, c.want)
		}
	}
}

func TestAnnotatingLeavesWhatWasReadAsItIs(t *testing.T) {
	read := object{"kind": "ChaosPod", "metadata": map[string]any{"name": "a", "resourceVersion": "7", "annotations": map[string]any{"keep": "it"}}}
	want := object{"kind": "ChaosPod", "metadata": map[string]any{"name": "a", "resourceVersion": "7", "annotations": map[string]any{"keep": "it", turnAnnotation: "12"}}}
	if diff := cmp.Diff(want, annotate(read, 12)); diff != "" {
		t.Error(diff)
	}
	if len(read["metadata"].(map[string]any)["annotations"].(map[string]any)) != 1 {
		t.Error("what was read has changed")
	}
}

func TestReasonsAreBounded(t *testing.T) {
	if got := general(strings.Repeat("µ", 4000)); len(got) > 410 || !strings.HasSuffix(got, "…") {
		t.Errorf("%d bytes: %.40s", len(got), got)
	}
}
