// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// pointing is an object with static addresses at two endpoints, and a name.
func pointing() *networkingv1.ExternalService {
	return &networkingv1.ExternalService{Spec: networkingv1.ExternalServiceSpec{
		Ports: []networkingv1.ServicePort{{Name: "http", Port: 80, TargetPort: ptr.To[int32](8080)}, {Name: "https", Port: 443}},
		Endpoints: []networkingv1.Endpoint{
			{Name: "a", Addresses: []networkingv1.IPAddress{"192.0.2.1", "192.0.2.2"}},
			{Name: "b", Addresses: []networkingv1.IPAddress{"192.0.2.3"}, Ports: []networkingv1.EndpointPort{{Name: "http", Port: 81}}},
			{Name: "c", DNS: &networkingv1.DNSName{Name: "db.example.com"}},
		},
	}}
}

func approve(es *networkingv1.ExternalService, user string) {
	es.Annotations = map[string]string{common.ApprovedByAnnotation: Approval(es, user)}
}

func TestAPortThatIsOnlyCheckedIsOneOfAnAddress(t *testing.T) {
	es := pointing()
	approve(es, "ann")
	es.Spec.HealthCheck = &networkingv1.HealthCheck{Check: common.Check{HTTPGet: &common.HTTPGetAction{Port: ptr.To(intstr.FromInt32(443))}}}
	if !Approved(es) {
		t.Error("a check of a published port is not approved")
	}
	es.Spec.HealthCheck.HTTPGet.Port = ptr.To(intstr.FromInt32(8008))
	if Approved(es) {
		t.Error("a check of another port is approved")
	}
	for _, s := range StaticAddresses(&es.Spec) {
		if !slices.Contains(s.Ports, 8008) {
			t.Errorf("%s has ports %v", s.IP, s.Ports)
		}
	}
}

func TestAnApprovalIsOfTheAddressesAndTheirPorts(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*networkingv1.ExternalServiceSpec)
		holds  bool
	}{
		"nothing": {func(*networkingv1.ExternalServiceSpec) {}, true},
		"order of endpoints": {func(s *networkingv1.ExternalServiceSpec) {
			s.Endpoints[0], s.Endpoints[1] = s.Endpoints[1], s.Endpoints[0]
		}, true},
		"order of addresses": {func(s *networkingv1.ExternalServiceSpec) {
			s.Endpoints[0].Addresses = []networkingv1.IPAddress{"192.0.2.2", "192.0.2.1"}
		}, true},
		"order of ports": {func(s *networkingv1.ExternalServiceSpec) { s.Ports[0], s.Ports[1] = s.Ports[1], s.Ports[0] }, true},
		"name":           {func(s *networkingv1.ExternalServiceSpec) { s.Endpoints[2].DNS.Name = "db.example.org" }, true},
		"no name":        {func(s *networkingv1.ExternalServiceSpec) { s.Endpoints = s.Endpoints[:2] }, true},
		"priority and state": {func(s *networkingv1.ExternalServiceSpec) {
			s.Endpoints[0].Priority, s.Endpoints[0].State = ptr.To[int32](3), ptr.To(networkingv1.EndpointDrained)
		}, true},
		"port of the Service": {func(s *networkingv1.ExternalServiceSpec) { s.Ports[0].Port = 8000 }, true},
		"address":             {func(s *networkingv1.ExternalServiceSpec) { s.Endpoints[0].Addresses[1] = "192.0.2.9" }, false},
		"one address more": {func(s *networkingv1.ExternalServiceSpec) {
			s.Endpoints[1].Addresses = append(s.Endpoints[1].Addresses, "192.0.2.9")
		}, false},
		"one address less": {func(s *networkingv1.ExternalServiceSpec) { s.Endpoints[0].Addresses = s.Endpoints[0].Addresses[:1] }, false},
		"addresses exchanged": {func(s *networkingv1.ExternalServiceSpec) {
			s.Endpoints[0].Addresses[0], s.Endpoints[1].Addresses[0] = "192.0.2.3", "192.0.2.1"
		}, false},
		"target port":         {func(s *networkingv1.ExternalServiceSpec) { s.Ports[0].TargetPort = ptr.To[int32](8081) }, false},
		"port of an endpoint": {func(s *networkingv1.ExternalServiceSpec) { s.Endpoints[1].Ports[0].Port = 82 }, false},
		"one port more": {func(s *networkingv1.ExternalServiceSpec) {
			s.Ports = append(s.Ports, networkingv1.ServicePort{Name: "x", Port: 10250})
		}, false},
		"name of an endpoint": {func(s *networkingv1.ExternalServiceSpec) { s.Endpoints[0].Name = "z" }, true},
		"names exchanged": {func(s *networkingv1.ExternalServiceSpec) {
			s.Endpoints[0].Name, s.Endpoints[1].Name = s.Endpoints[1].Name, s.Endpoints[0].Name
		}, true},
		"an endpoint in two": {func(s *networkingv1.ExternalServiceSpec) {
			s.Endpoints[2].DNS, s.Endpoints[2].Addresses = nil, s.Endpoints[0].Addresses[1:]
			s.Endpoints[0].Addresses = s.Endpoints[0].Addresses[:1]
		}, true},
		"an address twice": {func(s *networkingv1.ExternalServiceSpec) {
			s.Endpoints[2].DNS, s.Endpoints[2].Addresses = nil, s.Endpoints[0].Addresses[:1]
		}, true},
		"an address at another port too": {func(s *networkingv1.ExternalServiceSpec) {
			s.Endpoints[1].Addresses = append(s.Endpoints[1].Addresses, "192.0.2.1")
		}, false},
		"no addresses any more": {func(s *networkingv1.ExternalServiceSpec) { s.Endpoints = s.Endpoints[2:] }, false},
	} {
		t.Run(name, func(t *testing.T) {
			es := pointing()
			approve(es, "ann")
			if test.change(&es.Spec); Approved(es) != test.holds {
				t.Errorf("approved: %t, want %t", !test.holds, test.holds)
			}
		})
	}
}

