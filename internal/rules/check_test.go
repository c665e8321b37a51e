// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/api/common"
)

func check(t *testing.T, text string) *common.Check {
	t.Helper()
	var c common.Check
	if err := yaml.UnmarshalStrict([]byte(text), &c); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return &c
}

func TestAChecksRequestIsTheOneThatItShows(t *testing.T) {
	const outside = "db.example.com"
	for name, tc := range map[string]struct {
		check, outside string
		want           []string // field and type of each error, in order
	}{
		"least":                      {check: `{tcpSocket: {}}`},
		"host with a port":           {check: `{httpGet: {hostHeader: "www.example.com:8080", path: "/a%20b?c=d"}}`},
		"IPv6 host":                  {check: `{httpGet: {hostHeader: "[2001:db8::1]:80"}}`},
		"host that injects a header": {check: `{httpGet: {hostHeader: "a\r\nX-Evil: 1"}}`, want: []string{"httpGet.hostHeader: Invalid"}},
		"host with a user":           {check: `{httpGet: {hostHeader: "root@a"}}`, want: []string{"httpGet.hostHeader: Invalid"}},
		"path with a newline":        {check: `{httpGet: {path: "/a\nb"}}`, want: []string{"httpGet.path: Invalid"}},
		"path with a space":          {check: `{httpGet: {path: "/a HTTP/1.1"}}`, want: []string{"httpGet.path: Invalid"}},
		"path with a fragment":       {check: `{httpGet: {path: "/a#b"}}`, want: []string{"httpGet.path: Invalid"}},
		"path badly encoded":         {check: `{httpGet: {path: "/%zz"}}`, want: []string{"httpGet.path: Invalid"}},
		"authority and service":      {check: `{grpc: {authority: "a b", service: "x\n"}}`, want: []string{"grpc.authority: Invalid", "grpc.service: Invalid"}},
		"tls over plain HTTP":        {check: `{httpGet: {scheme: HTTP}, tls: {}}`, want: []string{"httpGet.scheme: Invalid"}},
		"tls names":                  {check: `{grpc: {}, tls: {serverName: "a b", caSecretName: "A_b"}}`, want: []string{"tls.caSecretName: Invalid", "tls.serverName: Invalid"}},
		"tls for an address":         {check: `{grpc: {}, tls: {serverName: "2001:db8::1"}}`},
		"no time at all":             {check: `{tcpSocket: {}, timeout: 0s}`, want: []string{"timeout: Invalid"}},

		"steps":                   {check: `{tcpSocket: {steps: [{send: 'PING\r\n', expect: "+PONG\r\n"}, {expect: '\x00\u00e4\101\"'}, {sendFrom: {prefix: 'AUTH ', secretKeyRef: {name: redis, key: password}, suffix: '\r\n'}}]}}`},
		"escapes of no Go string": {check: `{tcpSocket: {steps: [{send: '\q', expect: 'a\'}, {sendFrom: {prefix: '\x0', suffix: '\ud800', secretKeyRef: {name: A_b, key: "a b"}}}]}}`, want: []string{"steps[0].send: Invalid", "steps[0].expect: Invalid", "steps[1].sendFrom.prefix: Invalid", "steps[1].sendFrom.suffix: Invalid", "steps[1].sendFrom.secretKeyRef.name: Invalid", "steps[1].sendFrom.secretKeyRef.key: Invalid"}},
		"tls of a client":         {check: `{tcpSocket: {}, tls: {clientCertificateSecretName: A_b}}`, want: []string{"tls.clientCertificateSecretName: Invalid"}},

		"headers":                   {check: `{httpGet: {httpHeaders: [{name: Accept, value: x}, {name: X-Check, value: "deep, \"very\""}, {name: Host, value: a.example.com}]}}`, outside: outside},
		"credentials for pods":      {check: `{httpGet: {httpHeaders: [{name: Authorization, value: x}, {name: cookie, value: x}]}}`},
		"credentials for others":    {check: `{httpGet: {httpHeaders: [{name: Authorization, value: x}, {name: X-Authorization, value: x}, {name: cOOkie, value: x}]}}`, outside: outside, want: []string{"httpHeaders[0].name: Forbidden", "httpHeaders[2].name: Forbidden"}},
		"a header of the proxy":     {check: `{httpGet: {httpHeaders: [{name: Proxy-Authorization, value: x}]}}`, want: []string{"httpHeaders[0].name: Forbidden"}},
		"headers of the connection": {check: `{httpGet: {httpHeaders: [{name: Connection, value: x}, {name: transfer-encoding, value: chunked}, {name: CONTENT-LENGTH, value: "5"}, {name: Upgrade, value: h2c}]}}`, want: []string{"httpHeaders[0].name: Forbidden", "httpHeaders[1].name: Forbidden", "httpHeaders[2].name: Forbidden", "httpHeaders[3].name: Forbidden"}},
		"a second header":           {check: `{httpGet: {httpHeaders: [{name: X, value: "y\r\nZ: z"}]}}`, want: []string{"httpHeaders[0].value: Invalid"}},
		"a second header's name":    {check: `{httpGet: {httpHeaders: [{name: "X: y\r\nZ", value: z}]}}`, want: []string{"httpHeaders[0].name: Invalid"}},
		"a host that ends the line": {check: `{httpGet: {httpHeaders: [{name: Host, value: "a b"}]}}`, want: []string{"httpHeaders[0].value: Invalid"}},
		"two hosts":                 {check: `{httpGet: {hostHeader: a.example.com, httpHeaders: [{name: host, value: b.example.com}]}}`, want: []string{"httpHeaders[0].name: Invalid"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := check(t, tc.check)
			errs := Check(At("check"), c, tc.outside)
			if len(errs) != len(tc.want) {
				t.Fatalf("%v, want %q", errs, tc.want)
			}
			for i, err := range errs {
				if !strings.Contains(err.Error(), tc.want[i]) {
					t.Errorf("%v, want %s", err, tc.want[i])
				}
			}
		})
	}
}

