// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

func trusting(secret string) *networkingv1.ExternalService {
	es := with(outside)
	es.Spec.HealthCheck = &networkingv1.HealthCheck{Check: common.Check{TLS: &common.CheckTLS{CASecretName: secret}}}
	return es
}

func TestASecretIsReadOnlyForThoseWhoMay(t *testing.T) {
	for name, test := range map[string]struct {
		user     string
		obj, old *networkingv1.ExternalService
		refused  bool
		asked    int
	}{
		"create, with the right": {ann, trusting("ca"), nil, false, 1},
		"create, without":        {eve, trusting("ca"), nil, true, 1},
		"none":                   {eve, trusting(""), nil, false, 0},
		"unchanged":              {eve, trusting("ca"), trusting("ca"), false, 0},
		"changed, without":       {eve, trusting("other"), trusting("ca"), true, 1},
		"added, without":         {eve, trusting("ca"), with(outside), true, 1},
		"removed":                {eve, with(outside), trusting("ca"), false, 0},
		"resumed, without":       {eve, trusting("ca"), suspended(trusting("ca")), true, 1},
		"suspended":              {eve, suspended(trusting("ca")), trusting("ca"), false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite()
			_, _, errs, err := s.admit(t, request(test.user, test.old != nil), test.obj, test.old, nil)
			if err != nil || (len(errs) > 0) != test.refused || len(s.rights.Rights) != test.asked {
				t.Fatalf("refused %v, %v, after %v", errs, err, s.rights.Rights)
			}
			if !test.refused {
				return
			}
			if errs[0].Field != "spec.healthCheck.tls.caSecretName" || !strings.Contains(errs[0].Error(), `"eve"`) || !strings.Contains(errs[0].Error(), "ask for the right") {
				t.Errorf("%v", errs)
			}
			want := authorizationv1.ResourceAttributes{Namespace: "shop", Verb: "get", Version: "v1", Resource: "secrets", Name: test.obj.Spec.HealthCheck.TLS.CASecretName}
			if diff := cmp.Diff(want, s.rights.Rights[0]); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// sending is an object whose check presents credentials at an address.
func sending(address networkingv1.IPAddress, steps ...common.TCPStep) *networkingv1.ExternalService {
	es := with(outside)
	es.Spec.Endpoints[0].Addresses = []networkingv1.IPAddress{address}
	es.Spec.HealthCheck = &networkingv1.HealthCheck{Check: common.Check{
		TCPSocket: &common.TCPSocketAction{Steps: steps}, TLS: &common.CheckTLS{ClientCertificateSecretName: "client"},
	}}
	return es
}

func TestACredentialIsSentElsewhereOnlyForThoseWhoMayReadIt(t *testing.T) {
	const own, other = "192.0.2.50", "192.0.2.51"
	login := common.TCPStep{SendFrom: &common.SendSource{SecretKeyRef: common.SecretKeyReference{Name: "login", Key: "password"}}}
	before := func() *networkingv1.ExternalService { return sending(own, login, login) }
	edited := func(edit func(*networkingv1.ExternalService)) *networkingv1.ExternalService {
		es := before()
		edit(es)
		return es
	}
	for name, test := range map[string]struct {
		obj, old *networkingv1.ExternalService
		fields   []string
	}{
		"create":          {before(), nil, []string{"tls.clientCertificateSecretName", "tcpSocket.steps[0].sendFrom.secretKeyRef"}},
		"unchanged":       {before(), before(), nil},
		"another address": {sending(other, login, login), before(), []string{"tls.clientCertificateSecretName", "tcpSocket.steps[0].sendFrom.secretKeyRef"}},
		"another port":    {edited(func(es *networkingv1.ExternalService) { es.Spec.Ports[0].Port++ }), before(), []string{"tls.clientCertificateSecretName", "tcpSocket.steps[0].sendFrom.secretKeyRef"}},
		"any certificate": {edited(func(es *networkingv1.ExternalService) { es.Spec.HealthCheck.TLS.InsecureSkipVerify = ptr.To(true) }), before(), []string{"tls.clientCertificateSecretName", "tcpSocket.steps[0].sendFrom.secretKeyRef"}},
		"drained": {edited(func(es *networkingv1.ExternalService) {
			es.Spec.Endpoints[0].State = ptr.To(networkingv1.EndpointDrained)
		}), before(), nil},
		"another interval":      {edited(func(es *networkingv1.ExternalService) { es.Spec.HealthCheck.Interval = ptr.To(common.Duration("20s")) }), before(), nil},
		"resumed":               {before(), suspended(before()), []string{"tls.clientCertificateSecretName", "tcpSocket.steps[0].sendFrom.secretKeyRef"}},
		"the steps are removed": {sending(own), before(), []string{"tls.clientCertificateSecretName"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite()
			_, errs := s.Validate(t.Context(), request(eve, test.old != nil), test.obj, test.old)
			var fields []string
			for _, err := range errs {
				fields = append(fields, strings.TrimPrefix(err.Field, "spec.healthCheck."))
			}
			if diff := cmp.Diff(test.fields, fields); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
		})
	}
}

func TestASecretIsRefusedWithoutAnAnswer(t *testing.T) {
	s := newSuite()
	s.rights.Err = errors.New("no route to host")
	_, errs := s.Validate(t.Context(), request(ann, false), trusting("ca"), nil)
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "no route to host") || !strings.Contains(errs[0].Error(), "try again") {
		t.Errorf("%v", errs)
	}
}

func TestAFaultIsInjectedOnlyForThoseWhoMay(t *testing.T) {
	const now, later = "BlackHole for=10m at=2026-03-02T14:00:00Z", "BlackHole for=10m at=2026-03-02T15:00:00Z"
	asking := func(value string) *networkingv1.ExternalService {
		es := with(outside)
		es.Annotations = map[string]string{networkingv1.InjectFaultAnnotation: value}
		return es
	}
	for name, test := range map[string]struct {
		user     string
		obj, old *networkingv1.ExternalService
		err      error
		refused  string
		asked    int
	}{
		"create, with the right": {ann, asking(now), nil, nil, "", 1},
		"create, without":        {eve, asking(now), nil, nil, "may not update endpointslices", 1},
		"added, without":         {eve, asking(now), with(outside), nil, "may not update endpointslices", 1},
		"changed, without":       {eve, asking(later), asking(now), nil, "may not update endpointslices", 1},
		"unchanged":              {eve, asking(now), asking(now), nil, "", 0},
		"removed":                {eve, with(outside), asking(now), nil, "", 0},
		"without a reply":        {ann, asking(now), nil, errors.New("no route to host"), "no route to host", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite()
			s.rights.Err = test.err
			_, errs := s.Validate(t.Context(), request(test.user, test.old != nil), test.obj, test.old)
			if len(s.rights.Rights) != test.asked || (len(errs) > 0) != (test.refused != "") {
				t.Fatalf("refused %v, after %v", errs, s.rights.Rights)
			}
			if test.refused != "" && (errs[0].Field != "metadata.annotations[networking.fairlead.dev/inject-fault]" || !strings.Contains(errs[0].Error(), test.refused)) {
				t.Errorf("%v", errs)
			}
			want := authorizationv1.ResourceAttributes{Namespace: "shop", Verb: "update", Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}
			if test.asked > 0 && s.rights.Rights[0] != want {
				t.Errorf("asked %+v", s.rights.Rights[0])
			}
		})
	}
}
