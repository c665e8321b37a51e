// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// server is one of the servers outside, until the end of the test.
func (s *suite) server(server *externalnet.Server, err error) *externalnet.Server {
	s.Helper()
	s.Must(err)
	s.Cleanup(server.Close)
	return server
}

// proven is a ChaosPod that kills a pod of web, and is verified by what clients ask at an address outside.
func proven(soak, address string) string {
	return "dryRun: false, " + web + ", " + someday + ", verification: {soak: " + soak + ", probes: [{name: shop, host: " + address +
		", httpGet: {port: 8080, path: /cart}, interval: 500ms, timeout: 500ms}]}"
}

// counted waits until so many of the requests of the run under way had failed by the status.
func (s *suite) counted(failed int64) {
	s.Helper()
	s.shows("c", func(st *chaosv1.ChaosPodStatus) error {
		if c := st.CurrentRun; c == nil || len(c.Probes) != 1 || c.Probes[0].Failed < failed {
			return fmt.Errorf("want %d requests that failed", failed)
		}
		return nil
	})
}

func TestARunIsProvenByTheRequestsThatDidNotFail(t *testing.T) {
	s := newSuite(t)
	address := s.Servers.Address()
	server := s.server(s.Servers.HTTP(address + ":8080"))
	s.run("web", 3, "")
	s.chaos("c", proven("5s", address))
	if n := server.Counts().Requests; n != 0 {
		t.Errorf("%d requests though nothing dies", n)
	}
	before := s.pods("web")
	s.now("c", "1")
	run := s.ended("c", 1, chaosv1.ResultSurvived)
	if r := run.Requests; len(gone(before, s.pods("web"))) != 1 || r == nil || r.Sent < 8 || r.Failed != 0 || r.Inconclusive != 0 ||
		!strings.HasPrefix(run.Message, fmt.Sprintf("0 of %d requests failed while pods died; died: pod web-", r.Sent)) {
		t.Errorf("%s", framework.Text(run))
	}
	counts := server.Counts()
	if len(counts.Latest) == 0 || counts.Latest[0].Path != "/cart" || int64(counts.Requests) < run.Requests.Sent {
		t.Errorf("the server has seen %d requests of %d: %+v", counts.Requests, run.Requests.Sent, counts.Latest)
	}
	s.says("c", chaosv1.ConditionSurvived, metav1.ConditionTrue, chaosv1.ReasonRecovered, " requests failed while pods died")
	s.told("Deployment", "web", "Recovered")
	s.Never(func() error {
		if n := server.Counts().Requests; n > counts.Requests+1 { // one may have been under way
			return fmt.Errorf("%d more requests after the end of the run", n-counts.Requests)
		}
		return nil
	})
	t.Logf("%s", framework.Text(run))
}