// formerApproval is the approval that an earlier version wrote for pointing. It covered the names of endpoints too.
const formerApproval = `{"user":"ann","digest":"sha256:837edbf830a56f47f5dcc19091c587dd6a85eac5f454e9753c5fbca34ed778a9"}`

func TestAnApprovalOutlivesVersions(t *testing.T) {
	for name, test := range map[string]struct {
		value string
		holds bool
	}{
		"that covered names": {formerApproval, true},
		"of today":           {`{"user":"ann","digest":"sha256:083a9199975f3fd707bd9ec856e181dc00e6ed6d89c83b19e8cba7378e24a166"}`, true},
		"of something else":  {strings.Replace(formerApproval, "sha256:", "sha256:0", 1), false},
	} {
		es := pointing()
		es.Annotations = map[string]string{common.ApprovedByAnnotation: test.value}
		if Approved(es) != test.holds {
			t.Errorf("%s: approved %t; today's is %s", name, !test.holds, Approval(es, "ann"))
		}
		if kept := KeptApproval(es, es); test.holds && kept != test.value {
			t.Errorf("%s: an unchanged object keeps %s", name, kept)
		}
	}
}

// Admission converts an approval to today's form as soon as its older form no longer covers the object.
func TestAFormerApprovalIsRestatedForOtherNames(t *testing.T) {
	old, renamed, other := pointing(), pointing(), pointing()
	old.Annotations = map[string]string{common.ApprovedByAnnotation: formerApproval}
	renamed.Spec.Endpoints[0].Name = "z"
	renamed.Annotations = old.Annotations
	if Approved(renamed) {
		t.Error("the older form covers other names")
	}
	if got := KeptApproval(renamed, old); got != Approval(pointing(), "ann") {
		t.Errorf("renamed, it keeps %s", got)
	}
	other.Spec.Endpoints[0].Addresses[0] = "192.0.2.9"
	if got := KeptApproval(other, old); got != "" {
		t.Errorf("with another address it keeps %s", got)
	}
	old.Annotations = nil
	if got := KeptApproval(renamed, old); got != "" {
		t.Errorf("without an approval it keeps %s", got)
	}
}

// drawSpec draws a spec that publishes pairs of an address and a port, and no others.
func drawSpec(rt *rapid.T, pairs [][2]int) *networkingv1.ExternalServiceSpec {
	spec := &networkingv1.ExternalServiceSpec{Ports: []networkingv1.ServicePort{{Name: "sql", Port: 5432}}}
	for _, pair := range rapid.Permutation(pairs).Draw(rt, "order") {
		ip := networkingv1.IPAddress(fmt.Sprintf("192.0.2.%d", pair[0]))
		last := len(spec.Endpoints) - 1
		if last >= 0 && spec.Endpoints[last].Ports[0].Port == int32(pair[1]) && rapid.Bool().Draw(rt, "together") {
			spec.Endpoints[last].Addresses = append(spec.Endpoints[last].Addresses, ip)
			continue
		}
		spec.Endpoints = append(spec.Endpoints, networkingv1.Endpoint{
			Name:      rapid.StringMatching("[a-z]{1,3}").Draw(rt, "name"),
			Addresses: []networkingv1.IPAddress{ip},
			Ports:     []networkingv1.EndpointPort{{Name: "sql", Port: int32(pair[1])}},
		})
	}
	return spec
}