func TestATextHasTheEscapesOfAGoString(t *testing.T) {
	for text, want := range map[string]string{
		``: "", `PING\r\n`: "PING\r\n", "PING\r\n": "PING\r\n", `"it's"`: `"it's"`, `\"\'`: `"'`, `\x00\xff\377`: "\x00\xff\xff",
		`ä\u00e4\U0001F600`: "ää😀", `\\n`: `\n`, `\a\b\f\t\v`: "\a\b\f\t\v",
	} {
		if got, err := Unescape(text); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestTheSecretsOfACheckAreThoseThatItNames(t *testing.T) {
	c := check(t, `{tcpSocket: {steps: [{expect: a}, {sendFrom: {secretKeyRef: {name: login, key: password}}}]}, tls: {caSecretName: roots, clientCertificateSecretName: client}}`)
	var got []string
	for _, s := range CheckSecrets(field.NewPath("check"), c) {
		got = append(got, fmt.Sprint(s.Path, " ", s.Field, " ", s.Name, " ", s.Key, " ", s.IsCredential))
	}
	want := []string{
		"check.tls.caSecretName caSecretName roots ca.crt false", "check.tls.clientCertificateSecretName clientCertificateSecretName client  true",
		"check.tcpSocket.steps[1].sendFrom.secretKeyRef sendFrom login password true",
	}
	if !slices.Equal(got, want) || CheckSecrets(nil, nil) != nil {
		t.Errorf("got %q", got)
	}
}

func TestWarningsOfACheckAreOfWhatItDoesNotVerify(t *testing.T) {
	for text, want := range map[string]int{
		`{httpGet: {}}`: 0, `{httpGet: {}, tls: {caSecretName: ca}}`: 0, `{grpc: {}, tls: {insecureSkipVerify: true}}`: 1,
		`{grpc: {}, tls: {insecureSkipVerify: true, caSecretName: ca}}`: 2,
	} {
		if got := CheckWarnings(At("check"), check(t, text)); len(got) != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}
