// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
)

// NewDrain returns a request to give an endpoint of an ExternalService a state.
func NewDrain(key inspect.Key, endpoint string, state v1.EndpointState) *Request {
	d := drain{endpoint, state}
	return &Request{Key: key, verb: of(d.announce, d.verdict), edit: d.edit, edited: "the spec was changed"}
}

// drain gives an endpoint a state.
type drain struct {
	endpoint string
	state    v1.EndpointState
}

// find returns the index of the endpoint, or -1.
func (d drain) find(es *v1.ExternalService) int {
	return slices.IndexFunc(es.Spec.Endpoints, func(e v1.Endpoint) bool { return e.Name == d.endpoint })
}

func (d drain) announce(es *v1.ExternalService, _ common.Token) (string, error) {
	index := d.find(es)
	if index < 0 {
		var names []string
		for i := range es.Spec.Endpoints {
			names = append(names, es.Spec.Endpoints[i].Name)
		}
		return "", fmt.Errorf("it has no endpoint %q: name one of %s", d.endpoint, strings.Join(names, ", "))
	}
	if ptr.Deref(es.Spec.Endpoints[index].State, v1.EndpointActive) == d.state {
		return "", fmt.Errorf("endpoint %s is %s already", d.endpoint, d.state)
	}
	if d.state == v1.EndpointActive {
		return fmt.Sprintf("gives endpoint %s the state Active, so that it is published again once it is healthy and of the published priority", d.endpoint), nil
	}
	what := fmt.Sprintf("gives endpoint %s the state Drained, so that it takes no new connection until --undo", d.endpoint)
	if !d.hasOthers(es) {
		what += "; no other endpoint is Active, so that nothing is published then"
	}
	return what, nil
}

// hasOthers reports whether another endpoint is Active.
func (d drain) hasOthers(es *v1.ExternalService) bool {
	return slices.ContainsFunc(es.Spec.Endpoints, func(e v1.Endpoint) bool {
		return e.Name != d.endpoint && ptr.Deref(e.State, v1.EndpointActive) == v1.EndpointActive
	})
}

// edit tests the name, as the endpoints may have changed since the object was read.
func (d drain) edit(object client.Object) []operation {
	es, is := object.(*v1.ExternalService)
	if !is {
		return nil
	}
	path := "/spec/endpoints/" + strconv.Itoa(d.find(es))
	return []operation{{"test", path + "/name", d.endpoint}, {"add", path + "/state", d.state}}
}

// verdict is done when the operator has carried the spec out.
func (d drain) verdict(_, es *v1.ExternalService, _ common.Token) Verdict {
	index, ready := d.find(es), meta.FindStatusCondition(es.Status.Conditions, v1.ConditionReady)
	switch {
	case index < 0 || ptr.Deref(es.Spec.Endpoints[index].State, v1.EndpointActive) != d.state:
		return Verdict{true, true, fmt.Sprintf("another writer has changed endpoint %s meanwhile", d.endpoint)}
	case ready != nil && es.Status.ObservedGeneration >= es.Generation && d.state == v1.EndpointDrained && !d.hasOthers(es):
	case ready == nil || es.Status.ObservedGeneration < es.Generation ||
		meta.IsStatusConditionTrue(es.Status.Conditions, v1.ConditionReconciling):
		return Verdict{Text: "the operator has not carried it out yet"}
	case ready.Status != metav1.ConditionTrue:
		return Verdict{true, true, fmt.Sprintf("endpoint %s is %s, and the ExternalService is not ready (%s): %s", d.endpoint, d.state, ready.Reason, ready.Message)}
	}
	return Verdict{Done: true, Text: fmt.Sprintf("endpoint %s is %s: %s", d.endpoint, d.state, ready.Message)}
}
