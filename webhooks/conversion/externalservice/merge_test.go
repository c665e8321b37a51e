// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/api/common"
	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
)

// editView converts the object at v1 to its view, edits the view, and converts it back.
func editView(t *testing.T, hubForm []byte, edit func(*v1alpha1.ExternalServiceSpec)) v1.ExternalServiceSpec {
	t.Helper()
	var view v1alpha1.ExternalService
	if err := json.Unmarshal(convert(t, hubForm, "v1alpha1"), &view); err != nil {
		t.Fatal(err)
	}
	edit(&view.Spec)
	edited, err := json.Marshal(view)
	if err != nil {
		t.Fatal(err)
	}
	back := convert(t, edited, "v1")
	var out v1.ExternalService
	if err := json.Unmarshal(back, &out); err != nil {
		t.Fatal(err)
	}
	var again v1alpha1.ExternalService
	if err := json.Unmarshal(convert(t, back, "v1alpha1"), &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(view.Spec, again.Spec); diff != "" {
		t.Errorf("the edited view reads back otherwise: %s", diff)
	}
	return out.Spec
}

// shape writes endpoints in one line each: name priority zone/state ports content.
func shape(endpoints []v1.Endpoint) []string {
	var out []string
	for _, e := range endpoints {
		line := fmt.Sprintf("%s %d", e.Name, priority(&e))
		if e.Zone != nil {
			line += " " + *e.Zone
		}
		if e.State != nil && *e.State == v1.EndpointDrained {
			line += " drained"
		}
		for _, port := range e.Ports {
			line += fmt.Sprintf(" %s:%d", port.Name, port.Port)
		}
		if e.DNS != nil {
			line += " " + e.DNS.Name
		}
		out = append(out, line+fmt.Sprint(e.Addresses))
	}
	return out
}

const rich = `
apiVersion: networking.fairlead.dev/v1
kind: ExternalService
metadata: {name: billing-db}
spec:
  ports: [{name: sql, port: 5432, targetPort: 6432, appProtocol: example.com/sql}, {name: stats, port: 9187, protocol: UDP}]
  endpoints:
  - {name: spare, priority: 5, zone: south, state: Drained, addresses: [192.0.2.30]}
  - {name: main, priority: 0, zone: north, dns: {name: main.example.com, recordType: SRV}}
  - {name: pool, priority: 2, zone: east, addresses: [192.0.2.20, 192.0.2.21, 192.0.2.22], ports: [{name: sql, port: 7432}, {name: stats, port: 1}]}
  resolution: {minTTL: 10s, maxTTL: 2h, onFailure: Remove, keepLastFor: 3h}
  healthCheck: {httpGet: {port: sql, path: /up, host: db.example.com, scheme: HTTPS, expectedStatuses: [{start: 200, end: 204}]}, tls: {serverName: db.example.com}, interval: 1500ms, timeout: 1200ms, jitterPercent: 7, unhealthyInterval: 45s}
  failover: {failback: Manual, minHealthyPercent: 30}
`

func richObject(t *testing.T) []byte {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(rich))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestEditedHostsKeepTheirEndpoints(t *testing.T) {
	const (
		spare = "spare 5 south drained[192.0.2.30]"
		main  = "main 0 north main.example.com[]"
		pool  = "pool 2 east sql:7432 stats:1[192.0.2.20 192.0.2.21 192.0.2.22]"
	)
	// The view: main, pool's three, spare.
	for name, tc := range map[string]struct{ hosts, want []string }{
		"remove the first":             {[]string{"192.0.2.20", "192.0.2.21", "192.0.2.22", "192.0.2.30"}, []string{spare, pool}},
		"remove one address":           {[]string{"main.example.com", "192.0.2.20", "192.0.2.22", "192.0.2.30"}, []string{spare, main, "pool 2 east sql:7432 stats:1[192.0.2.20 192.0.2.22]"}},
		"remove a whole endpoint":      {[]string{"main.example.com", "192.0.2.30"}, []string{spare, main}},
		"replace a name":               {[]string{"new.example.com", "192.0.2.20", "192.0.2.21", "192.0.2.22", "192.0.2.30"}, []string{spare, "main 0 north new.example.com[]", pool}},
		"replace one address":          {[]string{"main.example.com", "192.0.2.20", "192.0.2.99", "192.0.2.22", "192.0.2.30"}, []string{spare, main, "pool 2 east sql:7432 stats:1[192.0.2.20 192.0.2.99 192.0.2.22]"}},
		"replace a name by an address": {[]string{"192.0.2.1", "192.0.2.20", "192.0.2.21", "192.0.2.22", "192.0.2.30"}, []string{spare, "main 0 north[192.0.2.1]", pool}},
		"swap within an endpoint":      {[]string{"main.example.com", "192.0.2.22", "192.0.2.21", "192.0.2.20", "192.0.2.30"}, []string{spare, main, "pool 2 east sql:7432 stats:1[192.0.2.22 192.0.2.21 192.0.2.20]"}},
		"add amid an endpoint":         {[]string{"main.example.com", "192.0.2.20", "192.0.2.88", "192.0.2.89", "192.0.2.21", "192.0.2.22", "192.0.2.30"}, []string{spare, main, "pool 2 east sql:7432 stats:1[192.0.2.20 192.0.2.88 192.0.2.89 192.0.2.21 192.0.2.22]"}},
		"add at the end":               {[]string{"main.example.com", "192.0.2.20", "192.0.2.21", "192.0.2.22", "192.0.2.30", "last.example.com"}, []string{spare, main, pool, "host-3 6 last.example.com[]"}},
		"add at the start":             {[]string{"first.example.com", "main.example.com", "192.0.2.20", "192.0.2.21", "192.0.2.22", "192.0.2.30"}, []string{spare, "main 1 north main.example.com[]", pool, "host-0 0 first.example.com[]"}},
		"add between":                  {[]string{"main.example.com", "mid.example.com", "192.0.2.20", "192.0.2.21", "192.0.2.22", "192.0.2.30"}, []string{spare, main, pool, "host-1 1 mid.example.com[]"}},
		"add two between":              {[]string{"main.example.com", "mid.example.com", "192.0.2.77", "192.0.2.20", "192.0.2.21", "192.0.2.22", "192.0.2.30"}, []string{spare, main, "pool 3 east sql:7432 stats:1[192.0.2.20 192.0.2.21 192.0.2.22]", "host-1 1 mid.example.com[]", "host-2 2[192.0.2.77]"}},
		"reorder":                      {[]string{"192.0.2.30", "192.0.2.20", "192.0.2.21", "192.0.2.22", "main.example.com"}, []string{"spare 0 south drained[192.0.2.30]", "main 5 north main.example.com[]", "pool 2 east sql:7432 stats:1[192.0.2.20 192.0.2.21 192.0.2.22]"}},
		"pull an endpoint apart":       {[]string{"192.0.2.21", "main.example.com", "192.0.2.20", "192.0.2.22", "192.0.2.30"}, []string{spare, "main 2 north main.example.com[]", "pool 0 east sql:7432 stats:1[192.0.2.21]", "host-2 2 east sql:7432 stats:1[192.0.2.20 192.0.2.22]"}},
		"a name amid addresses":        {[]string{"main.example.com", "192.0.2.20", "mid.example.com", "192.0.2.21", "192.0.2.22", "192.0.2.30"}, []string{spare, main, "pool 2 east sql:7432 stats:1[192.0.2.20]", "host-2 2 mid.example.com[]", "host-3 2 east sql:7432 stats:1[192.0.2.21 192.0.2.22]"}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := editView(t, richObject(t), func(s *v1alpha1.ExternalServiceSpec) { s.Hosts = tc.hosts })
			if diff := cmp.Diff(tc.want, shape(spec.Endpoints)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHostsThatAreAddedAndTakenBackLeaveNoTrace(t *testing.T) {
	var original v1.ExternalService
	if err := json.Unmarshal(richObject(t), &original); err != nil {
		t.Fatal(err)
	}
	for _, added := range [][]string{{"last.example.com"}, {"192.0.2.88", "last.example.com"}} {
		var hosts []string
		edited := editView(t, richObject(t), func(s *v1alpha1.ExternalServiceSpec) {
			hosts = slices.Clone(s.Hosts)
			s.Hosts = append(s.Hosts, added...)
		})
		raw, err := json.Marshal(v1.ExternalService{TypeMeta: original.TypeMeta, ObjectMeta: original.ObjectMeta, Spec: edited})
		if err != nil {
			t.Fatal(err)
		}
		again := editView(t, raw, func(s *v1alpha1.ExternalServiceSpec) { s.Hosts = hosts })
		if diff := cmp.Diff(original.Spec.Endpoints, again.Endpoints); diff != "" {
			t.Errorf("%v (-before +after):\n%s", added, diff)
		}
	}
}

// An endpoint whose addresses become names is cut into one for each. What that takes grows with their number.
func TestHostsThatSplitAnEndpointCostNoSquare(t *testing.T) {
	allocated := func(n int) uint64 {
		hosts, saved := make([]string, n), []v1.Endpoint{{Name: "a"}}
		for i := range hosts {
			hosts[i] = fmt.Sprintf("h%d.example.com", i)
			saved[0].Addresses = append(saved[0].Addresses, v1.IPAddress(hosts[i]))
		}
		hosts[n/2] = "edited.example.com"
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if got := rebuildEndpoints(saved, hosts); len(got) != n {
			t.Errorf("%d hosts became %d endpoints", n, len(got))
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := allocated(200), allocated(1600); many > 16*few {
		t.Errorf("200 hosts allocate %d bytes, and 1600 allocate %d", few, many)
	}
}

func number(port int32) *intstr.IntOrString { return ptr.To(intstr.FromInt32(port)) }

func TestAnEditedViewKeepsTheRestOfTheHub(t *testing.T) {
	var original v1.ExternalService
	if err := json.Unmarshal(richObject(t), &original); err != nil {
		t.Fatal(err)
	}
	set := func(n int32) *int32 { return &n }
	for name, tc := range map[string]struct {
		view func(*v1alpha1.ExternalServiceSpec)
		hub  func(*v1.ExternalServiceSpec) // the one change expected
	}{
		"period":               {func(s *v1alpha1.ExternalServiceSpec) { s.Probe.PeriodSeconds = set(60) }, func(s *v1.ExternalServiceSpec) { *s.HealthCheck.Interval = "1m" }},
		"timeout":              {func(s *v1alpha1.ExternalServiceSpec) { s.Probe.TimeoutSeconds = set(1) }, func(s *v1.ExternalServiceSpec) { *s.HealthCheck.Timeout = "1s" }},
		"threshold":            {func(s *v1alpha1.ExternalServiceSpec) { s.Probe.FailureThreshold = set(9) }, func(s *v1.ExternalServiceSpec) { s.HealthCheck.FailureThreshold = set(9) }},
		"path":                 {func(s *v1alpha1.ExternalServiceSpec) { *s.Probe.HTTPGet.Path = "/x" }, func(s *v1.ExternalServiceSpec) { *s.HealthCheck.HTTPGet.Path = "/x" }},
		"plain HTTP drops tls": {func(s *v1alpha1.ExternalServiceSpec) { *s.Probe.HTTPGet.Scheme = "HTTP" }, func(s *v1.ExternalServiceSpec) { *s.HealthCheck.HTTPGet.Scheme = "HTTP"; s.HealthCheck.TLS = nil }},
		"another handler": {func(s *v1alpha1.ExternalServiceSpec) {
			s.Probe.HTTPGet, s.Probe.TCPSocket = nil, &common.TCPSocketAction{Port: number(5432)}
		}, func(s *v1.ExternalServiceSpec) {
			h := s.HealthCheck
			h.HTTPGet, h.TLS, h.TCPSocket = nil, nil, &common.TCPSocketAction{Port: number(5432)}
		}},
		"another port to check": {func(s *v1alpha1.ExternalServiceSpec) { s.Probe.HTTPGet.Port = number(9187) }, func(s *v1.ExternalServiceSpec) { s.HealthCheck.HTTPGet.Port = number(9187) }},
		"refresh":               {func(s *v1alpha1.ExternalServiceSpec) { s.RefreshSeconds = set(90) }, func(s *v1.ExternalServiceSpec) { *s.Resolution.MinTTL, *s.Resolution.MaxTTL = "1m30s", "1m30s" }},
		"a port's number":       {func(s *v1alpha1.ExternalServiceSpec) { s.Ports["sql"] = 5433 }, func(s *v1.ExternalServiceSpec) { s.Ports[0].Port = 5433 }},
		"a port's name": {func(s *v1alpha1.ExternalServiceSpec) {
			delete(s.Ports, "sql")
			s.Ports["pg"] = 5432
			s.Probe.HTTPGet.Port.StrVal = "pg"
		}, func(s *v1.ExternalServiceSpec) {
			s.Ports[0].Name = "pg"
			s.HealthCheck.HTTPGet.Port.StrVal = "pg"
			s.Endpoints[2].Ports[0].Name = "pg"
		}},
		"a port less": {func(s *v1alpha1.ExternalServiceSpec) { delete(s.Ports, "stats") }, func(s *v1.ExternalServiceSpec) {
			s.Ports = s.Ports[:1]
			s.Endpoints[2].Ports = s.Endpoints[2].Ports[:1]
		}},
		"a port more": {func(s *v1alpha1.ExternalServiceSpec) { s.Ports["admin"] = 8080 }, func(s *v1.ExternalServiceSpec) { s.Ports = append(s.Ports, v1.ServicePort{Name: "admin", Port: 8080}) }},
		"no probe, hence no priorities": {func(s *v1alpha1.ExternalServiceSpec) { s.Probe = nil }, func(s *v1.ExternalServiceSpec) {
			s.HealthCheck, s.Failover = nil, nil
			e := s.Endpoints
			s.Endpoints = []v1.Endpoint{e[1], e[2], e[0]}
			for i := range s.Endpoints {
				s.Endpoints[i].Priority = nil
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := editView(t, richObject(t), tc.view)
			want := original.DeepCopy()
			tc.hub(&want.Spec)
			if diff := cmp.Diff(want.Spec, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAProbeAddedToAViewMakesItsOrderThatOfFailover(t *testing.T) {
	raw := []byte(`{"apiVersion":"networking.fairlead.dev/v1","kind":"ExternalService","metadata":{"name":"a"},"spec":{
		"ports":[{"name":"web","port":80}],"endpoints":[{"name":"x","zone":"z","addresses":["192.0.2.1","192.0.2.2"]},{"name":"y","addresses":["192.0.2.3"]}]}}`)
	spec := editView(t, raw, func(s *v1alpha1.ExternalServiceSpec) {
		s.Probe = &v1alpha1.Probe{TCPSocket: &common.TCPSocketAction{Port: number(80)}}
		fillProbe(s.Probe)
	})
	if diff := cmp.Diff([]string{"x 0 z[192.0.2.1 192.0.2.2]", "y 1[192.0.2.3]"}, shape(spec.Endpoints)); diff != "" {
		t.Error(diff)
	}
	if spec.HealthCheck == nil || spec.HealthCheck.Port().IntVal != 80 {
		t.Errorf("health check %v", spec.HealthCheck)
	}
}

func fillProbe(p *v1alpha1.Probe) {
	set := func(n int32) *int32 { return &n }
	p.PeriodSeconds, p.TimeoutSeconds, p.SuccessThreshold, p.FailureThreshold = set(10), set(2), set(2), set(3)
}

func TestAnEditedHubKeepsTheRestOfTheView(t *testing.T) {
	// v1 cannot say that the probe goes to a port that is none of the ports, nor that times are
	// implied.
	raw := []byte(`{"apiVersion":"networking.fairlead.dev/v1alpha1","kind":"ExternalService","metadata":{"name":"a"},
		"spec":{"hosts":["a.example.com","b.example.com"],"ports":{"web":80},"probe":{"tcpSocket":{"port":9000},"periodSeconds":20}}}`)
	for name, tc := range map[string]struct {
		hub  func(*v1.ExternalServiceSpec)
		view func(*v1alpha1.ExternalServiceSpec)
	}{
		"interval": {func(s *v1.ExternalServiceSpec) { *s.HealthCheck.Interval = "30s" }, func(s *v1alpha1.ExternalServiceSpec) { *s.Probe.PeriodSeconds = 30 }},
		"endpoint": {func(s *v1.ExternalServiceSpec) { s.Endpoints = slices.Delete(s.Endpoints, 0, 1) }, func(s *v1alpha1.ExternalServiceSpec) { s.Hosts = s.Hosts[1:] }},
		"suspend":  {func(s *v1.ExternalServiceSpec) { *s.Suspend = true }, func(*v1alpha1.ExternalServiceSpec) {}},
		"ttl": {func(s *v1.ExternalServiceSpec) {
			hour := common.Duration("1h")
			s.Resolution = &v1.Resolution{MinTTL: &hour, MaxTTL: &hour}
		}, func(s *v1alpha1.ExternalServiceSpec) { n := int32(3600); s.RefreshSeconds = &n }},
		"check": {func(s *v1.ExternalServiceSpec) { s.HealthCheck, s.Failover = nil, nil; s.Endpoints[1].Priority = nil }, func(s *v1alpha1.ExternalServiceSpec) { s.Probe = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			var up v1.ExternalService
			if err := json.Unmarshal(convert(t, raw, "v1"), &up); err != nil {
				t.Fatal(err)
			}
			tc.hub(&up.Spec)
			edited, err := json.Marshal(up)
			if err != nil {
				t.Fatal(err)
			}
			var got, want v1alpha1.ExternalService
			if err := json.Unmarshal(convert(t, edited, "v1alpha1"), &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
			tc.view(&want.Spec)
			if diff := cmp.Diff(want.Spec, got.Spec); diff != "" {
				t.Error(diff)
			}
		})
	}
}
