// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// around puts parts of a spec around what every object needs.
func around(endpoint, rest string) string {
	return fmt.Sprintf("{ports: [{name: a, port: 80}], endpoints: [{name: x, %s}]%s}", endpoint, rest)
}

const static = "addresses: [192.0.2.1]"

func TestRefusesWhatTheSchemaCannot(t *testing.T) {
	for name, tc := range map[string]struct {
		spec string
		want []string // field and a part of the text of each error, in order
	}{
		"plain":                  {spec: around(static, "")},
		"authority":              {spec: around(static, `, healthCheck: {grpc: {authority: "a b"}}`), want: []string{"spec.healthCheck.grpc.authority: Invalid"}},
		"credentials":            {spec: around(static, `, healthCheck: {httpGet: {httpHeaders: [{name: Authorization, value: x}]}}`), want: []string{"spec.healthCheck.httpGet.httpHeaders[0].name: Forbidden"}},
		"a port by its number":   {spec: around(static, `, healthCheck: {httpGet: {port: 8008}}`)},
		"a port by another name": {spec: around(static, `, healthCheck: {httpGet: {port: other}}`), want: []string{"spec.healthCheck.httpGet.port: Required value: port must be a number or the name of a TCP port of spec.ports"}},
		"no time at all":         {spec: around(static, `, healthCheck: {tcpSocket: {}, timeout: 0s, unhealthyInterval: 10ms}, resolution: {minTTL: 0s, maxTTL: 1ms}`), want: []string{"resolution.minTTL", "resolution.maxTTL", "healthCheck.timeout", "healthCheck.unhealthyInterval"}},
		"zone":                   {spec: around(static+", zone: 'a b'", ""), want: []string{"spec.endpoints[0].zone"}},
		"appProtocol":            {spec: `{ports: [{name: a, port: 80, appProtocol: "a b"}], endpoints: [{name: x, addresses: [192.0.2.1]}]}`, want: []string{"spec.ports[0].appProtocol"}},
		"localhost, dotted":      {spec: around("dns: {name: localhost.}", ""), want: []string{"in-cluster and localhost"}},
		"localhost, shouted":     {spec: around("dns: {name: LOCALHOST.}", ""), want: []string{"in-cluster and localhost"}},
		"hexadecimal, shouted":   {spec: around("dns: {name: '0X7F.0X1'}", ""), want: []string{"last label must not be a number"}},
		"below localhost":        {spec: around("dns: {name: a.localhost.}", ""), want: []string{"in-cluster and localhost"}},
		"numbers as a name":      {spec: around("dns: {name: '127.1'}", ""), want: []string{"last label must not be a number"}},
		"hexadecimal":            {spec: around("dns: {name: '0x7f.0x1'}", ""), want: []string{"last label must not be a number"}},
		"digits before the last": {spec: around("dns: {name: '1.2.3.example.com.'}", "")},
		"SRV":                    {spec: around("dns: {name: _a._tcp.example.com, recordType: SRV}", "")},
		"SRV with ports":         {spec: around("dns: {name: a.example.com, recordType: SRV}, ports: [{name: a, port: 1}]", ""), want: []string{"spec.endpoints[0].ports: Forbidden"}},
		"SRV with several ports": {spec: `{ports: [{name: a, port: 80}, {name: b, port: 81}], endpoints: [{name: x, dns: {name: a.example.com, recordType: SRV}}]}`, want: []string{"one ExternalService per port"}},
		"labels": {
			spec: around(static, `, service: {labels: {app.kubernetes.io/part-of: a, service.kubernetes.io/service-proxy-name: x, app.kubernetes.io/managed-by: me, x.fairlead.dev/y: z, "a b": c, team: "-"}}`),
			want: []string{`labels: Invalid value: "a b"`, `labels[app.kubernetes.io/managed-by]: Forbidden`, `labels[service.kubernetes.io/service-proxy-name]: Forbidden`, `labels[team]: Invalid`, `labels[x.fairlead.dev/y]: Forbidden`},
		},
		"annotations": {
			spec: around(static, `, service: {annotations: {example.com/Owner: a, "a b": c, external-dns.alpha.kubernetes.io/hostname: d, networking.fairlead.dev/applied: e}}`),
			want: []string{`annotations: Invalid value: "a b"`, `annotations[external-dns.alpha.kubernetes.io/hostname]: Forbidden`, `annotations[networking.fairlead.dev/applied]: Forbidden`},
		},
		"part of a second":   {spec: around(static, `, service: {sessionAffinity: ClientIP, sessionAffinityTimeout: 1500ms}`), want: []string{"spec.service.sessionAffinityTimeout: Invalid"}},
		"more than a day":    {spec: around(static, `, service: {sessionAffinity: ClientIP, sessionAffinityTimeout: 25h}`), want: []string{"spec.service.sessionAffinityTimeout: Invalid"}},
		"an hour":            {spec: around(static, `, service: {sessionAffinity: ClientIP, sessionAffinityTimeout: 1h}`)},
		"pods of no kind":    {spec: around(static, `, networkPolicy: {}`), want: []string{"spec.networkPolicy.podSelector: Required"}},
		"values with Exists": {spec: around(static, `, networkPolicy: {podSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}`), want: []string{"spec.networkPolicy.podSelector: Invalid"}},
	} {
		t.Run(name, func(t *testing.T) {
			obj := parse(t, tc.spec)
			errs := Validate(obj, nil)
			if len(errs) != len(tc.want) {
				t.Fatalf("got %d errors, want %d: %v", len(errs), len(tc.want), errs)
			}
			for i, want := range tc.want {
				if !strings.Contains(errs[i].Error(), want) {
					t.Errorf("error %d is %q, want %q in it", i, errs[i], want)
				}
			}
		})
	}
}

