// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// roleFields are the fields of checks that know the role of a server.
var roleFields = []string{
	"healthCheck.tcpSocket.steps.send", "healthCheck.tcpSocket.steps.expect", "healthCheck.tcpSocket.steps.sendFrom.prefix",
	"healthCheck.tcpSocket.steps.sendFrom.suffix", "healthCheck.tcpSocket.steps.sendFrom.secretKeyRef.name",
	"healthCheck.tcpSocket.steps.sendFrom.secretKeyRef.key", "healthCheck.tls.clientCertificateSecretName",
	"healthCheck.httpGet.method", "healthCheck.httpGet.expectedBody",
}

// member ends with the test.
func (s *suite) member(member *externalnet.Member, err error) *externalnet.Member {
	s.Helper()
	s.Must(err)
	s.Cleanup(member.Close)
	return member
}

// keep makes or replaces a Secret.
func (s *suite) keep(name string, data map[string]string) {
	s.Helper()
	s.Apply(framework.Text(map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name}, "stringData": data}))
}

// applyAt applies an ExternalService at a version, which calls the check otherwise.
func (s *suite) applyAt(version, name, spec string) {
	s.Helper()
	if version == "v1alpha1" {
		spec = strings.Replace(spec, "healthCheck:", "probe:", 1)
	}
	var parsed any
	s.Must(yaml.Unmarshal([]byte(spec), &parsed))
	s.Apply(framework.Text(map[string]any{
		"apiVersion": networkingv1.GroupVersion.Group + "/" + version, "kind": "ExternalService",
		"metadata": map[string]any{"name": name}, "spec": parsed,
	}))
}

// receives waits until a server has received a line.
func (s *suite) receives(member *externalnet.Member, line string) {
	s.Helper()
	s.Eventually(func() error {
		if got := member.Received(); !slices.Contains(got, line) {
			return fmt.Errorf("received %q, want %q", got[max(0, len(got)-8):], line)
		}
		return nil
	})
}

func TestACheckKnowsTheRoleByEachOfItsFieldsAtBothVersions(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1", "v1alpha1"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := newSuite(t)
			t.Run("Redis", func(t *testing.T) { (&suite{s.In(t)}).redisFailsOver(version) })
			t.Run("Redis over TLS", func(t *testing.T) { (&suite{s.In(t)}).presentsItsCertificate(version) })
			t.Run("Patroni", func(t *testing.T) { (&suite{s.In(t)}).patroniFailsOver(version) })
			t.Run("refused", func(t *testing.T) { (&suite{s.In(t)}).refusesWrongChecks(version) })
		})
	}
}

// redisFailsOver has a master and its replica swap roles, and their password rotated. The password is nowhere to be read.
func (s *suite) redisFailsOver(version string) {
	first, second := "zq7first"+version, "zq7second"+version
	a, b := s.Servers.Address(), s.Servers.Address()
	master, replica := s.member(externalnet.Redis(a+":7000", "master", first, nil)), s.member(externalnet.Redis(b+":7000", "slave", first, nil))
	s.applyAt(version, "redis", checked(`tcpSocket: {steps: [
		{sendFrom: {prefix: 'AUTH ', secretKeyRef: {name: redis, key: password}, suffix: '\r\n'}, expect: +OK},
		{send: "ROLE\r\n", expect: '$6\r\nmaster\r\n'}]}, `+often, a, b))
	s.condition("redis", networkingv1.ConditionHealthy, metav1.ConditionUnknown, networkingv1.ReasonSecretUnavailable)
	s.keep("redis", map[string]string{"password": first, "other": "zq7other"})
	s.healthy("redis", a)
	s.becomes("redis", b, networkingv1.AddressUnhealthy, networkingv1.ProbeUnexpectedResponse)
	s.publishes("redis", a)
	master.Set("slave", first)
	replica.Set("master", first)
	s.becomes("redis", a, networkingv1.AddressUnhealthy, networkingv1.ProbeUnexpectedResponse)
	s.healthy("redis", b)
	s.publishes("redis", b)

	s.keep("redis", map[string]string{"password": second, "other": "zq7other"})
	replica.Set("master", second)
	s.receives(replica, "AUTH "+second)
	s.healthy("redis", b)
	for what, shown := range map[string]string{
		"an object": s.Kubectl("get", "externalservices,services,endpointslices,events", "-o", "yaml"),
		"a metric":  s.Figures(),
	} {
		if strings.Contains(shown, "zq7") {
			s.Errorf("%s has a password:\n%s", what, shown)
		}
	}
	for _, running := range s.Running() {
		lines, err := running.Logs()
		s.Must(err)
		if strings.Contains(lines, "zq7") {
			s.Errorf("%s logs a password", running.ID)
		}
	}
}

