// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/internal/rules"
	"github.com/fairlead-dev/fairlead/internal/rules/validationtest"
)

// put is a mutation that sets a place to a value; a rule's message says what it must break.
func put(rule string, value any, path string) mutation {
	steps := strings.Split(strings.ReplaceAll(path, "[*]", ".[*]"), ".")
	return mutation{name: path, rule: rule, apply: func(obj map[string]any) bool {
		parent, last, ok := at(obj, steps)
		if ok {
			parent[last] = copyJSON(value)
		}
		return ok
	}}
}

func drop(rule, path string) mutation {
	steps := strings.Split(strings.ReplaceAll(path, "[*]", ".[*]"), ".")
	return mutation{name: "no " + path, rule: rule, apply: func(obj map[string]any) bool {
		parent, last, ok := at(obj, steps)
		if ok {
			delete(parent, last)
		}
		return ok
	}}
}

// relations break the CEL rules, one each, or go close to breaking one (no rule named).
func relations() []mutation {
	const (
		special   = "loopback, unspecified, link-local and multicast link-local addresses are not allowed"
		reserved  = "multicast and reserved addresses are not allowed"
		canonical = "must be in canonical form"
		notIP     = "must be an IP address"
		inCluster = "in-cluster and localhost names are not allowed"
		address   = "spec.endpoints[*].addresses"
		name      = "spec.endpoints[*].dns.name"
		tcpPort   = "port must be the name or the number of a TCP port of spec.ports, and may be absent where that has a single port"
	)
	out := []mutation{
		put("name must be at most 52 characters", strings.Repeat("a", 53), "metadata.name"),
		put("", strings.Repeat("a", 52), "metadata.name"),
		put("port and protocol must be unique", []any{map[string]any{"name": "a", "port": int64(1)}, map[string]any{"name": "b", "port": int64(1), "protocol": "TCP"}}, "spec.ports"),
		put("", []any{map[string]any{"name": "sql", "port": int64(1)}, map[string]any{"name": "b", "port": int64(1), "protocol": "UDP"}}, "spec.ports"),
		put("set exactly one of dns or addresses", []any{map[string]any{"name": "a"}}, "spec.endpoints"),
		put("set exactly one of dns or addresses", []any{map[string]any{"name": "a", "addresses": []any{"192.0.2.1"}, "dns": map[string]any{"name": "a.example.com"}}}, "spec.endpoints"),
		put("set exactly one of dns or addresses", []any{}, "spec.endpoints[*].addresses"),
		put("endpoints[].ports must name one of ports", []any{map[string]any{"name": "other", "port": int64(1)}}, "spec.endpoints[*].ports"),
		put("more than one priority needs healthCheck", []any{map[string]any{"name": "a", "addresses": []any{"192.0.2.1"}, "priority": int64(1)}}, "spec.endpoints"),
		put("failover needs healthCheck", map[string]any{}, "spec.failover"),
		put(tcpPort, "other", "spec.healthCheck.tcpSocket.port"),
		put(tcpPort, int64(1), "spec.healthCheck.tcpSocket.port"),
		put("", int64(5432), "spec.healthCheck.tcpSocket.port"),
		drop(tcpPort, "spec.healthCheck.tcpSocket.port"),
		put(tcpPort, "metrics", "spec.healthCheck.grpc.port"),
		drop("", "spec.healthCheck.httpGet.port"),
		put(tcpPort, "other", "spec.healthCheck.httpGet.port"),
		put(tcpPort, map[string]any{"tcpSocket": map[string]any{}}, "spec.healthCheck"),
		put("must be a port number from 1 to 65535, or the name of a port", int64(0), "spec.healthCheck.tcpSocket.port"),
		put("must be a port number from 1 to 65535, or the name of a port", int64(65536), "spec.healthCheck.grpc.port"),
		put("must be a port number from 1 to 65535, or the name of a port", int64(-1), "spec.healthCheck.httpGet.port"),
		drop("", "spec.healthCheck"),
		drop("", "spec.failover"),
		drop("set exactly one of tcpSocket, httpGet, grpc", "spec.healthCheck.tcpSocket"),
		put("set exactly one of tcpSocket, httpGet, grpc", map[string]any{}, "spec.healthCheck.httpGet"),
		put("tls goes with httpGet or grpc", map[string]any{}, "spec.healthCheck.tls"),
		put("start must not exceed end", []any{map[string]any{"start": int64(300), "end": int64(299)}}, "spec.healthCheck.httpGet.expectedStatuses"),
		put("", []any{map[string]any{"start": int64(300), "end": int64(300)}}, "spec.healthCheck.httpGet.expectedStatuses"),
		put("interval must be at least 1s", "999ms", "spec.healthCheck.interval"),
		put("timeout must not exceed interval", "10s1ms", "spec.healthCheck.timeout"),
		put("", "10s", "spec.healthCheck.timeout"),
		put("", "1h0m30s", "spec.healthCheck.interval"),
		put("minTTL must not exceed maxTTL", "1h1ms", "spec.resolution.minTTL"),
		put("", "60m", "spec.resolution.minTTL"),
		put(rules.DurationMessage, strings.Repeat("1s", 5), "spec.resolution.keepLastFor"),
		put("", strings.Repeat("1s", 4), "spec.resolution.keepLastFor"),
		put("use addresses for an IP", "192.0.2.1", name),
		put(rules.DurationMessage, "1d", "spec.healthCheck.interval"),
		put(rules.NameMessage, "Upper", "spec.ports[*].name"),
		put(rules.NameMessage, "-a", "spec.endpoints[*].name"),
		put("must start with /", "health", "spec.healthCheck.httpGet.path"),
		put("must be a DNS name: leave out scheme and path", "https://db.example.com/", name),
		put("must be a DNS name: a range cannot be looked up", "10.0.0.0/24", name),
		put("must be a DNS name: a range cannot be looked up", "2001:DB8::/64", name),
		put("must be a DNS name: leave out scheme and path", "cafe/1", name),
		put("must be a DNS name: the port goes to spec.ports", "db.example.com:5432", name),
		put("must be a DNS name: a wildcard cannot be looked up", "*.example.com", name),
		put("must be a DNS name: write it in lower case", "DB.example.com", name),
		put("must be a DNS name, such as db.example.com", "a..b", name),
		put("must be an IP address: a range cannot be listed", []any{"10.0.0.0/24"}, address),
		put("must be an IP address: the port goes to spec.ports", []any{"10.0.0.1:5432"}, address),
		put("must be an IP address: the port goes to spec.ports", []any{"[2001:db8::1]:5432"}, address),
		put("must be an IP address: use dns.name for a name", []any{"db.example.com"}, address),
	}
	for _, path := range []string{"spec.resolution.minTTL", "spec.resolution.maxTTL", "spec.resolution.keepLastFor", "spec.healthCheck.timeout",
		"spec.healthCheck.unhealthyInterval", "spec.failover.failbackDelay"} {
		out = append(out, put(rules.DurationMessage, "100000h", path), put(rules.DurationMessage, "1.5h", path), put("", "0s", path), put(rules.DurationMessage, "", path), put(rules.DurationMessage, "-1s", path), put(rules.DurationMessage, "1d", path))
	}
	for _, value := range []string{"a.svc", "a.svc.cluster.local", "a.b.svc.cluster.local", "a.b.svc.example.org", "_x._tcp.a.b.svc.example.org", "localhost", "db.localhost", "a.svc."} {
		out = append(out, put(inCluster, value, name))
	}
	for _, value := range []string{"localhost.", "svc", "a.svcs", "a.svc.example.org", "svc.example.org", "svc.svc.example.org", "mysvc.example.com", "0x7f.1", "192.0.2.01", "1.2.3", "example.com.",
		"_sql._tcp.example.com", "a..b", ".", "-a.b", "UPPER.example.com", "xn--bcher-kva.example", "a b.example.com"} {
		out = append(out, put("", value, name))
	}
	for rule, values := range map[string][]string{
		notIP:     {"", "one", "192.0.2.01", "192.0.2", "192.0.2.256", "::ffff:127.0.0.1", "::ffff:192.0.2.10", "::ffff:c000:20a", "fe80::1%eth0", "0x7f.1", "1", "2001:db8:::1", "192.0.2.1/32"},
		special:   {"127.0.0.1", "127.8.8.8", "0.0.0.0", "::", "::1", "169.254.169.254", "fe80::1", "febf::1", "224.0.0.251", "ff02::fb"},
		reserved:  {"224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "ff05::1", "ff00::"},
		canonical: {"2001:DB8::1", "2001:db8:0:0::1", "2001:0db8::1", "1:2:3:4:5:6:192.0.2.1"},
		"":        {"10.0.0.1", "223.255.255.255", "fec0::1", "fd00:ec2::254", "64:ff9b::a00:1", "2002:a00:1::", "0.0.0.1", "2001:db8::", "1:2:3:4:5:6:7:8", "::2"},
	} {
		for _, value := range values {
			out = append(out, put(rule, []any{"192.0.2.200", value}, address))
		}
	}
	return out
}

func TestStructuralRepeatsEveryConstraint(t *testing.T) {
	kind, spec := validationtest.Definition(t, group, resource), schema(t).Properties["spec"]
	bases := validationtest.Objects(t, "testdata/bases.yaml")
	all := constraints(t, &spec, []string{"spec"})
	if len(all) < 100 {
		t.Fatalf("only %d constraints found in the CRD", len(all))
	}
	for _, m := range all {
		applied := 0
		for _, base := range bases {
			obj := runtime.DeepCopyJSON(base)
			if !m.apply(obj) {
				continue
			}
			applied++
			if errs := agree(t, kind, m.name, obj); m.breaks && len(errs) == 0 {
				t.Errorf("%s: the CRD accepts %v", m.name, obj)
			}
		}
		if applied == 0 {
			t.Errorf("%s: no base has the place; add it to testdata/bases.yaml", m.name)
		}
	}
}

func TestStructuralRepeatsEveryCELRule(t *testing.T) {
	kind := validationtest.Definition(t, group, resource)
	unbroken := map[string]bool{}
	celMessages(schema(t), unbroken)
	if len(unbroken) < 15 {
		t.Fatalf("only %d CEL rules found in the CRD", len(unbroken))
	}
	known := len(unbroken)
	for _, m := range relations() {
		for _, base := range validationtest.Objects(t, "testdata/bases.yaml") {
			obj := runtime.DeepCopyJSON(base)
			if !m.apply(obj) {
				continue
			}
			for _, err := range agree(t, kind, m.name+" "+m.rule, obj) {
				if m.rule != "" && strings.Contains(err, m.rule) {
					delete(unbroken, m.rule)
				}
			}
		}
	}
	for message := range unbroken {
		t.Errorf("no mutation breaks the rule %q (of %d)", message, known)
	}
}

func TestStructuralAgreesOnMutationsOfEveryRule(t *testing.T) {
	kind, spec := validationtest.Definition(t, group, resource), schema(t).Properties["spec"]
	bases := validationtest.Objects(t, "testdata/bases.yaml")
	pool := append(constraints(t, &spec, []string{"spec"}), relations()...)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	accepted, refused := 0, 0
	for range 3000 {
		obj := runtime.DeepCopyJSON(bases[random.IntN(len(bases))])
		what := ""
		for range random.IntN(4) {
			m := pool[random.IntN(len(pool))]
			// Half of the mutations that surely break are left out, or hardly any object of
			// several would be valid.
			if (m.breaks || m.rule != "") && random.IntN(2) == 0 {
				continue
			}
			if m.apply(obj) {
				what += m.name + "; "
			}
		}
		if len(agree(t, kind, what, obj)) == 0 {
			accepted++
		} else {
			refused++
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if accepted < 300 || refused < 300 {
		t.Errorf("%d accepted, %d refused: too few of one to mean anything", accepted, refused)
	}
}

func TestGoodIsAcceptedAndBadRefusedForItsReasons(t *testing.T) {
	kind := validationtest.Definition(t, group, resource)
	for _, obj := range append(validationtest.Objects(t, "testdata/good.yaml"), validationtest.Objects(t, "testdata/bases.yaml")...) {
		if errs := agree(t, kind, "good", obj); len(errs) > 0 {
			t.Errorf("refused: %v", errs)
		}
		if dropped := kind.Prune("v1", runtime.DeepCopyJSON(obj)); len(dropped) > 0 {
			t.Errorf("the CRD does not know %v", dropped)
		}
	}
	for i, want := range [][]string{
		{"port and protocol must be unique", "addresses[0]", "addresses[1]", "addresses[2]", "addresses[3]", "addresses[4]", "addresses[5]",
			"addresses[6]", "addresses[7]", "addresses[9]"},
		{"in-cluster and localhost names", "use addresses for an IP", "set exactly one of dns or addresses", "failover needs healthCheck",
			"more than one priority needs healthCheck"},
	} {
		obj := validationtest.Objects(t, "testdata/bad.yaml")[i]
		byCRD := strings.Join(agree(t, kind, "bad", obj), "\n")
		byGo := Structural(typed(t, obj), nil).ToAggregate().Error()
		for _, text := range want {
			if !strings.Contains(byCRD, text) {
				t.Errorf("bad %d: the CRD does not say %q: %s", i, text, byCRD)
			}
			if !strings.Contains(byGo, text) {
				t.Errorf("bad %d: Structural does not say %q: %s", i, text, byGo)
			}
		}
	}
}