func TestAPortThatIsNotPublishedIsANumberAlone(t *testing.T) {
	const ports = `{ports: [{name: sql, port: 5432, targetPort: 6432}, {name: dns, port: 53, protocol: UDP}], endpoints: [{name: x, addresses: [192.0.2.1]}]`
	for check, want := range map[string]uint16{
		"": 0, ", healthCheck: {tcpSocket: {port: sql}}": 0, ", healthCheck: {tcpSocket: {port: 5432}}": 0, ", healthCheck: {tcpSocket: {port: 8008}}": 8008,
		", healthCheck: {grpc: {port: 6432}}": 6432, ", healthCheck: {tcpSocket: {port: 53}}": 53, ", healthCheck: {tcpSocket: {}}": 0,
	} {
		if got := UnpublishedPort(&parse(t, ports+check+"}").Spec); got != want {
			t.Errorf("%s: %d, want %d", check, got, want)
		}
	}
}

func TestTheFirstFamilyOfAServiceStays(t *testing.T) {
	for name, tc := range map[string]struct {
		spec, old, clusterIP string
		refused              bool
	}{
		"as it was":           {spec: "ipFamilies: [IPv4]", old: "ipFamilies: [IPv4, IPv6]"},
		"a second one":        {spec: "ipFamilies: [IPv4, IPv6]", old: "ipFamilies: [IPv4]"},
		"turned":              {spec: "ipFamilies: [IPv6, IPv4]", old: "ipFamilies: [IPv4, IPv6]", refused: true},
		"that of the address": {spec: "ipFamilies: [IPv6]", old: "{}", clusterIP: "2001:db8::1"},
		"not of the address":  {spec: "ipFamilies: [IPv6]", old: "{}", clusterIP: "10.0.0.1", refused: true},
		"no address yet":      {spec: "ipFamilies: [IPv6]", old: "{}"},
		"headless":            {spec: "clusterIP: None, ipFamilies: [IPv6]", old: "clusterIP: None", clusterIP: "None"},
		"with another type":   {spec: "clusterIP: None, ipFamilies: [IPv6]", old: "ipFamilies: [IPv4]", clusterIP: "10.0.0.1"},
		"left to Kubernetes":  {spec: "labels: {a: b}", old: "ipFamilies: [IPv4]", clusterIP: "10.0.0.1"},
	} {
		obj, old := parse(t, around(static, ", service: {"+tc.spec+"}")), parse(t, around(static, ", service: {"+strings.Trim(tc.old, "{}")+"}"))
		old.Status.ClusterIP = tc.clusterIP
		errs := Validate(obj, old)
		if (len(errs) > 0) != tc.refused || tc.refused && (errs[0].Field != "spec.service.ipFamilies[0]" || !strings.Contains(errs[0].Error(), "delete this object and create it again")) {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

func TestOneFamilyIsOneStack(t *testing.T) {
	for spec, want := range map[string]string{
		"": "PreferDualStack", "ipFamilies: [IPv6]": "SingleStack", "ipFamilies: [IPv4, IPv6]": "PreferDualStack",
		"ipFamilies: [IPv4], ipFamilyPolicy: RequireDualStack": "RequireDualStack",
	} {
		if got := IPFamilyPolicy(parse(t, around(static, ", service: {"+spec+"}")).Spec.Service); string(got) != want {
			t.Errorf("%q: %s, want %s", spec, got, want)
		}
	}
}

func TestWarnsOfTrafficThatGoesNowhere(t *testing.T) {
	for spec, want := range map[string]string{
		"service: {internalTrafficPolicy: Local}":        "spec.service.internalTrafficPolicy: Local",
		"service: {internalTrafficPolicy: Cluster}":      "",
		"service: {trafficDistribution: PreferSameZone}": "spec.endpoints[0].zone: is absent",
		"networkPolicy: {podSelector: {}}":               "spec.networkPolicy.podSelector: {} selects everything",
	} {
		if got := strings.Join(Warnings(parse(t, around(static, ", "+spec)), nil), "; "); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: warns %q, want %q", spec, got, want)
		}
	}
}

func TestDemandsANameThatAServiceCanHave(t *testing.T) {
	for name, good := range map[string]bool{"billing-db": true, "a": true, "billing.db": false, "9db": false, "Billing": false} {
		obj := parse(t, around(static, ""))
		obj.Name = name
		if errs := Validate(obj, nil); (len(errs) == 0) != good {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

func TestValidateForgivesOnlyWhatStoodBefore(t *testing.T) {
	const stood = "dns: {name: '127.1'}, zone: 'a b'"
	for name, tc := range map[string]struct {
		now, old string
		errs     int
	}{
		"create":                    {now: around(stood, ""), errs: 2},
		"unchanged":                 {now: around(stood, ""), old: around(stood, "")},
		"towards valid":             {now: around("dns: {name: '127.1'}", ", suspend: true"), old: around(stood, "")},
		"another error beside it":   {now: around(stood, ", resolution: {minTTL: 0s}"), old: around(stood, ""), errs: 1},
		"the same field made worse": {now: around("dns: {name: '127.2'}, zone: 'a b'", ""), old: around(stood, ""), errs: 1},
		"old was valid":             {now: around(stood, ""), old: around(static, ""), errs: 2},
	} {
		t.Run(name, func(t *testing.T) {
			old := parse(t, tc.old)
			if tc.old == "" {
				old = nil
			}
			if errs := Validate(parse(t, tc.now), old); len(errs) != tc.errs {
				t.Errorf("got %d errors, want %d: %v", len(errs), tc.errs, errs)
			}
		})
	}
}

func TestWarningsNameWhatIsProbablyNotMeant(t *testing.T) {
	for name, tc := range map[string]struct {
		spec string
		want []string
	}{
		"nothing": {spec: around(static, ", healthCheck: {httpGet: {}, tls: {}}")},
		"headless translates no ports": {
			spec: `{service: {clusterIP: None}, ports: [{name: a, port: 80, targetPort: 8080}, {name: b, port: 81, targetPort: 81}], endpoints: [{name: x, addresses: [192.0.2.1], ports: [{name: b, port: 82}]}]}`,
			want: []string{"spec.ports[0]", "spec.endpoints[0].ports"},
		},
		"single label": {spec: around("dns: {name: db.}", ""), want: []string{"spec.endpoints[0].dns.name"}},
		"all drained":  {spec: around(static+", state: Drained", ""), want: []string{"every endpoint is Drained"}},
		"twice": {
			spec: `{ports: [{name: a, port: 80}], endpoints: [{name: x, addresses: [192.0.2.1, 192.0.2.2]}, {name: y, addresses: [192.0.2.2]}]}`,
			want: []string{`spec.endpoints[1].addresses[0]: 192.0.2.2 is also listed in endpoint "x"`},
		},
		"kept for good": {
			spec: around("dns: {name: db.example.com}", ", resolution: {keepLastFor: 1h}"),
			want: []string{"spec.resolution.keepLastFor: has no effect while onFailure is KeepLast"},
		},
		"kept for a time": {spec: around("dns: {name: db.example.com}", ", resolution: {onFailure: Remove, keepLastFor: 1h}")},
		"unverified": {
			spec: around(static, ", healthCheck: {httpGet: {}, tls: {insecureSkipVerify: true, caSecretName: ca}}"),
			want: []string{"insecureSkipVerify", "caSecretName"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Warnings(parse(t, tc.spec), nil)
			if len(got) != len(tc.want) {
				t.Fatal(cmp.Diff(tc.want, got))
			}
			for i := range got {
				if !strings.Contains(got[i], tc.want[i]) {
					t.Errorf("got %q, want %q in it", got[i], tc.want[i])
				}
			}
		})
	}
}

func TestAWarningNamesTheLastHealthyEndpointThatGoes(t *testing.T) {
	const spec = `{ports: [{name: a, port: 80}], healthCheck: {tcpSocket: {}}, endpoints: [%s]}`
	const a, b, c = `{name: a, addresses: [192.0.2.1]%s}`, `{name: b, priority: 1, addresses: [192.0.2.2]}`, `{name: c, dns: {name: c.example.com}}`
	healthy, unhealthy, unknown := v1.AddressHealthy, v1.AddressUnhealthy, v1.AddressUnknown
	for name, tc := range map[string]struct {
		is     string
		health v1.AddressHealth // of b
		want   bool
	}{
		"drained, and the other is down":           {fmt.Sprintf(a, ", state: Drained") + ", " + b, unhealthy, true},
		"removed, and the other is down":           {b, unhealthy, true},
		"drained, and the other is healthy":        {fmt.Sprintf(a, ", state: Drained") + ", " + b, healthy, false},
		"drained, and the other was never checked": {fmt.Sprintf(a, ", state: Drained") + ", " + b, unknown, false},
		"drained, and one is new":                  {fmt.Sprintf(a, ", state: Drained") + ", " + b + ", " + c, unhealthy, false},
		"renamed":                                  {`{name: z, addresses: [192.0.2.1]}, ` + b, unhealthy, false},
		"another priority":                         {fmt.Sprintf(a, ", priority: 2") + ", " + b, unhealthy, false},
	} {
		old := parse(t, fmt.Sprintf(spec, fmt.Sprintf(a, "")+", "+b))
		old.Status.Endpoints = []v1.EndpointStatus{
			{Name: "a", Addresses: []v1.AddressStatus{{IP: "192.0.2.1", Health: healthy}}},
			{Name: "b", Addresses: []v1.AddressStatus{{IP: "192.0.2.2", Health: tc.health}}},
		}
		got := Warnings(parse(t, fmt.Sprintf(spec, tc.is)), old)
		if want := []string{`spec.endpoints: no address of the endpoints that are left is healthy: the Service will have no healthy address without endpoint "a"`}; tc.want != slices.Equal(got, want) || !tc.want && len(got) > 0 {
			t.Errorf("%s: %q, want one: %t", name, got, tc.want)
		}
	}
}