// requestCases show the fields of verification.probes.
func requestCases() []fieldCase {
	const of, spec = "verification.probes.", "suspend: true, dryRun: false, " + web + ", " + someday
	verified := func(s *suite, soak string, probes ...string) chaosv1.Run {
		s.Helper()
		s.edit("suspend: false, verification: {soak: " + soak + ", probes: [" + strings.Join(probes, ", ") + "]}")
		s.now("c", "1")
		return s.ended("c", 1, chaosv1.ResultSurvived)
	}
	at := func(c externalnet.Counts, path string) (requests []externalnet.Request) {
		for _, r := range c.Latest {
			if r.Path == path {
				requests = append(requests, r)
			}
		}
		return requests
	}
	return []fieldCase{
		{[]string{of + "tcpSocket.port", of + "grpc.port", of + "grpc.service", of + "grpc.authority", of + "name", of + "host"}, spec, func(s *suite) {
			address := s.Servers.Address()
			tcp, grpc := s.server(s.Servers.TCP(address+":7000")), s.server(s.Servers.GRPC(address+":7001"))
			verified(s, "2s", "{name: tcp, host: "+address+", tcpSocket: {port: 7000}}",
				"{name: grpc, host: "+address+", grpc: {port: 7001, service: shop, authority: shop.example.org}}")
			if got := at(grpc.Counts(), "shop"); len(got) == 0 || got[0].Host != "shop.example.org" || tcp.Counts().Connections == 0 {
				s.Errorf("requests %+v, %d connections", got, tcp.Counts().Connections)
			}
		}},
		{[]string{of + "httpGet.port", of + "httpGet.path", of + "httpGet.scheme", of + "httpGet.hostHeader", of + "tls.serverName", of + "tls.caSecretName", of + "tls.insecureSkipVerify"}, spec, func(s *suite) {
			address := s.Servers.Address()
			named, other := s.server(s.Servers.HTTPS(address+":7000", "shop.example.org")), s.server(s.Servers.HTTPS(address+":7001", "other.example.org"))
			s.Make(fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: ca}, stringData: {ca.crt: %q}}", s.Servers.CA.PEM()))
			verified(s, "2s", "{name: named, host: "+address+", httpGet: {port: 7000, path: /live, scheme: HTTPS, hostHeader: www.example.org}, tls: {serverName: shop.example.org, caSecretName: ca}}",
				"{name: other, host: "+address+", httpGet: {port: 7001}, tls: {insecureSkipVerify: true}}")
			if got := at(named.Counts(), "/live"); len(got) == 0 || got[0].Host != "www.example.org" || got[0].ServerName != "shop.example.org" || other.Counts().Requests == 0 {
				s.Errorf("requests %+v and %d", got, other.Counts().Requests)
			}
		}},
		{[]string{of + "httpGet.httpHeaders.name", of + "httpGet.httpHeaders.value", of + "httpGet.expectedStatuses.start", of + "httpGet.expectedStatuses.end"}, spec, func(s *suite) {
			address := s.Servers.Address()
			seen, stop, err := externalnet.Headers(address + ":7000")
			s.Must(err)
			s.Cleanup(stop)
			s.Must(s.server(s.Servers.HTTP(address + ":7001")).Set(externalnet.Behavior{Status: 404}))
			verified(s, "2s", "{name: a, host: "+address+", httpGet: {port: 7000, httpHeaders: [{name: X-Tenant, value: shop}]}}",
				"{name: b, host: "+address+", httpGet: {port: 7001, expectedStatuses: [{start: 404, end: 404}]}}")
			if got := (<-seen).Get("X-Tenant"); got != "shop" {
				s.Errorf("X-Tenant is %q", got)
			}
		}},
		{[]string{of + "tcpSocket.steps.send", of + "tcpSocket.steps.expect", of + "httpGet.method", of + "httpGet.expectedBody"}, spec, func(s *suite) {
			address := s.Servers.Address()
			redis, patroni := s.member(externalnet.Redis(address+":7000", "master", "", nil)), s.member(externalnet.Patroni(address+":7001", "primary"))
			verified(s, "2s", "{name: redis, host: "+address+`, tcpSocket: {port: 7000, steps: [{send: 'ROLE\r\n', expect: master}]}}`,
				"{name: head, host: "+address+", httpGet: {port: 7001, path: /primary, method: HEAD}}",
				"{name: body, host: "+address+`, httpGet: {port: 7001, path: /health, expectedBody: '"role": "primary"'}}`)
			if got := append(redis.Received(), patroni.Received()...); !slices.Contains(got, "ROLE") || !slices.Contains(got, "HEAD /primary") || !slices.Contains(got, "GET /health") {
				s.Errorf("received %q", got)
			}
		}},
		{[]string{of + "tcpSocket.steps.sendFrom.prefix", of + "tcpSocket.steps.sendFrom.suffix", of + "tcpSocket.steps.sendFrom.secretKeyRef.name",
			of + "tcpSocket.steps.sendFrom.secretKeyRef.key", of + "tls.clientCertificateSecretName"}, spec, func(s *suite) { // these send no credentials
			for probe, wanted := range map[string]string{
				`tcpSocket: {port: 7000, steps: [{sendFrom: {prefix: a, suffix: b, secretKeyRef: {name: login, key: password}}}]}`: "use send, or leave the step out",
				`httpGet: {port: 7000}, tls: {clientCertificateSecretName: login}`:                                                 "leave clientCertificateSecretName out",
			} {
				err := s.TryMerge(chaosv1.GroupVersion.String(), "ChaosPod", "c", "{spec: {verification: {probes: [{name: a, host: 192.0.2.1, "+probe+"}]}}}")
				if err == nil || !strings.Contains(err.Error(), wanted) {
					s.Errorf("%s: %v", probe, err)
				}
			}
		}},
		{[]string{of + "interval", of + "timeout", of + "maxFailures"}, spec, func(s *suite) {
			address := s.Servers.Address()
			server := s.server(s.Servers.HTTP(address + ":7000"))
			s.edit("suspend: false, verification: {soak: 12s, probes: [{name: slow, host: " + address + ", httpGet: {port: 7000}, interval: 3s, timeout: 500ms, maxFailures: 100}]}")
			s.now("c", "1")
			s.shows("c", func(st *chaosv1.ChaosPodStatus) error {
				if c := st.CurrentRun; c == nil || c.Phase != chaosv1.RunVerifying {
					return fmt.Errorf("nothing has died")
				}
				return nil
			})
			s.Must(server.Set(externalnet.Behavior{Delay: 2500 * time.Millisecond}))
			run := s.ended("c", 1, chaosv1.ResultSurvived)
			took := run.CompletionTime.Sub(run.StartTime.Time)
			if r := run.Requests; r.Failed < 2 || time.Duration(r.Sent-2)*3*time.Second > took {
				s.Errorf("in %s: %s", took, framework.Text(run))
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
