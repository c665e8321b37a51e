// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
)

// ca makes a Secret with the certificate of the servers's authority.
func (s *suite) ca(name string) {
	s.Helper()
	secret := &corev1.Secret{StringData: map[string]string{"ca.crt": string(s.Servers.CA.PEM())}}
	secret.Name, secret.Namespace = name, s.Namespace
	s.Must(s.Client.Create(s.Context(), secret))
}

// checked is the spec of an ExternalService of addresses on port 7000, one endpoint for each, with a
// check.
func checked(check string, addresses ...string) string {
	return `{ports: [{name: p, port: 7000}], endpoints: [` + endpoints(addresses...) + `], healthCheck: {` + check + `}}`
}

// endpoints are e0, e1 and so on, of one address each.
func endpoints(addresses ...string) string {
	var all []string
	for i, address := range addresses {
		all = append(all, fmt.Sprintf("{name: e%d, addresses: [%q]}", i, address))
	}
	return strings.Join(all, ", ")
}

// breaks waits until an address is unhealthy by a fault that its server has, for the reason given.
// Where a busy machine held up the check, the reason is that; then it is tried again.
func (s *suite) breaks(name, ip string, server *externalnet.Server, fault externalnet.Behavior, reason string) {
	s.Helper()
	well := false
	s.Eventually(func() error {
		o, err := s.outlook(name, ip)
		switch {
		case err != nil:
			return err
		case o.health == networkingv1.AddressUnhealthy && o.reason == reason && o.in && !o.ready && !o.serving:
			return nil
		case o.health == networkingv1.AddressUnhealthy && o.reason == networkingv1.ProbeTimeout && !well:
			well = true
			err = server.Set(externalnet.Behavior{})
		case o.health == networkingv1.AddressHealthy && well:
			well = false
			err = server.Set(fault)
		}
		return errors.Join(err, fmt.Errorf("%s: %s by %+v: want Unhealthy %s, and so in the slices; have %+v", name, ip, fault, reason, o))
	})
}