// A name in the spec is only a name: specs have one digest exactly if they publish the same.
func TestLawADigestIsOfWhatIsPublished(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		draw := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) [2]int {
			return [2]int{rapid.IntRange(1, 3).Draw(rt, "address"), rapid.IntRange(1, 2).Draw(rt, "port")}
		}), 0, 5)
		set := func(pairs [][2]int) [][2]int {
			slices.SortFunc(pairs, func(a, b [2]int) int { return cmp.Or(a[0]-b[0], a[1]-b[1]) })
			return slices.Compact(pairs)
		}
		pairs, others := draw.Draw(rt, "pairs"), draw.Draw(rt, "others")
		one, two, other := drawSpec(rt, pairs), drawSpec(rt, pairs), drawSpec(rt, others)
		if Digest(one) != Digest(two) {
			rt.Fatalf("%+v and %+v have two digests", one.Endpoints, two.Endpoints)
		}
		if same := slices.Equal(set(pairs), set(others)); (Digest(one) == Digest(other)) != same {
			rt.Fatalf("%+v and %+v: publish the same %t", one.Endpoints, other.Endpoints, same)
		}
	})
}

func TestAnAddressIsOneHoweverItIsWritten(t *testing.T) {
	of := func(address networkingv1.IPAddress) string {
		es := pointing()
		es.Spec.Endpoints[0].Addresses[0] = address
		return Digest(&es.Spec)
	}
	if of("2001:db8::1") != of("2001:DB8:0::1") {
		t.Error("two spellings of one address have two digests")
	}
	if of("::ffff:192.0.2.1") == of("192.0.2.1") {
		t.Error("an address of another family has the same digest")
	}
}

func TestNoOtherTextIsAnApproval(t *testing.T) {
	es, none := pointing(), &networkingv1.ExternalService{}
	for name, value := range map[string]string{
		"nothing": "", "a word": "ann", "null": "null", "no digest": `{"user":"ann"}`, "an empty digest": `{"user":"ann","digest":""}`,
		"wrong type": `{"digest":1}`, "too long": Approval(es, "ann") + strings.Repeat(" ", 2048),
	} {
		es.Annotations = map[string]string{common.ApprovedByAnnotation: value}
		none.Annotations = es.Annotations
		if Approved(es) || Approved(none) {
			t.Errorf("%s is taken for an approval", name)
		}
	}
	approve(none, "ann")
	if Approved(none) {
		t.Error("there is nothing to approve")
	}
}

func TestAnApprovalIsBoundedAndOfOneUser(t *testing.T) {
	es := pointing()
	seen := map[string]string{}
	for _, user := range []string{"", "ann", strings.Repeat("x", 256), strings.Repeat("x", 257), strings.Repeat("x", 100_000),
		strings.Repeat("\x01", 300), strings.Repeat("\xff", 300), strings.Repeat("ä", 300), `","digest":"`} {
		value := Approval(es, user)
		if other, taken := seen[value]; taken {
			t.Errorf("%.40q and %.40q have the same approval", user, other)
		}
		seen[value] = user
		es.Annotations = map[string]string{common.ApprovedByAnnotation: value}
		if len(value) > 2048 || !Approved(es) {
			t.Errorf("%.40q: %d bytes, approved %t", user, len(value), Approved(es))
		}
	}
}

func TestStaticAddressesKnowTheirPlaceAndPorts(t *testing.T) {
	es := pointing()
	es.Spec.Endpoints[1].Addresses = append(es.Spec.Endpoints[1].Addresses, "nonsense")
	got := StaticAddresses(&es.Spec)
	if len(got) != 4 || got[2].Endpoint != 1 || got[2].Address != 0 || got[2].IP.String() != "192.0.2.3" || got[3].IP.IsValid() {
		t.Fatalf("%+v", got)
	}
	if len(got[0].Ports) != 2 || got[0].Ports[0] != 443 || got[0].Ports[1] != 8080 || got[2].Ports[0] != 81 {
		t.Errorf("%+v", got)
	}
}