// presentsItsCertificate has a server that demands a certificate of its clients, which is replaced.
func (s *suite) presentsItsCertificate(version string) {
	address := s.Servers.Address()
	own, err := s.Servers.CA.Issue(time.Now().Add(time.Hour), address)
	s.Must(err)
	server := s.member(externalnet.Redis(address+":7000", "master", "", &tls.Config{
		Certificates: []tls.Certificate{*own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: s.Servers.CA.Pool(), MinVersion: tls.VersionTLS12,
	}))
	present := func(name string) {
		certificate, key, err := s.Servers.CA.Client(name)
		s.Must(err)
		s.keep("client", map[string]string{corev1.TLSCertKey: string(certificate), corev1.TLSPrivateKeyKey: string(key)})
	}
	s.ca("ca")
	const ping = `tcpSocket: {steps: [{send: 'PING\r\n', expect: +PONG}]}, `
	s.applyAt(version, "secure", checked(ping+`tls: {caSecretName: ca}, `+often, address))
	s.becomes("secure", address, networkingv1.AddressUnhealthy, networkingv1.ProbeClientCertificateRequired)
	present("first.example.com")
	s.applyAt(version, "secure", checked(ping+`tls: {caSecretName: ca, clientCertificateSecretName: client}, `+often, address))
	s.healthy("secure", address)
	s.receives(server, "CERT first.example.com")
	present("second.example.com")
	s.receives(server, "CERT second.example.com")
	s.healthy("secure", address)
}

// patroniFailsOver checks a port that is not published, in each way that tells the primary.
func (s *suite) patroniFailsOver(version string) {
	a, b := s.Servers.Address(), s.Servers.Address()
	primary, replica := s.member(externalnet.Patroni(a+":8008", "primary")), s.member(externalnet.Patroni(b+":8008", "replica"))
	checks := map[string]struct{ check, line, reason string }{
		"get":     {`path: /primary`, "GET /primary", networkingv1.ProbeUnexpectedStatus},
		"head":    {`path: /primary, method: HEAD`, "HEAD /primary", networkingv1.ProbeUnexpectedStatus},
		"options": {`path: /primary, method: OPTIONS`, "OPTIONS /primary", networkingv1.ProbeUnexpectedStatus},
		"body":    {`path: /health, expectedBody: '"role": "primary"'`, "GET /health", networkingv1.ProbeUnexpectedResponse},
	}
	for name, c := range checks {
		s.applyAt(version, name, checked("httpGet: {port: 8008, "+c.check+"}, "+often, a, b))
	}
	wanted := func(healthy, unhealthy string, member *externalnet.Member) {
		for name, c := range checks {
			s.healthy(name, healthy)
			s.becomes(name, unhealthy, networkingv1.AddressUnhealthy, c.reason)
			s.publishes(name, healthy)
			s.receives(member, c.line)
		}
	}
	wanted(a, b, primary)
	primary.Set("replica", "")
	replica.Set("primary", "")
	wanted(b, a, replica)
	for _, slice := range s.Slices("get") {
		for _, p := range slice.Ports {
			if *p.Port != 7000 {
				s.Errorf("port %d is published", *p.Port)
			}
		}
	}
}

// refusesWrongChecks wants each mistake refused with its field and what to do.
func (s *suite) refusesWrongChecks(version string) {
	field := map[string]string{"v1": "spec.healthCheck.", "v1alpha1": "spec.probe."}[version]
	long := strings.Repeat("x", 1025)
	for check, wanted := range map[string][2]string{
		`tcpSocket: {port: other}`: {"tcpSocket.port", "a number or the name of a TCP port of spec.ports"},
		`tcpSocket: {port: 65536}`: {"tcpSocket.port", "from 1 to 65535"},
		`tcpSocket: {steps: [{}]}`: {"tcpSocket.steps[0]", "set send, sendFrom or expect"},
		`tcpSocket: {steps: [{send: a, sendFrom: {secretKeyRef: {name: a, key: b}}}]}`:      {"tcpSocket.steps[0]", "set one of send and sendFrom"},
		`tcpSocket: {steps: [{send: a}, {send: a}, {send: a}, {send: a}, {send: a}]}`:       {"tcpSocket.steps", "must have at most 4 items"},
		`tcpSocket: {steps: [{send: '\q'}]}`:                                                {"tcpSocket.steps[0].send", `such as \r\n or \x00; write \\ for a backslash`},
		`tcpSocket: {steps: [{expect: 'a\'}]}`:                                              {"tcpSocket.steps[0].expect", `such as \r\n or \x00; write \\ for a backslash`},
		`tcpSocket: {steps: [{send: ` + long + `}]}`:                                        {"tcpSocket.steps[0].send", "may not be more than 1024"},
		`tcpSocket: {steps: [{expect: ` + long + `}]}`:                                      {"tcpSocket.steps[0].expect", "may not be more than 1024"},
		`tcpSocket: {steps: [{sendFrom: {prefix: '\z', secretKeyRef: {name: a, key: b}}}]}`: {"tcpSocket.steps[0].sendFrom.prefix", "escapes of a Go string"},
		`tcpSocket: {steps: [{sendFrom: {suffix: '\z', secretKeyRef: {name: a, key: b}}}]}`: {"tcpSocket.steps[0].sendFrom.suffix", "escapes of a Go string"},
		`tcpSocket: {steps: [{sendFrom: {secretKeyRef: {name: A_b, key: b}}}]}`:             {"tcpSocket.steps[0].sendFrom.secretKeyRef.name", "lowercase RFC 1123"},
		`tcpSocket: {steps: [{sendFrom: {secretKeyRef: {name: a, key: "b c"}}}]}`:           {"tcpSocket.steps[0].sendFrom.secretKeyRef.key", "alphanumeric characters"},
		`tcpSocket: {}, tls: {clientCertificateSecretName: A_b}`:                            {"tls.clientCertificateSecretName", "lowercase RFC 1123"},
		`httpGet: {method: POST}`:                                                           {"httpGet.method", `supported values: "GET", "HEAD", "OPTIONS"`},
		`httpGet: {method: HEAD, expectedBody: ready}`:                                      {"httpGet", "use method GET"},
		`httpGet: {expectedBody: ` + long + `}`:                                             {"httpGet.expectedBody", "may not be more than 1024"},
	} {
		name := map[string]string{"v1": "healthCheck", "v1alpha1": "probe"}[version]
		spec := `{ports: [{name: p, port: 7000}], endpoints: [{name: a, addresses: [192.0.2.1]}], ` + name + `: {` + check + `}}`
		err := s.Client.Create(s.Context(), s.object(version, "wrong", spec))
		if err := expected(err, field+wanted[0], wanted[1]); err != nil {
			s.Errorf("%.80s: %v", check, err)
		}
	}
	eve := s.newPerson("eve")
	s.Must(expected(eve.create("v1", "stolen", checked(`tcpSocket: {steps: [{sendFrom: {secretKeyRef: {name: redis, key: password}}}]}`, "192.0.2.1")),
		"spec.healthCheck.tcpSocket.steps[0].sendFrom.secretKeyRef", `may not get the Secret "redis"`, "leave sendFrom out"))
	s.Must(expected(eve.create("v1", "stolen", checked(`tcpSocket: {}, tls: {clientCertificateSecretName: client}`, "192.0.2.1")),
		"spec.healthCheck.tls.clientCertificateSecretName", `may not get the Secret "client"`, "leave clientCertificateSecretName out"))
}