func TestEveryFaultMakesAnAddressUnhealthyForItsReasonUntilItIsOver(t *testing.T) {
	const slow = 10 * time.Second
	type fault struct {
		externalnet.Behavior
		reason string
	}
	refuse := fault{externalnet.Behavior{Fault: externalnet.Refuse}, networkingv1.ProbeRefused}
	drop := fault{externalnet.Behavior{Fault: externalnet.Drop}, networkingv1.ProbeTimeout}
	common := []fault{
		refuse,
		{externalnet.Behavior{Fault: externalnet.Hang}, networkingv1.ProbeTimeout},
		{externalnet.Behavior{Fault: externalnet.Reset}, networkingv1.ProbeReset},
		{externalnet.Behavior{Delay: slow}, networkingv1.ProbeTimeout},
	}
	certificates := []fault{
		{externalnet.Behavior{Fault: externalnet.WrongName}, networkingv1.ProbeCertificateMismatch},
		{externalnet.Behavior{Fault: externalnet.Expired}, networkingv1.ProbeCertificateExpired},
		{externalnet.Behavior{Fault: externalnet.UnknownIssuer}, networkingv1.ProbeCertificateUntrusted},
		{externalnet.Behavior{Fault: externalnet.Garbage}, networkingv1.ProbeTLSFailed},
	}
	garbage := fault{externalnet.Behavior{Fault: externalnet.Garbage}, networkingv1.ProbeProtocolError}
	status := []fault{
		{externalnet.Behavior{Status: http.StatusServiceUnavailable}, networkingv1.ProbeUnexpectedStatus},
		{externalnet.Behavior{Status: http.StatusNotFound}, networkingv1.ProbeUnexpectedStatus},
	}
	health := []fault{
		{externalnet.Behavior{Fault: externalnet.NotServing}, networkingv1.ProbeNotServing},
		{externalnet.Behavior{Fault: externalnet.ServiceUnknown}, networkingv1.ProbeServiceUnknown},
		{externalnet.Behavior{Fault: externalnet.Unimplemented}, networkingv1.ProbeHealthServiceMissing},
	}
	for name, c := range map[string]struct {
		check  string
		open   func(w *externalnet.Servers, at string) (*externalnet.Server, error)
		faults []fault
	}{
		"TCP": {`tcpSocket: {}`, (*externalnet.Servers).TCP, []fault{refuse, drop}},
		"HTTP": {`httpGet: {path: /healthz}`, (*externalnet.Servers).HTTP,
			slices.Concat(common, status, []fault{drop, garbage})},
		"HTTPS": {`httpGet: {path: /healthz}, tls: {caSecretName: ca}`,
			func(w *externalnet.Servers, at string) (*externalnet.Server, error) { return w.HTTPS(at) },
			slices.Concat(common, status, certificates)},
		"gRPC": {`grpc: {}`, (*externalnet.Servers).GRPC, slices.Concat(common, health, []fault{garbage})},
		"gRPC over TLS": {`grpc: {}, tls: {caSecretName: ca}`,
			func(w *externalnet.Servers, at string) (*externalnet.Server, error) { return w.GRPCTLS(at) },
			slices.Concat(common, health, certificates)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSuite(t)
			s.amongMany()
			s.ca("ca")
			var addresses []string
			var servers []*externalnet.Server
			for range len(c.faults) + 1 { // the last one stays well
				address := s.Servers.Address()
				addresses = append(addresses, address)
				servers = append(servers, s.server(c.open(s.Servers, address+":7000")))
			}
			well := addresses[len(c.faults)]
			s.apply("checked", checked(c.check+", "+often, addresses...))
			s.healthy("checked", addresses...)
			s.condition("checked", networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
			for i, f := range c.faults {
				s.set(f.Behavior, servers[i])
			}
			for i, f := range c.faults {
				s.breaks("checked", addresses[i], servers[i], f.Behavior, f.reason)
			}
			s.publishes("checked", well)
			s.condition("checked", networkingv1.ConditionHealthy, metav1.ConditionFalse, networkingv1.ReasonDegraded)
			s.condition("checked", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
			s.set(externalnet.Behavior{}, servers...)
			s.healthy("checked", addresses...)
			s.condition("checked", networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
		})
	}
}

func TestAProbeAsksForTheNameAndThePathAndFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.amongMany()
	s.ca("ca")
	opened := map[string]*externalnet.Server{}
	specs := map[string]string{}
	canary := s.Servers.Address() + ":7001"
	elsewhere := s.server(s.Servers.HTTP(canary))
	for name, c := range map[string]struct {
		open  func(at, host string) (*externalnet.Server, error)
		check string
	}{
		"plain":  {func(at, _ string) (*externalnet.Server, error) { return s.Servers.HTTP(at) }, `httpGet: {path: "/live?deep=1"}`},
		"secure": {func(at, host string) (*externalnet.Server, error) { return s.Servers.HTTPS(at, host) }, `httpGet: {}, tls: {caSecretName: ca}`},
		"grpc":   {func(at, host string) (*externalnet.Server, error) { return s.Servers.GRPCTLS(at, host) }, `grpc: {service: shop}, tls: {caSecretName: ca}`},
		"other": {func(at, _ string) (*externalnet.Server, error) { return s.Servers.HTTPS(at, "real.example.org") },
			`httpGet: {hostHeader: shop.example.org}, tls: {caSecretName: ca, serverName: real.example.org}`},
	} {
		address := s.Servers.Address()
		s.Must(s.Servers.DNS.Addresses(s.host(name), time.Minute, address))
		opened[name] = s.server(c.open(address+":7000", s.host(name)))
		specs[name] = `{ports: [{name: p, port: 443, targetPort: 7000}], endpoints: [{name: a, dns: {name: ` + s.host(name) + `}}],
			healthCheck: {` + c.check + `, ` + often + `}}`
	}
	s.set(externalnet.Behavior{Redirect: "http://" + canary + "/"}, opened["plain"])
	s.applyAll(specs)
	for name, want := range map[string]externalnet.Request{
		"plain":  {Method: "GET", Host: s.host("plain") + ":7000", Path: "/live?deep=1"},
		"secure": {Method: "GET", Host: s.host("secure") + ":7000", Path: "/", ServerName: s.host("secure")},
		"grpc":   {Method: "/grpc.health.v1.Health/Check", Host: s.host("grpc"), Path: "shop", ServerName: s.host("grpc")},
		"other":  {Method: "GET", Host: "shop.example.org", Path: "/", ServerName: "real.example.org"},
	} {
		// A redirect is a good answer as long as nothing else is expected.
		s.condition(name, networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
		got := opened[name].Counts().Latest[0]
		if !strings.HasPrefix(got.UserAgent, "fairlead-probe/") {
			t.Errorf("%s: the probe says it is %q", name, got.UserAgent)
		}
		got.Time, got.UserAgent = time.Time{}, ""
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: request (-want +got):\n%s", name, diff)
		}
	}
	if n := elsewhere.Counts().Connections; n != 0 {
		t.Errorf("where the redirect points to, %d connections came", n)
	}
}

func TestExpectedStatusesAreTheOnlyGoodOnes(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.amongMany()
	statuses := []int{200, 204, 299, 301, 401, 404, 500}
	var addresses []string
	for _, status := range statuses {
		address := s.Servers.Address()
		s.set(externalnet.Behavior{Status: status}, s.server(s.Servers.HTTP(address+":7000")))
		addresses = append(addresses, address)
	}
	s.applyAll(map[string]string{
		"usual":   checked(`httpGet: {}, `+often, addresses...),
		"ranges":  checked(`httpGet: {expectedStatuses: [{start: 204, end: 299}, {start: 401, end: 401}]}, `+often, addresses...),
		"nothing": checked(`httpGet: {expectedStatuses: [{start: 599, end: 599}]}, `+often, addresses...),
	})
	for i, status := range statuses {
		for name, good := range map[string]bool{
			"usual": status < 400, "ranges": status == 204 || status == 299 || status == 401, "nothing": false,
		} {
			if good {
				s.healthy(name, addresses[i])
			} else {
				s.becomes(name, addresses[i], networkingv1.AddressUnhealthy, networkingv1.ProbeUnexpectedStatus)
			}
		}
	}
	s.condition("nothing", networkingv1.ConditionHealthy, metav1.ConditionFalse, networkingv1.ReasonNoneHealthy)
	s.condition("nothing", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
}

func TestHealthTurnsOnlyAfterSoManyResultsInARow(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.amongMany()
	address := s.Servers.Address()
	server := s.scripted(address+":7000", true)
	s.apply("counted", checked(`httpGet: {}, interval: 2s, unhealthyInterval: 2s, timeout: 2s, jitterPercent: 0, failureThreshold: 3, successThreshold: 2`, address))
	s.healthy("counted", address)
	s.Tells("ExternalService", "counted", "Published", 1)
	before := s.versions("counted")

	server.play("--+--+")
	s.Eventually(server.played)
	if diff := cmp.Diff(before, s.versions("counted")); diff != "" {
		t.Errorf("two failures of three have changed something (-before +now):\n%s", diff)
	}
	server.play("---")
	s.becomes("counted", address, networkingv1.AddressUnhealthy, networkingv1.ProbeUnexpectedStatus)
	s.Must(server.played()) // not before the third

	s.condition("counted", networkingv1.ConditionHealthy, metav1.ConditionFalse, networkingv1.ReasonNoneHealthy)
	s.Tells("ExternalService", "counted", "EndpointUnhealthy", 1)
	down := s.versions("counted")
	server.play("+-+-")
	s.Eventually(server.played)
	if diff := cmp.Diff(down, s.versions("counted")); diff != "" {
		t.Errorf("one success of two has changed something (-before +now):\n%s", diff)
	}
	server.play("++")
	s.healthy("counted", address)
	s.Must(server.played())
	s.Tells("ExternalService", "counted", "EndpointHealthy", 1)
}

func TestTheFirstResultDecidesAlone(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.amongMany()
	good, bad := s.Servers.Address(), s.Servers.Address()
	up, down := s.server(s.Servers.HTTP(good+":7000")), s.server(s.Servers.HTTP(bad+":7000"))
	s.set(externalnet.Behavior{Status: 500}, down)
	const slowly = `httpGet: {}, interval: 5m, unhealthyInterval: 5m, timeout: 30s, failureThreshold: 100, successThreshold: 100`
	s.apply("first", checked(slowly, good, bad))
	s.healthy("first", good)
	s.becomes("first", bad, networkingv1.AddressUnhealthy, networkingv1.ProbeUnexpectedStatus)
	if a, b := up.Counts().Requests, down.Counts().Requests; a != 1 || b != 1 {
		t.Errorf("%d and %d requests were made, want one each", a, b)
	}
}

func TestANewAddressIsNotReadyBeforeItsFirstSuccess(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.amongMany()
	host, old, next := s.host("growing"), s.Servers.Address(), s.Servers.Address()
	s.scripted(old+":7000", true)
	waits := s.scripted(next+":7000", true)
	release := waits.hold()
	s.Must(s.Servers.DNS.Addresses(host, time.Second, old))
	s.apply("growing", `{ports: [{name: p, port: 7000}], endpoints: [{name: a, dns: {name: `+host+`}}], `+hasten+`,
		healthCheck: {httpGet: {}, interval: 5m, timeout: 4m, unhealthyInterval: 1s}}`)
	s.healthy("growing", old)
	s.Must(s.Servers.DNS.Addresses(host, time.Second, old, next))
	o := s.becomes("growing", next, networkingv1.AddressUnknown, "")
	if o.ready || o.serving {
		t.Errorf("%s was never checked and is %+v", next, o)
	}
	s.publishes("growing", old)
	s.condition("growing", networkingv1.ConditionHealthy, metav1.ConditionFalse, networkingv1.ReasonDegraded)
	release()
	s.healthy("growing", next)
	s.publishes("growing", old, next)
}

func TestNothingThatTheOtherSideSendsIsShown(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.amongMany()
	const marker = "zq7marker"
	type unwell struct{ address, reason string }
	broken := map[string]unwell{}
	specs := map[string]string{}
	for name, c := range map[string]struct {
		open   func(at string)
		check  string
		reason string
	}{
		"http": {func(at string) {
			s.blurts(s.listen(at), "HTTP/1.1 500 "+marker+"\r\nX-"+marker+": "+marker+"\r\nLocation: http://"+marker+"/\r\n\r\n"+marker)
		}, `httpGet: {}`, networkingv1.ProbeUnexpectedStatus},
		"garbage": {func(at string) { s.blurts(s.listen(at), marker+" "+marker+"\r\n\r\n") }, `httpGet: {}`, networkingv1.ProbeProtocolError},
		"tls": {func(at string) {
			certificate, err := s.Servers.CA.Issue(time.Now().Add(time.Hour), marker+".example.org")
			s.Must(err)
			s.blurts(tls.NewListener(s.listen(at), &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12}), marker)
		}, `httpGet: {}, tls: {caSecretName: ca}`, networkingv1.ProbeCertificateMismatch},
		"plain": {func(at string) { s.blurts(s.listen(at), marker) }, `httpGet: {}, tls: {caSecretName: ca}`, networkingv1.ProbeTLSFailed},
		"grpc":  {func(at string) { s.says(s.listen(at), marker) }, `grpc: {}`, networkingv1.ProbeNotServing},
	} {
		address := s.Servers.Address()
		c.open(address + ":7000")
		specs[name], broken[name] = checked(c.check+`, `+often, address), unwell{address, c.reason}
	}
	names := map[string]string{
		"gone":   networkingv1.ReasonNXDomain,
		"inside": networkingv1.ReasonDenied,
	}
	for name, target := range map[string]string{"gone": marker + ".example.org.", "inside": marker + ".default.svc.cluster.local."} {
		s.Must(s.Servers.DNS.Reply(s.host(name), externalnet.CNAME, externalnet.Reply{Data: []string{target}}))
		specs[name] = named(s.host(name), hasten)
	}
	s.ca("ca")
	s.applyAll(specs)
	for name, reason := range names {
		s.condition(name, networkingv1.ConditionResolved, metav1.ConditionFalse, reason)
		s.Tells("ExternalService", name, "ResolveFailed", 1)
	}
	for name, is := range broken {
		s.becomes(name, is.address, networkingv1.AddressUnhealthy, is.reason)
		s.Tells("ExternalService", name, "EndpointUnhealthy", 1)
	}
	for what, shown := range map[string]string{
		"an object": s.Kubectl("get", "externalservices,services,endpointslices,events", "-o", "yaml"),
		"a metric":  s.Figures(),
	} {
		if strings.Contains(strings.ToLower(shown), marker) {
			t.Errorf("%s holds what the other side has sent:\n%s", what, shown)
		}
	}
	for _, replica := range s.Running() {
		lines, err := replica.Logs()
		s.Must(err)
		for line := range strings.Lines(lines) {
			if strings.Contains(strings.ToLower(line), marker) {
				t.Errorf("%s logs what the other side has sent: %s", replica.ID, line)
			}
		}
	}
}

func TestACheckWaitsForItsCertificates(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.amongMany()
	address := s.Servers.Address()
	s.server(s.Servers.HTTPS(address + ":7000"))
	s.apply("secure", checked(`httpGet: {}, tls: {caSecretName: ca}, `+often, address))
	s.condition("secure", networkingv1.ConditionHealthy, metav1.ConditionUnknown, networkingv1.ReasonSecretUnavailable)
	if published := s.published("secure"); len(published) > 0 {
		t.Errorf("%q is ready, and was never checked", published)
	}
	s.ca("ca")
	s.healthy("secure", address)
	s.condition("secure", networkingv1.ConditionHealthy, metav1.ConditionTrue, networkingv1.ReasonAllHealthy)
}
