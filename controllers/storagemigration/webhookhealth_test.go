// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package storagemigration

import (
	"errors"
	"strings"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
)

func slice(name, service string, ready ...*bool) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: "fairlead-system", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service},
	}}
	for _, r := range ready {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Conditions: discoveryv1.EndpointConditions{Ready: r}})
	}
	return s
}

func TestWebhooksAreServedWhereAnEndpointIsReadyOrThatIsUnknown(t *testing.T) {
	for name, test := range map[string]struct {
		there []runtime.Object
		want  string
	}{
		"one is ready":                      {[]runtime.Object{slice("a", "w", ptr.To(false)), slice("b", "w", ptr.To(false), ptr.To(true))}, ""},
		"nothing said counts as ready":      {[]runtime.Object{slice("a", "w", nil)}, ""},
		"none is ready":                     {[]runtime.Object{slice("a", "w", ptr.To(false))}, "no endpoint of the Service fairlead-system/w is ready"},
		"no pod at all":                     {[]runtime.Object{slice("a", "w")}, "no replica serves webhooks"},
		"only those of another Service":     {[]runtime.Object{slice("a", "other", ptr.To(false))}, ""},
		"a Service that leads out of there": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &WebhookHealth{Client: fake.NewClientset(test.there...), Namespace: "fairlead-system", Service: "w", Clock: testclock.NewFakePassiveClock(time.Now())}
			err := s.Check(t.Context())
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func TestTheServersOfWebhooksAreLookedForNowAndThen(t *testing.T) {
	client, now := fake.NewClientset(slice("a", "w", ptr.To(true))), testclock.NewFakePassiveClock(time.Now())
	asked := 0
	client.PrependReactor("list", "endpointslices", func(clienttesting.Action) (bool, runtime.Object, error) {
		if asked++; asked > 1 {
			return true, nil, errors.New("etcd is away")
		}
		return false, nil, nil
	})
	s := &WebhookHealth{Client: client, Namespace: "fairlead-system", Service: "w", Clock: now}
	for range 20 {
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	now.SetTime(now.Now().Add(webhookHealthAge + time.Second))
	if err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "etcd is away") || asked != 2 {
		t.Errorf("%v after %d questions", err, asked)
	}
}
