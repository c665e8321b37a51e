// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

func TestWhyCallsAnAddressReadyOnlyWhereASliceOfTheServiceDoes(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*server)
		first  string // of 192.0.2.1, which is ready by the status
		second string // of 192.0.2.2, which is not
	}{
		"as the status says":     {func(*server) {}, ", published as ready.", ", not ready, as its check fails."},
		"no Service":             {func(s *server) { s.objects["services"] = nil }, "takes no traffic, as the Service does not exist", "takes no traffic, as the Service does not exist"},
		"no slice":               {func(s *server) { s.objects["endpointslices"] = nil }, "no EndpointSlice of the Service lists it as ready", "not ready, as its check fails"},
		"not ready in the slice": {func(s *server) { s.objects["endpointslices"] = []client.Object{sliceOf("sql")} }, "no EndpointSlice of the Service lists it as ready", "not ready, as its check fails"},
		"another port in the slice": {func(s *server) { s.objects["endpointslices"] = []client.Object{sliceOf("mysql", "192.0.2.1")} },
			`takes no traffic at port "sql" of the Service`, "not ready, as its check fails"},
		"one that fails is ready": {func(s *server) {
			s.objects["endpointslices"] = []client.Object{sliceOf("sql", "192.0.2.1", "192.0.2.2")}
		},
			", published as ready.", "published as ready, although by its status not ready, as its check fails"},
		"slices that may not be read": {func(s *server) { s.refuse["endpointslices"] = forbidden("endpointslices") },
			"by its status published as ready", "by its status not ready"},
	} {
		t.Run(name, func(t *testing.T) {
			s := shop(autorebootv1.ReasonCooldown)
			s.refuse = map[string]*apierrors.StatusError{}
			c.change(s)
			text := explained(t, s, Key{ExternalService, "shop", "db"})
			first, second, found := strings.Cut(text, "Address 192.0.2.2")
			if !found || !strings.Contains(first, c.first) || !strings.Contains(second, c.second) {
				t.Errorf("does not say %q and %q:\n%s", c.first, c.second, text)
			}
		})
	}
}

func TestWhySaysThatADrainedEndpointIsNotChecked(t *testing.T) {
	s := shop(autorebootv1.ReasonCooldown)
	drained := database()
	drained.Spec.Endpoints[0].State = ptr.To(networkingv1.EndpointDrained)
	drained.Status.Endpoints[0].Addresses[0].Health, drained.Status.Endpoints[0].Addresses[0].Reason = "", ""
	s.objects["externalservices"] = []client.Object{drained}
	text := explained(t, s, Key{ExternalService, "shop", "db"})
	want(t, text, "It is not checked")
	if strings.Contains(text, "Checked by") {
		t.Errorf("it claims a check:\n%s", text)
	}
}
