// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// requests is a verification by what clients of a workload ask at an address outside.
func requests(address, more string) string {
	return "verification: {soak: 5s, probes: [{name: shop, host: " + address + ", httpGet: {port: 8080, path: /cart}, interval: 500ms, timeout: 500ms}]" + more + "}"
}

// record returns the latest record of a policy once it has n, with its counts.
func (s *suite) record(name string, n int, result, reason string) autorebootv1.RestartRecord {
	s.Helper()
	record := s.ended(name, n)[0]
	if record.Result != result || record.Reason != reason || record.Requests == nil {
		s.Fatalf("want %s, %s and counts: %s", result, reason, framework.Text(record))
	}
	return record
}

// failing waits until the status of a restart in flight has requests that failed.
func (s *suite) failing(name string) {
	s.Helper()
	s.shows(name, func(st autorebootv1.RebootPolicyStatus) error {
		for _, f := range st.InFlight {
			if len(f.Probes) == 1 && f.Probes[0].Failed > 0 {
				return nil
			}
		}
		return fmt.Errorf("no request failed")
	})
}

// requestCases show the fields of verification.probes.
func requestCases() []fieldCase {
	const of = "verification.probes."
	verified := func(s *suite, soak string, probes ...string) autorebootv1.RestartRecord {
		s.Helper()
		s.set("p", "{suspend: false, verification: {soak: "+soak+", probes: ["+strings.Join(probes, ", ")+"]}}")
		s.secret("creds", "password", "second")
		return s.record("p", 1, autorebootv1.ResultSucceeded, autorebootv1.ReasonStayedAvailable)
	}
	suspended := web + onConfig + ", suspend: true"
	return []fieldCase{
		{fields: []string{of + "tcpSocket.port", of + "grpc.port", of + "grpc.service", of + "grpc.authority", of + "name", of + "host"}, spec: suspended, acts: func(s *suite) {
			address := s.Servers.Address()
			tcp, grpc := s.server(s.Servers.TCP(address+":7000")), s.server(s.Servers.GRPC(address+":7001"))
			verified(s, "2s", "{name: tcp, host: "+address+", tcpSocket: {port: 7000}}",
				"{name: grpc, host: "+address+", grpc: {port: 7001, service: shop, authority: shop.example.org}}")
			if latest := grpc.Counts().Latest; len(latest) == 0 || latest[0].Path != "shop" || latest[0].Host != "shop.example.org" || tcp.Counts().Connections == 0 {
				s.Errorf("requests %+v, %d connections", latest, tcp.Counts().Connections)
			}
		}},
		{fields: []string{of + "httpGet.port", of + "httpGet.path", of + "httpGet.scheme", of + "httpGet.hostHeader", of + "tls.serverName", of + "tls.caSecretName", of + "tls.insecureSkipVerify"}, spec: suspended, acts: func(s *suite) {
			address := s.Servers.Address()
			named, other := s.server(s.Servers.HTTPS(address+":7000", "shop.example.org")), s.server(s.Servers.HTTPS(address+":7001", "other.example.org"))
			s.secret("ca", "ca.crt", string(s.Servers.CA.PEM()))
			verified(s, "2s", "{name: named, host: "+address+", httpGet: {port: 7000, path: /live, scheme: HTTPS, hostHeader: www.example.org}, tls: {serverName: shop.example.org, caSecretName: ca}}",
				"{name: other, host: "+address+", httpGet: {port: 7001}, tls: {insecureSkipVerify: true}}")
			if latest := named.Counts().Latest; len(latest) == 0 || latest[0].Path != "/live" || latest[0].Host != "www.example.org" || latest[0].ServerName != "shop.example.org" || other.Counts().Requests == 0 {
				s.Errorf("requests %+v and %d", latest, other.Counts().Requests)
			}
		}},
		{fields: []string{of + "httpGet.httpHeaders.name", of + "httpGet.httpHeaders.value", of + "httpGet.expectedStatuses.start", of + "httpGet.expectedStatuses.end"}, spec: suspended, acts: func(s *suite) {
			address := s.Servers.Address()
			seen := s.headers(address + ":7000")
			s.Must(s.server(s.Servers.HTTP(address + ":7001")).Set(externalnet.Behavior{Status: 404}))
			verified(s, "2s", "{name: a, host: "+address+", httpGet: {port: 7000, httpHeaders: [{name: X-Tenant, value: shop}]}}",
				"{name: b, host: "+address+", httpGet: {port: 7001, expectedStatuses: [{start: 404, end: 404}]}}")
			if got := (<-seen).Get("X-Tenant"); got != "shop" {
				s.Errorf("X-Tenant is %q", got)
			}
		}},
		{fields: []string{of + "tcpSocket.steps.send", of + "tcpSocket.steps.expect", of + "httpGet.method", of + "httpGet.expectedBody"}, spec: suspended, acts: func(s *suite) {
			address := s.Servers.Address()
			redis, patroni := s.member(externalnet.Redis(address+":7000", "master", "", nil)), s.member(externalnet.Patroni(address+":7001", "primary"))
			verified(s, "2s", "{name: redis, host: "+address+`, tcpSocket: {port: 7000, steps: [{send: 'ROLE\r\n', expect: master}]}}`,
				"{name: head, host: "+address+", httpGet: {port: 7001, path: /primary, method: HEAD}}",
				"{name: body, host: "+address+`, httpGet: {port: 7001, path: /health, expectedBody: '"role": "primary"'}}`)
			if got := append(redis.Received(), patroni.Received()...); !slices.Contains(got, "ROLE") || !slices.Contains(got, "HEAD /primary") || !slices.Contains(got, "GET /health") {
				s.Errorf("received %q", got)
			}
		}},
		{fields: []string{of + "tcpSocket.steps.sendFrom.prefix", of + "tcpSocket.steps.sendFrom.suffix", of + "tcpSocket.steps.sendFrom.secretKeyRef.name",
			of + "tcpSocket.steps.sendFrom.secretKeyRef.key", of + "tls.clientCertificateSecretName"}, spec: suspended, acts: func(s *suite) { // these send no credentials
			for probe, wanted := range map[string]string{
				`tcpSocket: {port: 7000, steps: [{sendFrom: {prefix: a, suffix: b, secretKeyRef: {name: login, key: password}}}]}`: "use send, or leave the step out",
				`httpGet: {port: 7000}, tls: {clientCertificateSecretName: login}`:                                                 "leave clientCertificateSecretName out",
			} {
				err := s.TryMerge(autorebootv1.GroupVersion.String(), "RebootPolicy", "p", "{spec: {verification: {probes: [{name: a, host: 192.0.2.1, "+probe+"}]}}}")
				if err == nil || !strings.Contains(err.Error(), wanted) {
					s.Errorf("%s: %v", probe, err)
				}
			}
		}},
		{fields: []string{of + "interval", of + "timeout", of + "maxFailures"}, spec: suspended, acts: func(s *suite) {
			address := s.Servers.Address()
			server := s.server(s.Servers.HTTP(address + ":7000"))
			s.Must(server.Set(externalnet.Behavior{Delay: 2500 * time.Millisecond}))
			record := verified(s, "10s", "{name: slow, host: "+address+", httpGet: {port: 7000}, interval: 3s, timeout: 500ms, maxFailures: 100}")
			took := record.CompletionTime.Sub(record.StartTime.Time)
			if r := record.Requests; r.Failed < 3 || r.Failed != r.Sent || time.Duration(r.Sent-2)*3*time.Second > took {
				s.Errorf("in %s: %s", took, framework.Text(record))
			}
		}},
	}
}

// member ends with the test.
func (s *suite) member(member *externalnet.Member, err error) *externalnet.Member {
	s.Helper()
	s.Must(err)
	s.Cleanup(member.Close)
	return member
}
